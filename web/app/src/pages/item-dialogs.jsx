// What can be done to an item, each in a dialog of its own.
import { useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { CREATE_CONTENT, DELETE_CONTENT, ITEM, SHARE_CONTENT, UPDATE_CONTENT } from '../data/documents.js';
import { Dialog } from '../ui/dialog.jsx';
import { Choice, Form, Submit, TextField, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { PeoplePicker, usePeople } from '../ui/people-picker.jsx';
import { kindName, roleMeaning, roleName, visibilityName } from '../ui/words.js';

export function CreateItem({ tenant, onClose, onDone }) {
  const submission = useSubmit(CREATE_CONTENT, ['title', 'description', 'link', 'visibility']);
  const [kind, setKind] = useState('LINK');
  const [text, setText] = useState({ title: '', link: '', description: '' });
  const [visibility, setVisibility] = useState('PRIVATE');
  const edit = (name) => (event) => setText({ ...text, [name]: event.target.value });

  const save = async () => {
    const { title, link, description } = text;
    const payload = await submission.send({
      kind,
      title,
      visibility,
      ...(kind === 'LINK' && { link }),
      ...(description && { description }),
    });
    if (payload) onDone(payload.content);
  };

  return (
    <Dialog title="New item" onClose={onClose}>
      <Form onSubmit={save} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Create" />}>
        <Choice
          label="Kind"
          name="kind"
          value={kind}
          onChange={setKind}
          options={[
            { value: 'LINK', label: kindName.LINK, meaning: 'Points to a page on the web.' },
            { value: 'NOTE', label: kindName.NOTE, meaning: 'Stands for itself.' },
          ]}
        />
        <TextField label="Title" value={text.title} onChange={edit('title')} faults={submission.faults.title} autoFocus />
        {kind === 'LINK' && (
          <TextField label="Link" type="url" inputMode="url" placeholder="https://" value={text.link} onChange={edit('link')} faults={submission.faults.link} />
        )}
        <TextField label="Description" rows={3} value={text.description} onChange={edit('description')} faults={submission.faults.description} />
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={tenant} what="item" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

// useVersioned sends changes of what the item was when the dialog was opened:
// base. Where somebody else was quicker nothing is overwritten unless the reader
// says so, which is accept(). quarrel is what Overtaken has to show, or null.
function useVersioned(item, submission) {
  const client = useApolloClient();
  const [base, setBase] = useState(item);
  const { busy, userErrors } = submission;
  const refused = userErrors.some(({ code }) => code === 'CONFLICT');
  // While an answer is on its way a newer item may be the reader's own.
  const overtaken = useRef(false);
  if (!busy) overtaken.current = item.version > base.version;

  // What the other has made of it is what has to be shown now. Where that cannot
  // be read the refusal stands there by itself.
  useEffect(() => {
    if (refused) client.query({ query: ITEM, variables: { id: item.id }, fetchPolicy: 'network-only' }).catch(() => {});
  }, [client, item.id, refused, userErrors]);

  return {
    base,
    quarrel: overtaken.current ? { base, item, refused } : null,
    shown: refused && overtaken.current ? { ...submission, faults: {} } : submission,
    send: (change) => submission.send({ id: base.id, ...change, expectedVersion: base.version }),
    accept() {
      setBase(item);
      submission.clear();
    },
  };
}

export function EditItem({ item, onClose, onDone }) {
  const submission = useSubmit(UPDATE_CONTENT, ['title', 'description', 'link']);
  const { base, quarrel, shown, send, accept } = useVersioned(item, submission);
  const [text, setText] = useState(textOf(item));
  const edit = (name) => (event) => setText({ ...text, [name]: event.target.value });

  const save = async () => {
    const before = textOf(base);
    const changed = Object.fromEntries(Object.entries(text).filter(([name, value]) => value !== before[name]));
    if (Object.keys(changed).length === 0) {
      onClose();
      return;
    }
    if (changed.description === '') changed.description = null;
    const payload = await send(changed);
    if (payload) onDone(payload.content);
  };

  return (
    <Dialog title="Edit" onClose={onClose}>
      <Form onSubmit={save} submission={shown} actions={<Actions onClose={onClose} submission={submission} verb="Save" />}>
        <Overtaken quarrel={quarrel} refusal="Not saved">
          <Choose name="Take theirs" onClick={() => (setText(textOf(item)), accept())} />
          <Choose name="Keep mine" onClick={accept} />
        </Overtaken>
        <TextField label="Title" value={text.title} onChange={edit('title')} faults={submission.faults.title} autoFocus />
        {item.kind === 'LINK' && <TextField label="Link" type="url" inputMode="url" value={text.link} onChange={edit('link')} faults={submission.faults.link} />}
        <TextField label="Description" rows={5} value={text.description} onChange={edit('description')} faults={submission.faults.description} />
      </Form>
    </Dialog>
  );
}

function textOf({ kind, title, link, description }) {
  return { title, description: description ?? '', ...(kind === 'LINK' && { link: link ?? '' }) };
}

// Overtaken shows what somebody else has made of the item meanwhile, and what
// the reader can choose to do about it.
function Overtaken({ quarrel, refusal, children }) {
  if (!quarrel) return null;
  const { base, item, refused } = quarrel;
  const of = (one) => ({ ...textOf(one), visibility: visibilityName(one.visibility, one.tenant) });
  const [theirs, before] = [of(item), of(base)];
  const changed = Object.keys(theirs).filter((name) => theirs[name] !== before[name]);
  return (
    <div className="overtaken" role="alert">
      <p>
        <b>{refused ? `${refusal}: somebody has changed this item meanwhile.` : 'Somebody has just changed this item.'}</b>
      </p>
      {changed.length > 0 ? (
        <dl>
          {changed.map((name) => (
            <div key={name}>
              <dt>{name === 'visibility' ? 'Who may see it now' : `Their ${name}`}</dt>
              <dd>{theirs[name] || '(empty)'}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p>Its title, its text and who may see it are the same.</p>
      )}
      <div className="overtaken-actions">{children}</div>
    </div>
  );
}

// Choose goes away with what it is about; what is left to do then is to send.
function Choose({ name, onClick }) {
  const choose = (event) => {
    onClick();
    event.currentTarget.closest('form').querySelector('[type="submit"]').focus();
  };
  return (
    <button type="button" className="button" onClick={choose}>
      {name}
    </button>
  );
}

export function ChangeVisibility({ item, onClose, onDone }) {
  const submission = useSubmit(UPDATE_CONTENT, ['visibility']);
  const { quarrel, shown, send, accept } = useVersioned(item, submission);
  const [visibility, setVisibility] = useState(item.visibility);
  const save = async () => {
    const payload = await send({ visibility });
    if (payload) onDone(payload.content);
  };
  return (
    <Dialog title="Who may see it" onClose={onClose}>
      <Form onSubmit={save} submission={shown} actions={<Actions onClose={onClose} submission={submission} verb="Change" />}>
        <p className="about">{item.title}</p>
        <Overtaken quarrel={quarrel} refusal="Not changed">
          <Choose name="Take theirs" onClick={() => (setVisibility(item.visibility), accept())} />
          <Choose name="Keep mine" onClick={accept} />
        </Overtaken>
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={item.tenant} what="item" faults={submission.faults.visibility} />
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
    <Dialog title="Share" onClose={onClose}>
      <Form onSubmit={share} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Share" />}>
        <p className="about">{item.title}</p>
        <PeoplePicker tenant={tenant} {...picker} />
        {item.viewerCanManage ? (
          <Choice
            label="As"
            name="role"
            value={role}
            onChange={setRole}
            options={['VIEWER', 'EDITOR', 'MANAGER'].map((value) => ({ value, label: roleName[value], meaning: roleMeaning[value] }))}
            faults={submission.faults.role}
          />
        ) : (
          <p className="hint">They become readers of it: other roles are for its managers to give.</p>
        )}
      </Form>
    </Dialog>
  );
}

export function DeleteItem({ item, onClose, onDone }) {
  const submission = useSubmit(DELETE_CONTENT);
  const { quarrel, shown, send, accept } = useVersioned(item, submission);
  const remove = async () => {
    if (await send({})) onDone();
  };
  return (
    <Dialog title="Delete for everyone?" onClose={onClose}>
      <Form onSubmit={remove} submission={shown} actions={<Actions onClose={onClose} submission={submission} verb="Delete" danger />}>
        <p className="about">{item.title}</p>
        <Overtaken quarrel={quarrel} refusal="Not deleted">
          <Choose name="I have seen it" onClick={accept} />
        </Overtaken>
        <p>It leaves every library that holds it, and cannot be brought back.</p>
      </Form>
    </Dialog>
  );
}

export function Actions({ onClose, submission, verb, danger = false }) {
  return (
    <>
      <button type="button" className="button" onClick={onClose}>
        Cancel
      </button>
      <Submit busy={submission.busy} danger={danger}>
        {verb}
      </Submit>
    </>
  );
}
