// Changing and deleting a paste, for those who have its secret.
import { useMemo, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { expiryAfter, lifetimes } from '../data/pastes.ts';
import type { Faults } from '../data/faults.ts';
import { DeletePasteDocument, PasteDocument, UpdatePasteDocument, type FaultsFragment, type PasteQuery,
  type UpdatePasteInput, type WholePasteFragment } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, SelectField, TextField, useSubmit } from '../ui/forms.tsx';
import { usePasteSecrets } from '../ui/paste-secrets.tsx';
import { dateOf, pasteTitle } from '../ui/words.ts';
import { bodyFaults, PasteFields, type PasteField } from './paste-fields.tsx';

const wrongSecret = 'This is not the secret of the paste.';
const kept = 'kept';

interface EditPasteProps {
  paste: WholePasteFragment;
  reread: () => Promise<{ data?: PasteQuery | undefined }>;
  onClose: () => void;
  onDone: () => void;
}

const overtakenText =
  'Somebody else changed this paste while you edited it. Your text is still here. Save again to replace their version, or cancel to see it.';

export function EditPaste({ paste, reread, onClose, onDone }: EditPasteProps) {
  const submission = useSubmit(UpdatePasteDocument, ['title', 'body', 'isPrivate', 'expiresAt', 'secret'], { keyed: false });
  const secrets = usePasteSecrets();
  const [secret, setSecret] = useState(secrets.of(paste.id)?.secret ?? '');
  // The initial values of the form: what differs from them is sent.
  const [before] = useState(paste);
  // The version that the reader knows of: the page may have read a later one meanwhile.
  const [version, setVersion] = useState(paste.version);
  const [text, setText] = useState({ title: paste.title ?? '', body: paste.body, isPrivate: paste.isPrivate });
  const [lifetime, setLifetime] = useState(kept);
  const [wrong, setWrong] = useState<Faults<PasteField> | null>(null);
  const [overtaken, setOvertaken] = useState(false);
  // Over a version that the form does not show, all that it shows is sent.
  const change = version === before.version ? changeOf(before, text, lifetime) : allOf(before, text, lifetime);

  const save = async () => {
    const body = bodyFaults(text.body);
    const faults = { ...(secret.trim() === '' && { secret: ['Enter the secret of the paste.'] }), ...(body && { body }) };
    setWrong(Object.keys(faults).length > 0 ? faults : null);
    if (Object.keys(faults).length > 0) return;
    if (Object.keys(change).length === 0) {
      onDone();
      return;
    }
    setOvertaken(false);
    const input = { id: paste.id, secret: secret.trim(), expectedVersion: version, ...change };
    const payload = await submission.run(async (post) => {
      const answer = await post(input);
      // The form continues with the present version.
      if (answer.userErrors.some(({ code }) => code === 'CONFLICT')) {
        const { data } = await reread();
        setVersion(data?.paste?.version ?? version);
        setOvertaken(true);
      }
      return answer;
    });
    if (payload?.paste) {
      secrets.keep(paste.id, { secret: secret.trim(), fresh: false });
      onDone();
    }
  };
  const faults = wrong ?? faultsOf(submission);
  // Next to the button, a conflict is in view wherever the form is scrolled to.
  const shown = useMemo(() => (overtaken && !wrong ? { form: [overtakenText] } : faults), [overtaken, wrong, submission.faults]);
  return (
    <Dialog title="Edit paste" onClose={onClose} unsaved={Object.keys(change).length > 0} wide>
      <Form onSubmit={save} submission={{ ...submission, faults: shown }}
        actions={<Actions submission={submission} verb={overtaken ? 'Replace their version' : 'Save'} />}>
        <SecretField value={secret} onChange={setSecret} faults={faults.secret} autoFocus={secret === ''} />
        <PasteFields text={text} faults={faults} onChange={setText} autoFocus={secret !== ''} />
        <SelectField label="Expires" value={lifetime} onChange={setLifetime} faults={faults.expiresAt}>
          <option value={kept}>{before.expiresAt ? `Unchanged: ${dateOf(before.expiresAt)}` : 'Unchanged: never'}</option>
          {lifetimes
            .filter(({ seconds }) => seconds !== null || before.expiresAt)
            .map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
        </SelectField>
      </Form>
    </Dialog>
  );
}

// changeOf returns the part of an input that differs from the form's initial values.
function changeOf(before: WholePasteFragment, text: { title: string; body: string; isPrivate: boolean },
  lifetime: string): Partial<UpdatePasteInput> {
  const expiresAt = lifetime === kept ? null : expiryAfter(lifetime, Date.now());
  return {
    ...(text.title !== (before.title ?? '') && { title: text.title || null }),
    ...(text.body !== before.body && { body: text.body }),
    ...(text.isPrivate !== before.isPrivate && { isPrivate: text.isPrivate }),
    ...(lifetime === 'never' && { clearExpiry: true }),
    ...(expiresAt && { expiresAt }),
  };
}

// allOf returns the whole form as a part of an input.
function allOf({ expiresAt }: WholePasteFragment, text: { title: string; body: string; isPrivate: boolean },
  lifetime: string): Partial<UpdatePasteInput> {
  const chosen = lifetime === kept ? expiresAt : expiryAfter(lifetime, Date.now());
  return { ...text, title: text.title || null, ...(chosen ? { expiresAt: chosen } : { clearExpiry: true }) };
}

// faultsOf returns the errors of a submission, in the words of this form. It treats a version
// conflict separately.
function faultsOf({ faults, userErrors }: { faults: Faults<PasteField>; userErrors: readonly FaultsFragment[] }): Faults<PasteField> {
  const codes = userErrors.map(({ code }) => code);
  if (codes.includes('WRONG_SECRET')) return { secret: [wrongSecret] };
  return codes.includes('CONFLICT') ? {} : faults;
}

interface DeletePasteProps {
  paste: WholePasteFragment;
  onClose: () => void;
  onDone: () => void;
}

export function DeletePaste({ paste, onClose, onDone }: DeletePasteProps) {
  const client = useApolloClient();
  const submission = useSubmit(DeletePasteDocument, ['secret'], { keyed: false });
  const secrets = usePasteSecrets();
  const [secret, setSecret] = useState(secrets.of(paste.id)?.secret ?? '');
  const [missing, setMissing] = useState<Faults<'secret'> | null>(null);
  const remove = async () => {
    setMissing(secret.trim() === '' ? { secret: ['Enter the secret of the paste.'] } : null);
    if (secret.trim() === '') return;
    if (!(await submission.send({ id: paste.id, secret: secret.trim() }))) return;
    onDone();
    client.cache.writeQuery({ query: PasteDocument, variables: { id: paste.id }, data: { paste: null } });
  };
  const faults = missing ?? faultsOf(submission);
  return (
    <Dialog title="Delete paste" onClose={onClose}>
      <Form onSubmit={remove} submission={{ ...submission, faults }} actions={<Actions submission={submission} verb="Delete" danger />}>
        <p className="about">{pasteTitle(paste.title)}</p>
        <p>The paste is deleted for everyone. This cannot be undone.</p>
        <SecretField value={secret} onChange={setSecret} faults={faults.secret} />
      </Form>
    </Dialog>
  );
}

interface SecretFieldProps {
  value: string;
  onChange: (value: string) => void;
  faults: string[] | undefined;
  autoFocus?: boolean;
}

function SecretField({ value, onChange, faults, autoFocus = false }: SecretFieldProps) {
  return (
    <TextField
      label="Secret"
      hint="It was shown when the paste was created."
      autoCapitalize="none"
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      faults={faults}
      autoFocus={autoFocus}
    />
  );
}
