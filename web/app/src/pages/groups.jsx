// The groups of the signed-in user, and one group's members.
import { useEffect, useRef, useState } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { CREATE_GROUP, GROUP, MORE_GROUP_MEMBERS, MY_GROUPS, SET_GROUP_MEMBERS, UPDATE_GROUP } from '../data/documents.js';
import { hasNone, someEdge } from '../data/connections.js';
import { merge, type } from '../data/merge.js';
import { mayKeepGroup } from '../data/tokens.js';
import { Confirm } from '../ui/confirm.jsx';
import { Dialog, useOpening } from '../ui/dialog.jsx';
import { Actions, Choice, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.jsx';
import { Plus, VisibilityIcon } from '../ui/icons.jsx';
import { Members } from '../ui/members.jsx';
import { To, useNavigation, useTitle } from '../ui/navigation.jsx';
import { useSay } from '../ui/notices.jsx';
import { PeoplePicker, usePeople } from '../ui/people-picker.jsx';
import { useMe, useSession } from '../ui/session.jsx';
import { Empty, Failed, Loading, Monogram, Outdated, ShowMore, Unseen } from '../ui/states.jsx';
import { roleName, visibilityName } from '../ui/words.js';
import { LibraryTabs } from './library-head.jsx';

const nowhere = { edges: [], pageInfo: { hasNextPage: false } };

export function GroupsPage({ onSignIn }) {
  const { signedIn, claims } = useSession();
  const { go } = useNavigation();
  const say = useSay();
  const { open, show, close } = useOpening();
  const list = useRef(null);
  const { data, previousData, error, refetch, fetchMore } = useQuery(MY_GROUPS, { skip: !signedIn, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first' });
  useTitle('My groups');
  if (!signedIn) return <Unseen what="list" onSignIn={onSignIn} />;

  // A token whose user does not exist yet is in no group.
  const known = data ?? previousData;
  const groups = known && (known.viewer?.groups ?? nowhere);
  return (
    <article className="page">
      <header className="page-head">
        <h1>My groups</h1>
        <button type="button" className="button button-main" onClick={() => show('create')}>
          <Plus /> New group
        </button>
      </header>
      {error && !groups && <Failed error={error} onRetry={() => refetch()} />}
      {error && groups && <Outdated error={error} onRetry={() => refetch()} />}
      {!error && !groups && <Loading what="Loading..." />}
      {groups && hasNone(groups) && (
        <Empty heading="No groups yet">
          <p>A group has its own library, which all its members can see. Create a group, or ask to be added to one.</p>
        </Empty>
      )}
      <ul className="principals" ref={list}>
        {groups?.edges.map(({ node, role }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>
                {roleName[role]} · <VisibilityIcon of={node.visibility} /> {visibilityName(node.visibility, claims.tenant, 'group')}
              </small>
            </span>
            <To className="button" place={{ name: 'members', id: node.id }} aria-label={`Members of ${node.displayName}`}>
              Members
            </To>
          </li>
        ))}
      </ul>
      {groups?.pageInfo.hasNextPage && <ShowMore list={list} onMore={() => fetchMore({ variables: { after: groups.pageInfo.endCursor } })} />}
      {open === 'create' && (
        <CreateGroup
          tenant={claims.tenant}
          onClose={close}
          onDone={(group) => {
            refetch().catch(() => {});
            // Whoever has turned to something else meanwhile is left there.
            if (close()) go({ name: 'members', id: group.id });
            else say(`Created ${group.displayName}.`);
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
    <Dialog title="New group" onClose={onClose} unsaved={displayName.trim() !== '' || typed !== null}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Create" />}>
        <TextField label="Name" value={displayName} onChange={(event) => setDisplayName(event.target.value)} faults={submission.faults.displayName} autoFocus />
        <TextField
          label="Short name"
          hint={`The id will be g:${tenant}:${name || '...'}. It cannot be changed later.`}
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
  const { data, previousData, error, refetch } = useQuery(GROUP, { variables: { id }, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first', returnPartialData: true });
  // What was read before is still shown where it cannot be read again.
  const group = (data ?? previousData)?.group;
  const whole = Boolean(group?.members);
  const lost = !whole && error && 'Could not load the group';
  useTitle(lost || (group?.displayName && `Members of ${group.displayName}`));

  if (lost) return <Failed error={error} onRetry={() => refetch()} heading={lost} />;
  if (group === null) return <Unseen what="group" onSignIn={onSignIn} />;
  if (!whole) return <Loading what="Loading..." />;
  const keeps = mayKeepGroup(claims, group);
  return (
    <article className="page">
      <header className="library-head">
        <p className="eyebrow">
          Group
          <span className="badge">
            <VisibilityIcon of={group.visibility} /> {visibilityName(group.visibility, group.tenant, 'group')}
          </span>
        </p>
        <h1>{group.displayName}</h1>
        <LibraryTabs id={id} />
      </header>
      {error && <Outdated error={error} onRetry={() => refetch()} />}
      <GroupMembers group={group} keeps={keeps} />
    </article>
  );
}

function GroupMembers({ group, keeps }) {
  const client = useApolloClient();
  const me = useMe();
  const say = useSay();
  const { go } = useNavigation();
  const { open, show, close } = useOpening();
  const submission = useSubmit(SET_GROUP_MEMBERS);
  const set = (principalId, role) => submission.send({ groupId: group.id, members: [{ principalId, role }] });
  const more = () => client.query({ query: MORE_GROUP_MEMBERS, variables: { id: group.id, after: group.members.pageInfo.endCursor }, fetchPolicy: 'network-only' });
  const amIn = useAmIn(group);
  const leaving = useSubmit(SET_GROUP_MEMBERS);
  const removal = ({ displayName }) => `${displayName} loses access to everything that is shared with ${group.displayName} alone. You can add them again.`;
  const leave = async () => {
    if (!(await leaving.send({ groupId: group.id, members: [{ principalId: me.id, role: null }] }))) return;
    close();
    say(`You have left ${group.displayName}.`);
    // What the membership let in is read no more, wherever it was shown.
    await client.clearStore();
    go({ name: 'groups' });
  };
  const done = (text) => {
    close();
    say(text);
  };
  return (
    <>
      <Members heading="Members" none="No members that you can see." connection={group.members} roles={['MEMBER', 'MANAGER']} editable={keeps} onSet={set} onMore={more} submission={submission} removal={removal}>
        <div className="actions">
          {keeps && (
            <button type="button" className="button button-main" onClick={() => show('add')}>
              Add people…
            </button>
          )}
          {keeps && (
            <button type="button" className="button" onClick={() => show('edit')}>
              Edit group…
            </button>
          )}
          {amIn && (
            <button type="button" className="button button-danger" onClick={() => show('leave')}>
              Leave…
            </button>
          )}
        </div>
      </Members>
      {open === 'leave' && (
        <Confirm title={`Leave ${group.displayName}?`} verb="Leave" submission={leaving} onConfirm={leave} onClose={close}>
          <p>You lose access to everything that is shared with this group alone. Only one of its managers can add you again.</p>
        </Confirm>
      )}
      {open === 'add' && <AddMembers group={group} onClose={close} onDone={(people) => done(`Added ${people.map(({ displayName }) => displayName).join(', ')}.`)} />}
      {open === 'edit' && <EditGroup group={group} onClose={close} onDone={() => done('Saved.')} />}
    </>
  );
}

// useAmIn tells whether the reader is a direct member, and so can leave. Where
// many are members, and those who were read do not say it, the reader's own
// groups do.
function useAmIn(group) {
  const client = useApolloClient();
  const me = useMe();
  const [found, setFound] = useState(false);
  const { edges, pageInfo } = group.members;
  const amAmong = Boolean(me) && edges.some(({ node }) => node.id === me.id);
  const unclear = Boolean(me && group.viewerRole) && !amAmong && pageInfo.hasNextPage;

  useEffect(() => {
    if (!unclear) return undefined;
    let over = false;
    const read = async (after) => (await client.query({ query: MY_GROUPS, variables: { after }, fetchPolicy: 'no-cache' })).data.viewer.groups;
    someEdge(read, ({ node }) => node.id === group.id).then(
      (is) => over || setFound(is),
      () => {},
    );
    return () => {
      over = true;
    };
  }, [client, group.id, unclear]);
  return amAmong || (unclear && found);
}

function AddMembers({ group, onClose, onDone }) {
  const { claims } = useSession();
  const submission = useSubmit(SET_GROUP_MEMBERS, ['members']);
  const { people, someone, picker } = usePeople(submission, 'members');
  const [role, setRole] = useState('MEMBER');

  const add = async () => {
    if (!someone()) return;
    const members = people.map(({ id }) => ({ principalId: id, role }));
    if (await submission.send({ groupId: group.id, members })) onDone(people);
  };
  return (
    <Dialog title={`Add to ${group.displayName}`} onClose={onClose} unsaved={people.length > 0}>
      <Form onSubmit={add} submission={submission} actions={<Actions submission={submission} verb="Add" />}>
        <PeoplePicker tenant={claims.tenant} autoFocus {...picker} />
        <Choice
          label="Role"
          name="role"
          value={role}
          onChange={setRole}
          options={[
            { value: 'MEMBER', label: 'Member', meaning: 'Can see the whole library of the group.' },
            { value: 'MANAGER', label: 'Manager', meaning: 'Can also edit the group and its members.' },
          ]}
        />
      </Form>
    </Dialog>
  );
}

function EditGroup({ group, onClose, onDone }) {
  const submission = useSubmit(UPDATE_GROUP, ['displayName', 'visibility']);
  // What the reader does not change stays as others make it.
  const [edits, setEdits] = useState({});
  const stored = { displayName: group.displayName, visibility: group.visibility };
  const { shown, changes } = merge(edits, stored);
  const edit = (name, value) => setEdits((all) => type(all, stored, name, value));
  const save = async () => {
    if (Object.keys(changes).length === 0) onClose();
    else if (await submission.send({ id: group.id, ...changes })) onDone();
  };
  return (
    <Dialog title="Edit group" onClose={onClose} unsaved={Object.keys(changes).length > 0}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Save" />}>
        <TextField label="Name" value={shown.displayName} onChange={(event) => edit('displayName', event.target.value)} faults={submission.faults.displayName} autoFocus />
        <VisibilityChoice value={shown.visibility} onChange={(value) => edit('visibility', value)} tenant={group.tenant} what="group" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

