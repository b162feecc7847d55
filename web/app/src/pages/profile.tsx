// The profile of the signed-in user.
import { useState, type ChangeEvent } from 'react';
import { useQuery } from '@apollo/client/react';
import { ProfileDocument, UpdateUserDocument, type LibraryVisibility, type ProfileQuery } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { DeleteAccount } from './delete-principal.tsx';

const fields = ['displayName', 'email', 'visibility'] as const;

interface Closing {
  onClose: () => void;
  onDone: () => void;
  onDeleted: () => void;
}

interface Profile {
  displayName: string;
  email: string;
  visibility: LibraryVisibility;
}

export function EditProfile({ id, onClose, onDone, onDeleted }: Closing & { id: string }) {
  const { data, error, refetch } = useQuery(ProfileDocument, { variables: { id }, fetchPolicy: 'network-only',
    nextFetchPolicy: 'cache-first' });
  if (data?.user) return <ProfileForm user={data.user} onClose={onClose} onDone={onDone} onDeleted={onDeleted} />;
  return (
    <Dialog title="Edit profile" onClose={onClose}>
      <div className="sign-in">{error ? <Failed error={error} onRetry={() => refetch()} heading="Could not load your profile" />
        : <Loading />}</div>
    </Dialog>
  );
}

function ProfileForm({ user, onClose, onDone, onDeleted }: Closing & { user: NonNullable<ProfileQuery['user']> }) {
  const submission = useSubmit(UpdateUserDocument, fields);
  // The initial values: changes by others do not change the form.
  const [before] = useState((): Profile => ({ displayName: user.displayName, email: user.email ?? '', visibility: user.visibility }));
  const [after, setAfter] = useState(before);
  const edit = (name: 'displayName' | 'email') => (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    setAfter({ ...after, [name]: event.target.value });
  const changed: Partial<Profile> = Object.fromEntries(fields.filter((name) => after[name] !== before[name])
    .map((name) => [name, after[name]]));
  const unsaved = Object.keys(changed).length > 0;
  // Above the form, so that what was typed is still there if the account stays.
  const [deleting, setDeleting] = useState(false);

  const save = async () => {
    if (!unsaved) onClose();
    else if (await submission.send({ id: user.id, ...changed })) onDone();
  };
  return (
    <Dialog title="Edit profile" onClose={onClose} unsaved={unsaved}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Save" />}>
        <TextField label="Name" hint={`People of other organisations share with you by your id: ${user.id}`} value={after.displayName}
          onChange={edit('displayName')} faults={submission.faults.displayName} autoFocus />
        <TextField
          label="Email"
          type="email"
          hint="Only you and administrators can see it."
          value={after.email}
          onChange={edit('email')}
          faults={submission.faults.email}
        />
        <VisibilityChoice value={after.visibility} onChange={(visibility) => setAfter({ ...after, visibility })}
          tenant={user.tenant} what="user" faults={submission.faults.visibility} />
        <p>
          <button type="button" className="button button-quiet button-danger" onClick={() => setDeleting(true)}>
            Delete account…
          </button>
        </p>
      </Form>
      {deleting && <DeleteAccount id={user.id} onClose={() => setDeleting(false)} onDone={onDeleted} />}
    </Dialog>
  );
}
