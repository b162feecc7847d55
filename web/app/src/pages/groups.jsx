// The groups of the signed-in user, and one group's members.
import { useState } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { CREATE_GROUP, GROUP, MORE_GROUP_MEMBERS, MY_GROUPS, SET_GROUP_MEMBERS, UPDATE_GROUP } from '../data/documents.js';
import { faultsByIndex } from '../data/faults.js';
import { mayKeepGroup } from '../data/tokens.js';
import { Dialog } from '../ui/dialog.jsx';
import { Choice, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { Plus, VisibilityIcon } from '../ui/icons.jsx';
import { Members } from '../ui/members.jsx';
import { To, useNavigation, useTitle } from '../ui/navigation.jsx';
import { useSay } from '../ui/notices.jsx';
import { PeoplePicker } from '../ui/people-picker.jsx';
import { useMe, useSession } from '../ui/session.jsx';
import { Empty, Failed, Loading, Monogram, ShowMore, Unseen } from '../ui/states.jsx';
import { roleName, visibilityName } from '../ui/words.js';
import { Actions } from './item-dialogs.jsx';
import { LibraryTabs } from './library-head.jsx';

export function GroupsPage({ onSignIn }) {
  const { signedIn, claims } = useSession();
  const { go } = useNavigation();
  const [creating, setCreating] = useState(false);
  const { data, error, refetch, fetchMore } = useQuery(MY_GROUPS, { skip: !signedIn, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first' });
  useTitle('My groups');
  if (!signedIn) return <Unseen what="list" onSignIn={onSignIn} />;

  const groups = data?.viewer?.groups;
  return (
    <article className="page">
      <header className="page-head">
        <h1>My groups</h1>
        <button type="button" className="button button-main" onClick={() => setCreating(true)}>
          <Plus /> New group
        </button>
      </header>
      {error && !groups && <Failed error={error} onRetry={() => refetch()} />}
      {!error && !data && <Loading what="Reading your groups…" />}
      {data && (groups?.edges.length ?? 0) === 0 && (
        <Empty heading="No groups yet">
          <p>A group has a library of its own, which all its members read. Make one, or ask somebody to take you into theirs.</p>
        </Empty>
      )}
      <ul className="principals">
        {groups?.edges.map(({ node, role }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>
                {roleName[role]} · <VisibilityIcon of={node.visibility} /> {visibilityName(node.visibility, claims.tenant)}
              </small>
            </span>
            <To className="button" place={{ name: 'members', id: node.id }} aria-label={`Members of ${node.displayName}`}>
              Members
            </To>
          </li>
        ))}
      </ul>
      {groups?.pageInfo.hasNextPage && <ShowMore onMore={() => fetchMore({ variables: { after: groups.pageInfo.endCursor } })} />}
      {creating && (
        <CreateGroup
          tenant={claims.tenant}
          onClose={() => setCreating(false)}
          onDone={(group) => {
            setCreating(false);
            refetch();
            go({ name: 'members', id: group.id });
          }}
        />
      )}
    </article>
  );
}

function CreateGroup({ tenant, onClose, onDone }) {
  const submission = useSubmit(CREATE_GROUP, ['name', 'displayName', 'visibility']);
  const [displayName, setDisplayName] = useState('');
  const [typed, setTyped] = useState(null);
  const [visibility, setVisibility] = useState('LOGGEDIN');
  const name = typed ?? shortName(displayName);

  const save = async () => {
    const payload = await submission.send({ tenant, name, displayName, visibility });
    if (payload) onDone(payload.group);
  };
  return (
    <Dialog title="New group" onClose={onClose}>
      <Form onSubmit={save} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Create" />}>
        <TextField label="Name" value={displayName} onChange={(event) => setDisplayName(event.target.value)} faults={submission.faults.displayName} autoFocus />
        <TextField
          label="Short name"
          hint={`Its id will be g:${tenant}:${name || '…'}, and stays.`}
          value={name}
          autoCapitalize="none"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
          faults={submission.faults.name}
        />
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={tenant} what="group" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

// shortName makes of a name what an id can hold.
function shortName(name) {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 128);
}

// MembersPage is who is in a group.
export function MembersPage({ id, onSignIn }) {
  const { claims } = useSession();
  const { data, error, refetch } = useQuery(GROUP, { variables: { id }, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first', returnPartialData: true });
  const group = data?.group;
  const whole = Boolean(group?.members);
  useTitle(group?.displayName && `Members of ${group.displayName}`);

  if (error && !whole) return <Failed error={error} onRetry={() => refetch()} />;
  if (data && group === null) return <Unseen what="group" onSignIn={onSignIn} />;
  if (!whole) return <Loading what="Reading the group…" />;
  const keeps = mayKeepGroup(claims, group);
  return (
    <article className="page">
      <header className="library-head">
        <p className="eyebrow">
          Group
          <span className="badge">
            <VisibilityIcon of={group.visibility} /> {visibilityName(group.visibility, group.tenant)}
          </span>
        </p>
        <h1>{group.displayName}</h1>
        <LibraryTabs id={id} />
      </header>
      <GroupMembers group={group} keeps={keeps} />
    </article>
  );
}

function GroupMembers({ group, keeps }) {
  const client = useApolloClient();
  const me = useMe();
  const say = useSay();
  const { go } = useNavigation();
  const [open, setOpen] = useState('');
  const submission = useSubmit(SET_GROUP_MEMBERS);
  const set = (principalId, role) => submission.send({ groupId: group.id, members: [{ principalId, role }] });
  const more = () => client.query({ query: MORE_GROUP_MEMBERS, variables: { id: group.id, after: group.members.pageInfo.endCursor }, fetchPolicy: 'network-only' });
  const amIn = me && group.members.edges.some(({ node }) => node.id === me.id);
  const leave = async () => {
    if (!(await set(me.id, null))) return;
    say(`You have left ${group.displayName}.`);
    // What the membership let in is read no more, wherever it was shown.
    await client.clearStore();
    go({ name: 'groups' });
  };
  const close = () => setOpen('');
  return (
    <>
      <Members heading="Members" none="Nobody whom you may see." connection={group.members} roles={['MEMBER', 'MANAGER']} editable={keeps} onSet={set} onMore={more} submission={submission}>
        <div className="actions">
          {keeps && (
            <button type="button" className="button button-main" onClick={() => setOpen('add')}>
              Add people…
            </button>
          )}
          {keeps && (
            <button type="button" className="button" onClick={() => setOpen('edit')}>
              Edit group…
            </button>
          )}
          {amIn && (
            <button type="button" className="button button-danger" onClick={leave}>
              Leave
            </button>
          )}
        </div>
      </Members>
      {open === 'add' && (
        <AddMembers
          group={group}
          onClose={close}
          onDone={(people) => {
            close();
            say(`Added ${people.map(({ displayName }) => displayName).join(', ')}.`);
          }}
        />
      )}
      {open === 'edit' && (
        <EditGroup
          group={group}
          onClose={close}
          onDone={() => {
            close();
            say('Saved.');
          }}
        />
      )}
    </>
  );
}

function AddMembers({ group, onClose, onDone }) {
  const { claims } = useSession();
  const submission = useSubmit(SET_GROUP_MEMBERS, ['members']);
  const [people, setPeople] = useState([]);
  const [role, setRole] = useState('MEMBER');
  const [nobody, setNobody] = useState(false);
  const faultsOf = faultsByIndex(submission.userErrors, 'members');

  const add = async () => {
    setNobody(people.length === 0);
    if (people.length === 0) return;
    const members = people.map(({ id }) => ({ principalId: id, role }));
    if (await submission.send({ groupId: group.id, members })) onDone(people);
  };
  return (
    <Dialog title={`Add to ${group.displayName}`} onClose={onClose}>
      <Form onSubmit={add} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Add" />}>
        <PeoplePicker
          label="People and groups"
          tenant={claims.tenant}
          chosen={people}
          onChange={(next) => {
            setPeople(next);
            setNobody(false);
            submission.clear();
          }}
          faults={nobody ? ['Choose at least one person or group.'] : faultsOf.size > 0 ? [] : submission.faults.members}
          faultsOf={faultsOf}
        />
        <Choice
          label="As"
          name="role"
          value={role}
          onChange={setRole}
          options={[
            { value: 'MEMBER', label: 'Member', meaning: 'Reads the whole library, and what is shared with the group.' },
            { value: 'MANAGER', label: 'Manager', meaning: 'May change the group and its members as well.' },
          ]}
        />
      </Form>
    </Dialog>
  );
}

function EditGroup({ group, onClose, onDone }) {
  const submission = useSubmit(UPDATE_GROUP, ['displayName', 'visibility']);
  const [displayName, setDisplayName] = useState(group.displayName);
  const [visibility, setVisibility] = useState(group.visibility);
  const save = async () => {
    if (await submission.send({ id: group.id, displayName, visibility })) onDone();
  };
  return (
    <Dialog title="Edit group" onClose={onClose}>
      <Form onSubmit={save} submission={submission} actions={<Actions onClose={onClose} submission={submission} verb="Save" />}>
        <TextField label="Name" value={displayName} onChange={(event) => setDisplayName(event.target.value)} faults={submission.faults.displayName} autoFocus />
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={group.tenant} what="group" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

