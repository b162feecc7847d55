// Suggesting another text to the editors of a note.
import { useEffect, useState } from 'react';
import type { Faults } from '../data/faults.ts';
import { SuggestRevisionDocument } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useSubmit } from '../ui/forms.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { textHeading } from '../ui/words.ts';
import { useRevision } from './note-history.tsx';
import type { TextId } from './use-draft.ts';

interface SuggestProps {
  textId: TextId;
  itemTitle: string;
  // Whether the text gives the item its title.
  namesItem: boolean;
  onClose: () => void;
  onSuggested: () => void;
}

export function Suggest({ textId, itemTitle, namesItem, onClose, onSuggested }: SuggestProps) {
  const submission = useSubmit(SuggestRevisionDocument, ['title', 'body', 'note']);
  const { revision, loading, error, refetch } = useRevision(textId, null);
  // The text as it was first read: it does not change while the reader types.
  const [start, setStart] = useState<{ title: string; body: string } | null>(null);
  const [typed, setTyped] = useState<{ title?: string; body?: string; note?: string }>({});
  useEffect(() => {
    if (!loading && !error) setStart((known) => known ?? { title: namesItem ? itemTitle : (revision?.title ?? itemTitle),
      body: revision?.body ?? '' });
  }, [loading, error, revision, itemTitle, namesItem]);
  const [same, setSame] = useState<Faults<'body' | 'note' | 'title'> | null>(null);

  const text = { note: '', title: '', body: '', ...start, ...typed };
  const changed = start !== null && (text.title !== start.title || text.body !== start.body);
  const edit = (change: typeof typed) => {
    setTyped({ ...typed, ...change });
    setSame(null);
  };
  const send = async () => {
    setSame(changed ? null : { body: ['Change the title or the text first.'] });
    if (!changed) return;
    const { title, body, note } = text;
    if (await submission.send({ ...textId, title, body, ...(note.trim() && { note }) })) onSuggested();
  };
  return (
    <Dialog title={textHeading('Suggest a change', textId)} onClose={onClose} unsaved={changed || text.note !== ''} wide>
      {error && !start && <Failed error={error} onRetry={() => refetch()} heading="Could not load the text" />}
      {!error && !start && <Loading what="Loading the text..." />}
      {start && (
        <Form onSubmit={send} submission={{ ...submission, faults: same ?? submission.faults }}
          actions={<Actions submission={submission} verb="Send suggestion" />}>
          <p>The editors see your suggestion and can accept or reject it. The text stays as it is until then.</p>
          <TextField label="Title" value={text.title} onChange={(event) => edit({ title: event.target.value })}
            faults={submission.faults.title} />
          <TextField label="Text" rows={14} value={text.body} onChange={(event) => edit({ body: event.target.value })}
            faults={(same ?? submission.faults).body} autoFocus />
          <TextField label="Note to the editors" hint="Optional: why you suggest this." rows={2} value={text.note}
            onChange={(event) => edit({ note: event.target.value })} faults={submission.faults.note} />
        </Form>
      )}
    </Dialog>
  );
}
