// When an item expires.
import { useState } from 'react';
import { UpdateContentDocument, type ItemFragment } from '../generated/operations.ts';
import { instantOf, localOf } from '../data/expiry.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Choice, Form, TextField, useSubmit } from '../ui/forms.tsx';
import { Title } from '../ui/title.tsx';

interface ChangeExpiryProps {
  item: ItemFragment;
  onClose: () => void;
  onDone: (outcome: { unchanged: boolean }) => void;
}

export function ChangeExpiry({ item, onClose, onDone }: ChangeExpiryProps) {
  const submission = useSubmit(UpdateContentDocument, ['expiresAt']);
  const [before] = useState(() => localOf(item.expiresAt));
  const [expires, setExpires] = useState(before !== '');
  const [local, setLocal] = useState(before);
  const [missing, setMissing] = useState(false);
  const after = expires ? local : '';
  const faults = missing ? ['Enter a date and a time.'] : submission.faults.expiresAt;

  const save = async () => {
    if (after === before) {
      if (after === '' && expires) setMissing(true);
      else onDone({ unchanged: true });
      return;
    }
    const expiresAt = expires ? instantOf(local) : null;
    setMissing(expires && !expiresAt);
    if (expires && !expiresAt) return;
    if (await submission.send({ id: item.id, expiresAt })) onDone({ unchanged: false });
  };
  return (
    <Dialog title="Expiry" onClose={onClose} unsaved={after !== before}>
      <Form onSubmit={save}
        submission={{ ...submission, faults: missing ? { expiresAt: faults } : submission.faults }} actions={
          <Actions submission={submission} verb="Save" />}>
        <p className="about">
          <Title of={item.title} />
        </p>
        <Choice
          label="Expires"
          name="expires"
          value={expires ? 'date' : 'never'}
          onChange={(choice) => setExpires(choice === 'date')}
          options={[
            { value: 'never', label: 'Never', meaning: 'The item stays until somebody deletes it.' },
            { value: 'date', label: 'On a date', meaning: 'The item is deleted for everyone on that date. This cannot be undone.' },
          ]}
          autoFocus
        />
        {expires && <TextField label="Date and time" type="datetime-local" value={local} onChange={(event) =>
          (setLocal(event.target.value), setMissing(false))} faults={faults} />}
      </Form>
    </Dialog>
  );
}
