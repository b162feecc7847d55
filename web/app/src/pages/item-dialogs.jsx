// What can be done to an item beside editing its texts, each in a dialog of its own.
import { useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { DELETE_CONTENT, ITEM, REMOVE_FROM_LIBRARY, SHARE_CONTENT, UPDATE_CONTENT } from '../data/documents.js';
import { Confirm } from '../ui/confirm.jsx';
import { Dialog } from '../ui/dialog.jsx';
import { Actions, Choice, Form, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { PeoplePicker, usePeople } from '../ui/people-picker.jsx';
import { roleMeaning, roleName, visibilityName } from '../ui/words.js';
import { FieldConflict, useMergedForm } from './edit-item.jsx';

export function ChangeVisibility({ item, onClose, onDone }) {
  const submission = useSubmit(UPDATE_CONTENT, ['visibility']);
  const { form, save } = useMergedForm(item, submission, ({ visibility }) => ({ visibility }));
  const { shown, conflicts, edit, keep, take } = form;
  const change = async () => {
    const payload = await save();
    if (payload && !payload.conflicts) onDone(payload);
  };
  return (
    <Dialog title="Visibility" onClose={onClose}>
      <Form onSubmit={change} submission={submission} actions={<Actions submission={submission} verb="Change" />}>
        <p className="about">{item.title}</p>
        <VisibilityChoice value={shown.visibility} onChange={(value) => edit('visibility', value)} tenant={item.tenant} what="item" faults={submission.faults.visibility} autoFocus />
        {conflicts.length > 0 && (
          <FieldConflict label="Visibility" theirs={visibilityName(item.visibility, item.tenant)} onKeep={() => keep('visibility')} onTake={() => take('visibility')} />
        )}
      </Form>
    </Dialog>
  );
}

export function ShareItem({ item, tenant, onClose, onDone }) {
  const submission = useSubmit(SHARE_CONTENT, ['principalIds', 'role']);
  const { people, someone, picker } = usePeople(submission, 'principalIds');
  const [role, setRole] = useState('VIEWER');

  const share = async () => {
    if (!someone()) return;
    const payload = await submission.send({ contentId: item.id, principalIds: people.map(({ id }) => id), role });
    if (payload) onDone(payload.content, people);
  };

  return (
    <Dialog title="Share" onClose={onClose} unsaved={people.length > 0}>
      <Form onSubmit={share} submission={submission} actions={<Actions submission={submission} verb="Share" />}>
        <p className="about">{item.title}</p>
        <PeoplePicker tenant={tenant} autoFocus {...picker} />
        {item.viewerCanManage ? (
          <Choice
            label="Role"
            name="role"
            value={role}
            onChange={setRole}
            options={['VIEWER', 'EDITOR', 'MANAGER'].map((value) => ({ value, label: roleName[value], meaning: roleMeaning[value] }))}
            faults={submission.faults.role}
          />
        ) : (
          <p className="hint">They are added as viewers. Only managers can give other roles.</p>
        )}
      </Form>
    </Dialog>
  );
}

// DeleteItem deletes what the reader has seen: where somebody has changed the item
// since, it shows what they wrote, and asks once more.
export function DeleteItem({ item, onClose, onDone }) {
  const client = useApolloClient();
  const submission = useSubmit(DELETE_CONTENT);
  const [seen, setSeen] = useState(item);
  const [refused, setRefused] = useState(false);
  // While an answer is on its way the item may be gone already.
  const changed = !submission.busy && item.version > seen.version ? changesOf(seen, item) : null;

  const remove = async () => {
    const send = async (post) => {
      const payload = await post({ id: item.id, expectedVersion: seen.version });
      if (!payload.userErrors.some(({ code }) => code === 'CONFLICT')) return payload;
      await client.query({ query: ITEM, variables: { id: item.id }, fetchPolicy: 'network-only' });
      return { conflict: true, userErrors: [] };
    };
    const payload = await submission.run(send);
    setRefused(Boolean(payload?.conflict));
    if (payload && !payload.conflict) onDone();
  };
  const acknowledge = (event) => {
    event.currentTarget.closest('form').querySelector('[type="submit"]').focus();
    setSeen(item);
    setRefused(false);
  };
  return (
    <Confirm title="Delete for everyone?" verb="Delete" submission={submission} onConfirm={remove} onClose={onClose}>
      <p className="about">{item.title}</p>
      <Overtaken changed={changed} refused={refused} onSeen={acknowledge} />
      <p>It is removed from every library, and cannot be brought back.</p>
    </Confirm>
  );
}

// changesOf is what differs between two versions of an item: [name, new value].
function changesOf(before, now) {
  const of = ({ title, link, description, visibility, tenant }) => ({ title, link, description, visibility: visibilityName(visibility, tenant) });
  const [old, values] = [of(before), of(now)];
  return Object.entries(values).filter(([name, value]) => value !== old[name]);
}

// Overtaken shows what somebody else has made of the item meanwhile.
function Overtaken({ changed, refused, onSeen }) {
  if (!changed) return null;
  return (
    <div className="overtaken" role="alert">
      <p>
        <b>{refused ? 'Not deleted: somebody has changed this item meanwhile.' : 'Somebody has just changed this item.'}</b>
      </p>
      {changed.length > 0 && (
        <dl>
          {changed.map(([name, value]) => (
            <div key={name}>
              <dt>Their {name}</dt>
              <dd>{value || '(empty)'}</dd>
            </div>
          ))}
        </dl>
      )}
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={onSeen}>
          I have seen it
        </button>
      </div>
    </div>
  );
}

// RemoveItem takes an item out of a library, the reader's own or one that the
// reader manages, and says beforehand who loses access by that.
export function RemoveItem({ item, library, onClose, onDone }) {
  const submission = useSubmit(REMOVE_FROM_LIBRARY);
  const remove = async () => {
    if (await submission.send({ principalId: library.id, contentId: item.id })) onDone();
  };
  return (
    <Confirm title={library.mine ? 'Remove from your library?' : `Remove from ${library.displayName}?`} verb="Remove" submission={submission} onConfirm={remove} onClose={onClose}>
      <p className="about">{item.title}</p>
      <p>{removalMeaning(item, library)}</p>
    </Confirm>
  );
}

function removalMeaning({ visibility }, { id, mine, displayName }) {
  const open = visibility === 'PUBLIC';
  if (mine && open) return 'You give up your role on it. It is public: you can still read it, and add it again.';
  if (mine) return 'You give up your role on it. Unless you also have access in another way, you can no longer open it, and only one of its managers can share it with you again.';
  const who = id.startsWith('g:') ? `The members of ${displayName}` : displayName;
  return open ? `${who} can still read it, because it is public.` : `${who} can no longer open it, unless they also have access in another way.`;
}
