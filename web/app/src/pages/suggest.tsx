// Suggesting another text to the editors of a note.
import { useEffect, useMemo, useRef, useState } from 'react';
import type { PlainText } from '../data/draft-gateway.ts';
import type { Faults } from '../data/faults.ts';
import { SuggestRevisionDocument } from '../generated/operations.ts';
import { Dialog, useLeave } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useSubmit } from '../ui/forms.tsx';
import { useSay } from '../ui/notices.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { dateOf, noText, textHeading } from '../ui/words.ts';
import { CopyText, goneText, useCloseWhen } from './edit-item.tsx';
import { ThreeTexts } from './three-texts.tsx';
import type { TextId } from './use-draft.ts';
import { useShownText, type ShownText } from './use-shown-text.ts';

interface SuggestProps {
  textId: TextId;
  gone: boolean;
  onClose: () => void;
  onSuggested: () => void;
}

export function Suggest({ textId, gone, onClose, onSuggested }: SuggestProps) {
  const { submission, same, seen, before, text, changed, lost, error, readAgain, edit, send } = useSuggestion(textId, gone, onSuggested);
  const unsaved = changed || text.note !== '';
  useCloseWhen(lost && !unsaved, onClose, goneText);
  const faults = useMemo(() => (lost ? { form: [`${goneText} Copy your text before you leave.`] } : (same ?? submission.faults)),
    [lost, same, submission.faults]);
  const verb = before ? 'Send anyway' : 'Send suggestion';
  return (
    <Dialog title={textHeading('Suggest a change', { ...textId, ...seen })} onClose={onClose} unsaved={unsaved} wide>
      {error && !seen && <Failed error={error} onRetry={() => readAgain()} heading="Could not load the text" />}
      {!error && !seen && <Loading what="Loading the text..." />}
      {seen && (
        <Form onSubmit={send} submission={{ ...submission, faults }}
          actions={lost ? <LostActions text={text} /> : <Actions submission={submission} verb={verb} />}>
          {before && !lost && <Overtaken before={before} now={seen} locale={textId.locale} text={text} />}
          <p>The editors see your suggestion and can accept or reject it. The text stays as it is until then.</p>
          <TextField label="Title" value={text.title} readOnly={lost} onChange={(event) => edit({ title: event.target.value })}
            faults={submission.faults.title} />
          <TextField label="Text" rows={14} value={text.body} readOnly={lost} onChange={(event) => edit({ body: event.target.value })}
            faults={(same ?? submission.faults).body} autoFocus />
          <TextField label="Note to the editors" hint="Optional: why you suggest this." rows={2} value={text.note} readOnly={lost}
            onChange={(event) => edit({ note: event.target.value })} faults={submission.faults.note} />
        </Form>
      )}
    </Dialog>
  );
}

interface Typed extends Partial<PlainText> {
  note?: string;
}

// useSuggestion is the form. What nobody typed into follows the text that the reader has seen: that is the text as it was first read,
// until the reader sends and another text is shown by then. before is the one that the reader has seen before that.
function useSuggestion(textId: TextId, gone: boolean, onSuggested: () => void) {
  const { contentId, locale } = textId;
  const submission = useSubmit(SuggestRevisionDocument, ['title', 'body', 'note']);
  const say = useSay();
  const { text: latest, error, readAgain } = useShownText(textId);
  const [{ seen, before }, setSeen] = useState<{ seen: ShownText | null; before: ShownText | null }>({ seen: null, before: null });
  const [typed, setTyped] = useState<Typed>({});
  const [same, setSame] = useState<Faults<'body' | 'note' | 'title'> | null>(null);
  const lost = gone || latest === null;
  useEffect(() => {
    if (latest) setSeen((known) => (known.seen ? known : { seen: latest, before: null }));
  }, [latest]);

  const text = { note: '', title: '', body: '', ...seen, ...typed };
  const changed = seen !== null && (text.title !== seen.title || text.body !== seen.body);
  const edit = (change: Typed) => {
    setTyped({ ...typed, ...change });
    setSame(null);
  };
  const send = async () => {
    setSame(changed ? null : { body: ['Change the title or the text first.'] });
    if (!seen || !changed) return;
    const outcome = await submission.run(async (post) => {
      const now = await readAgain();
      const own = ownOf(typed, seen);
      if (!now) return { sent: false, userErrors: [] };
      if (now.branch !== seen.branch || now.number !== seen.number) {
        setTyped(own);
        setSeen({ seen: now, before: seen });
        say(`Not sent: ${now.branch === seen.branch ? 'the text has changed meanwhile' : 'another text is shown now'}.`);
        return { sent: false, userErrors: [] };
      }
      const { branch, title, body, note } = { note: '', ...now, ...own };
      const { userErrors } = await post({ contentId, locale, branch, title, body, ...(note.trim() && { note }) });
      return { sent: true, userErrors };
    });
    if (outcome?.sent) onSuggested();
  };
  return { submission, same, seen, before, text, changed, lost, error, readAgain, edit, send };
}

// ownOf returns what the reader typed that differs from the text that the reader has seen.
function ownOf({ title, body, ...rest }: Typed, seen: ShownText): Typed {
  const differs = (typed: string | undefined, was: string) => typed !== undefined && typed !== was;
  return { ...rest, ...(differs(title, seen.title) && { title }), ...(differs(body, seen.body) && { body }) };
}

function LostActions({ text: { title, body, note } }: { text: PlainText & { note: string } }) {
  const leave = useLeave();
  return (
    <>
      <button type="button" className="button" onClick={leave}>
        Close
      </button>
      <CopyText texts={[title, body, note]} />
    </>
  );
}

interface OvertakenProps {
  before: ShownText;
  now: ShownText;
  locale: string | null;
  text: PlainText;
}

// Overtaken shows the text that is shown now next to the reader's. It is in view each time that there is another one.
function Overtaken({ before, now, locale, text }: OvertakenProps) {
  const group = useRef<HTMLDivElement>(null);
  useEffect(() => {
    group.current?.focus({ preventScroll: true });
    group.current?.scrollIntoView({ block: 'start' });
  }, [now]);
  const by = now.author ? `${now.author.displayName} has published another text` : 'Another text was published';
  return (
    <div className="overtaken" role="group" aria-label="The text has changed" tabIndex={-1} ref={group}>
      <p role="alert">
        {now.branch !== before.branch ? <b>Another text is shown now.</b>
          : <><b>{by}</b> since you started{now.createdAt && ` (${dateOf(now.createdAt)})`}.</>}
        {now.number === null && ` ${noText(locale, null)}`} Merge both below, then send.
      </p>
      <ThreeTexts base={before} current={now} text={text} what="text" />
      <div className="overtaken-actions">
        <CopyText texts={[text.title, text.body]} />
      </div>
    </div>
  );
}
