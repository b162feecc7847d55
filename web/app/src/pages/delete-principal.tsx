// Deleting an account or a group, after an explanation of what it means.
import { useMemo, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { DeleteGroupDocument, DeleteUserDocument } from '../generated/operations.ts';
import { Confirm } from '../ui/confirm.tsx';
import { TextField, useSubmit, type FormState } from '../ui/forms.tsx';

interface DeleteProps {
  id: string;
  displayName: string;
  onClose: () => void;
  onDone: () => void;
}

export function DeleteAccount({ id, onClose, onDone }: Omit<DeleteProps, 'displayName'>) {
  const submission = useSubmit(DeleteUserDocument);
  const name = useTypedName(id, submission);
  const remove = async () => {
    if (name.check() && (await submission.send({ id }))) onDone();
  };
  return (
    <Confirm title="Delete your account?" verb="Delete account" submission={name.submission} onConfirm={remove} onClose={onClose}>
      <p>This cannot be undone, and nobody can use the name {name.wanted} again.</p>
      <ul className="consequences">
        <li>Your profile, email address, library, drafts and memberships are removed.</li>
        <li>You lose access to everything that was shared with you or with your groups.</li>
        <li>Items that you created stay in the libraries of others, without your name. If you do not want that, delete them first.</li>
        <li>Items and groups that only you manage are managed by the administrators of your organisation.</li>
      </ul>
      <NameField name={name} />
    </Confirm>
  );
}

export function DeleteGroup({ id, displayName, onClose, onDone }: DeleteProps) {
  const client = useApolloClient();
  const submission = useSubmit(DeleteGroupDocument);
  const name = useTypedName(id, submission);
  const remove = async () => {
    if (!name.check() || !(await submission.send({ id }))) return;
    // Pages may show items that were readable only through the group.
    await client.clearStore();
    onDone();
  };
  return (
    <Confirm title={`Delete ${displayName}?`} verb="Delete group" submission={name.submission} onConfirm={remove} onClose={onClose}>
      <p>This cannot be undone, and nobody can use the name {name.wanted} again.</p>
      <ul className="consequences">
        <li>The group, its library and its memberships are removed.</li>
        <li>Its members lose access to everything that is shared only with this group.</li>
        <li>The items in its library stay in other libraries. Items that only this group manages are managed by the
          administrators of their organisation.</li>
      </ul>
      <NameField name={name} />
    </Confirm>
  );
}

// useTypedName holds the name that the reader types to confirm a deletion: the last part of the
// id. In the submission that it returns a wrong name is an error, so that the form leads to the
// field.
function useTypedName(id: string, { busy, faults, error }: FormState) {
  const wanted = id.split(':').slice(2).join(':');
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState<string[]>([]);
  const all = useMemo(() => ({ ...faults, name: fault }), [faults, fault]);
  return {
    submission: { busy, faults: all, error: error ?? null },
    wanted,
    typed,
    fault,
    type(text: string) {
      setTyped(text);
      setFault([]);
    },
    check() {
      const same = typed.trim().toLowerCase() === wanted;
      setFault(same ? [] : [`Type ${wanted} to confirm.`]);
      return same;
    },
  };
}

function NameField({ name }: { name: ReturnType<typeof useTypedName> }) {
  const { wanted, typed, fault, type } = name;
  return (
    <TextField
      label={`Type ${wanted} to confirm`}
      value={typed}
      onChange={(event) => type(event.target.value)}
      faults={fault}
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}
