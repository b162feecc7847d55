// What can be done to an item, each in a dialog of its own.
import { useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { CREATE_CONTENT, DELETE_CONTENT, ITEM, SHARE_CONTENT, UPDATE_CONTENT } from '../data/documents.js';
import { faultsByIndex } from '../data/faults.js';
import { Dialog } from '../ui/dialog.jsx';
import { Choice, Form, Submit, TextField, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { PeoplePicker } from '../ui/people-picker.jsx';
import { kindName, roleMeaning, roleName } from '../ui/words.js';

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

// EditItem changes what the item was when the dialog was opened. Where somebody
// else was quicker nothing is overwritten unless the reader says so.
export function EditItem({ item, onClose, onDone }) {
  const client = useApolloClient();
  const submission = useSubmit(UPDATE_CONTENT, ['title', 'description', 'link']);
  const [base, setBase] = useState(item);
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
    const payload = await submission.send({ id: item.id, ...changed, expectedVersion: base.version });
    if (payload) onDone(payload.content);
    // What the other has made of it is what has to be shown now.
    else await client.query({ query: ITEM, variables: { id: item.id }, fetchPolicy: 'network-only' }).catch(() => {});
  };

  const overtaken = item.version > base.version;
  const conflict = submission.userErrors.some(({ code }) => code === 'CONFLICT');
  return (
    <Dialog title="Edit" onClose={onClose}>
      <Form
        onSubmit={save}
        submission={conflict ? { ...submission, faults: {} } : submission}
        actions={<Actions onClose={onClose} submission={submission} verb="Save" />}
      >
        {overtaken && (
          <Overtaken
            item={item}
            base={base}
            refused={conflict}
            onTheirs={() => {
              setText(textOf(item));
              setBase(item);
              submission.clear();
            }}
            onMine={() => {
              setBase(item);
              submission.clear();
            }}
          />
        )}
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

function Overtaken({ item, base, refused, onTheirs, onMine }) {
  const [theirs, before] = [textOf(item), textOf(base)];
  const changed = Object.keys(theirs).filter((name) => theirs[name] !== before[name]);
  return (
    <div className="overtaken" role="alert">
      <p>
        <b>{refused ? 'Not saved: somebody has changed this item while you were editing.' : 'Somebody has just changed this item.'}</b>
      </p>
      {changed.length > 0 ? (
        <dl>
          {changed.map((name) => (
            <div key={name}>
              <dt>Their {name}</dt>
              <dd>{theirs[name] || '(empty)'}</dd>
            </div>
          ))}
        </dl>
      ) : (
        <p>Its text is the same; who may see it has changed.</p>
      )}
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={onTheirs}>
          Take theirs
        </button>
        <button type="button" className="button" onClick={onMine}>
          Keep mine
        </button>
      </div>
    </div>
  );
}

export function ChangeVisibility({ item, onClose, onDone }) {
  const submission = useSubmit(UPDATE_CONTENT, ['visibility']);
  const [visibility, setVisibility] = useState(item.visibility);
  const save = async () => {
    const payload = await submission.send({ id: item.id, visibility, expectedVersion: item.version });
    if (payload) onDone(payload.content);
  };
  return (
    <Dialog title="Who may see it" onClose={onClose}>
      <Form onSubmit={save} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Change" />}>
        <p className="about">{item.title}</p>
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={item.tenant} what="item" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

export function ShareItem({ item, tenant, onClose, onDone }) {
  const submission = useSubmit(SHARE_CONTENT, ['principalIds', 'role']);
  const [people, setPeople] = useState([]);
  const [role, setRole] = useState('VIEWER');
  const [nobody, setNobody] = useState(false);
  const faultsOf = faultsByIndex(submission.userErrors, 'principalIds');
  // A fault of one of them stands with that one, any other with the field.
  const ofField = faultsOf.size > 0 ? [] : submission.faults.principalIds;

  const share = async () => {
    setNobody(people.length === 0);
    if (people.length === 0) return;
    const payload = await submission.send({ contentId: item.id, principalIds: people.map(({ id }) => id), role });
    if (payload) onDone(payload, people);
  };

  return (
    <Dialog title="Share" onClose={onClose}>
      <Form onSubmit={share} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Share" />}>
        <p className="about">{item.title}</p>
        <PeoplePicker
          label="People and groups"
          tenant={tenant}
          chosen={people}
          onChange={(next) => {
            setPeople(next);
            setNobody(false);
            submission.clear();
          }}
          faults={nobody ? ['Choose at least one person or group.'] : ofField}
          faultsOf={faultsOf}
        />
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
  const remove = async () => {
    const payload = await submission.send({ id: item.id, expectedVersion: item.version });
    if (payload) onDone();
  };
  return (
    <Dialog title="Delete for everyone?" onClose={onClose}>
      <Form onSubmit={remove} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Delete" danger />}>
        <p className="about">{item.title}</p>
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
