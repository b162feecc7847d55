// The profile of the signed-in user.
import { useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { PROFILE, UPDATE_USER } from '../data/documents.js';
import { Dialog } from '../ui/dialog.jsx';
import { Actions, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { Failed, Loading } from '../ui/states.jsx';

const fields = ['displayName', 'email', 'visibility'];

export function EditProfile({ id, onClose, onDone }) {
  const { data, error, refetch } = useQuery(PROFILE, { variables: { id }, fetchPolicy: 'network-only', nextFetchPolicy: 'cache-first' });
  if (data?.user) return <ProfileForm user={data.user} onClose={onClose} onDone={onDone} />;
  return (
    <Dialog title="Edit profile" onClose={onClose}>
      <div className="sign-in">{error ? <Failed error={error} onRetry={() => refetch()} heading="Could not load your profile" /> : <Loading />}</div>
    </Dialog>
  );
}

function ProfileForm({ user, onClose, onDone }) {
  const submission = useSubmit(UPDATE_USER, fields);
  // What others change meanwhile does not change what is typed here.
  const [before] = useState(() => ({ displayName: user.displayName, email: user.email ?? '', visibility: user.visibility }));
  const [after, setAfter] = useState(before);
  const edit = (name) => (event) => setAfter({ ...after, [name]: event.target.value });
  const changed = Object.fromEntries(fields.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]));
  const unsaved = Object.keys(changed).length > 0;

  const save = async () => {
    if (!unsaved) onClose();
    else if (await submission.send({ id: user.id, ...changed })) onDone();
  };
  return (
    <Dialog title="Edit profile" onClose={onClose} unsaved={unsaved}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Save" />}>
        <TextField label="Name" value={after.displayName} onChange={edit('displayName')} faults={submission.faults.displayName} autoFocus />
        <TextField
          label="Email"
          type="email"
          hint="Only you and administrators can see it."
          value={after.email}
          onChange={edit('email')}
          faults={submission.faults.email}
        />
        <VisibilityChoice value={after.visibility} onChange={(visibility) => setAfter({ ...after, visibility })} tenant={user.tenant} what="user" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}
