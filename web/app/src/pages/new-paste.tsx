// Creating a paste.
import { useState } from 'react';
import { createdBefore } from '../data/faults.ts';
import { expiryAfter, lifetimes } from '../data/pastes.ts';
import { CreatePasteDocument, type WholePasteFragment } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, SelectField, useSubmit } from '../ui/forms.tsx';
import { useSession } from '../ui/session.tsx';
import { pasteTitle } from '../ui/words.ts';
import { bodyFaults, PasteFields, type PasteField, type PasteText } from './paste-fields.tsx';

const empty: PasteText = { title: '', body: '', isPrivate: false };

interface NewPasteProps {
  onClose: () => void;
  // secret is '' if the first answer was lost: a repetition does not return it.
  onDone: (paste: WholePasteFragment, secret: string) => void;
}

export function NewPaste({ onClose, onDone }: NewPasteProps) {
  const { signedIn } = useSession();
  // Only signed-in viewers may send an idempotency key.
  const submission = useSubmit(CreatePasteDocument, ['title', 'body', 'isPrivate', 'expiresAt'], { keyed: signedIn,
    before: ({ paste }) => paste && createdBefore(pasteTitle(paste.title), { name: 'paste', id: paste.id }) });
  const [text, setText] = useState(empty);
  const [lifetime, setLifetime] = useState('30d');
  const [wrong, setWrong] = useState<{ body: string[] } | null>(null);
  // A repetition sends the same expiry: with another input the gateway would refuse its key.
  const [expiry, setExpiry] = useState<{ lifetime: string; at: string | null } | null>(null);

  const save = async () => {
    const body = bodyFaults(text.body);
    setWrong(body ? { body } : null);
    if (body) return;
    const kept = submission.error && expiry?.lifetime === lifetime ? expiry : { lifetime, at: expiryAfter(lifetime, Date.now()) };
    setExpiry(kept);
    const payload = await submission.send({ body: text.body, isPrivate: text.isPrivate, ...(text.title && { title: text.title }),
      ...(kept.at && { expiresAt: kept.at }) });
    if (payload?.paste) onDone(payload.paste, payload.secret ?? '');
  };
  const faults: Partial<Record<PasteField | 'form', string[]>> = wrong ?? submission.faults;
  return (
    <Dialog title="New paste" onClose={onClose} unsaved={text.title.trim() !== '' || text.body !== ''} wide>
      <Form onSubmit={save} submission={{ ...submission, faults }} actions={<Actions submission={submission} verb="Create" />}>
        <PasteFields text={text} faults={faults} onChange={setText} autoFocus />
        <SelectField label="Expires" value={lifetime} onChange={setLifetime} faults={faults.expiresAt}>
          {lifetimes.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </Form>
    </Dialog>
  );
}
