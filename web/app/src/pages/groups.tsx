// The groups of the signed-in user, and one group's members.
import { useEffect, useRef, useState } from 'react';
import type { DeepPartial } from '@apollo/client/utilities';
import { useApolloClient, useQuery } from '@apollo/client/react';
import {
  CreateGroupDocument,
  GroupDocument,
  MoreGroupMembersDocument,
  MyGroupsDocument,
  SetGroupMembersDocument,
  UpdateGroupDocument,
  type CreateGroupMutation,
  type GroupQuery,
  type GroupRole,
  type GroupWithMembersFragment,
  type LibraryVisibility,
  type MyGroupsQuery,
} from '../generated/operations.ts';
import { isOnlyManager, managingWill } from '../data/access.ts';
import { abortedBy, hasNone, someEdge } from '../data/connections.ts';
import { createdBefore } from '../data/faults.ts';
import { merge, type, type Edits } from '../data/merge.ts';
import { mayManageGroup } from '../data/tokens.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog, useOpening } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { Plus, VisibilityIcon } from '../ui/icons.tsx';
import { Members } from '../ui/members.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useSay, type Undo } from '../ui/notices.tsx';
import type { Person } from '../ui/people-picker.tsx';
import { useReadAgain } from '../ui/read-again.ts';
import { useMe, useSession } from '../ui/session.tsx';
import { Empty, Failed, LeadOn, Loading, Monogram, Outdated, ShowMore, Unseen } from '../ui/states.tsx';
import { roleName, visibilityName } from '../ui/words.ts';
import { AddMembers, useRolesNow } from './add-members.tsx';
import { DeleteGroup } from './delete-principal.tsx';
import { LibraryTabs } from './library-head.tsx';

type MyGroups = NonNullable<MyGroupsQuery['viewer']>['groups'];

const nowhere: Pick<MyGroups, 'edges' | 'pageInfo'> =
  { edges: [], pageInfo: { __typename: 'PageInfo', hasNextPage: false, endCursor: null } };

export function GroupsPage({ onSignIn }: { onSignIn: () => void }) {
  const { claims } = useSession();
  const signedIn = claims !== null;
  const me = useMe();
  const { go } = useNavigation();
  const say = useSay();
  const { open, show, close } = useOpening<'create'>();
  const list = useRef<HTMLUListElement>(null);
  const { data, previousData, error, refetch, fetchMore } = useQuery(MyGroupsDocument,
    { skip: !signedIn, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first' });
  useTitle('My groups');
  if (!signedIn) {
    return (
      <Empty heading="My groups" level="h1">
        <p>Sign in to see the groups that you are in.</p>
        <button type="button" className="button button-main" onClick={onSignIn}>
          Sign in
        </button>
        <LeadOn asked />
      </Empty>
    );
  }

  // A user that does not exist yet is in no group.
  const known = data ?? previousData;
  const groups = known && (known.viewer?.groups ?? nowhere);
  return (
    <article className="page">
      <header className="page-head">
        <h1>My groups</h1>
        {me && (
          <button type="button" className="button button-main" onClick={() => show('create')}>
            <Plus /> New group
          </button>
        )}
      </header>
      {error && !groups && <Failed error={error} onRetry={() => refetch()} />}
      {error && groups && <Outdated error={error} onRetry={() => refetch()} />}
      {!error && !groups && <Loading what="Loading..." />}
      {groups && hasNone(groups) && <NoGroups />}
      <ul className="principals" ref={list}>
        {groups?.edges.map(({ node, role }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>
                {roleName[role]} · <VisibilityIcon of={node.visibility} /> {visibilityName(node.visibility, node.tenant, 'group')}
              </small>
            </span>
            <To className="button" place={{ name: 'members', id: node.id }} aria-label={`Members of ${node.displayName}`}>
              Members
            </To>
          </li>
        ))}
      </ul>
      {groups?.pageInfo.hasNextPage && <ShowMore list={list} onMore={() =>
        fetchMore({ variables: { after: groups.pageInfo.endCursor } })} />}
      {groups && !hasNone(groups) && (
        <p className="hint">
          Groups that you belong to through another group are not listed here: <To place={{ name: 'find', q: '' }}>find them by
          name</To>.
        </p>
      )}
      {open === 'create' && (
        <CreateGroup
          tenant={claims.tenant}
          onClose={close}
          onDone={(group) => {
            refetch().catch(() => {});
            // If the reader has closed the dialog meanwhile, the group is not opened.
            if (close()) go({ name: 'members', id: group.id });
            else say(`Created ${group.displayName}.`);
          }}
        />
      )}
    </article>
  );
}

function NoGroups() {
  const me = useMe();
  return (
    <Empty heading="No groups yet">
      <p>
        A group has its own library, which all its members can see.{' '}
        {me === null ? <To place={{ name: 'home' }}>Create your profile first</To> : 'Create a group, ask a manager to add you to one'},
        or <To place={{ name: 'find', q: '' }}>search for groups</To> by name.
      </p>
    </Empty>
  );
}

interface CreateGroupProps {
  tenant: string;
  onClose: () => void;
  onDone: (group: CreatedGroup) => void;
}

type CreatedGroup = NonNullable<NonNullable<CreateGroupMutation['createGroup']>['group']>;

function CreateGroup({ tenant, onClose, onDone }: CreateGroupProps) {
  const submission = useSubmit(CreateGroupDocument, ['name', 'displayName', 'visibility'], {
    before: ({ group }) => group && createdBefore(group.displayName, { name: 'members', id: group.id }) });
  const [displayName, setDisplayName] = useState('');
  const [typed, setTyped] = useState<string | null>(null);
  const [visibility, setVisibility] = useState<LibraryVisibility>('LOGGEDIN');
  const name = typed ?? shortName(displayName);

  const save = async () => {
    const payload = await submission.send({ tenant, name, displayName, visibility });
    if (payload?.group) onDone(payload.group);
  };
  return (
    <Dialog title="New group" onClose={onClose} unsaved={displayName.trim() !== '' || typed !== null}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Create" />}>
        <TextField label="Name" value={displayName} onChange={(event) => setDisplayName(event.target.value)}
          faults={submission.faults.displayName} autoFocus />
        <TextField
          label="Short name"
          hint="It is in the address of the group, and cannot be changed later."
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

// shortName converts a name to one that an id can contain.
function shortName(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 128);
}

// MembersPage shows the members of a group.
export function MembersPage({ id, onSignIn }: { id: string; onSignIn: () => void }) {
  const { claims } = useSession();
  const { data, previousData, error, refetch } = useQuery(GroupDocument,
    { variables: { id }, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first', returnPartialData: true });
  // What was read before is still shown if it cannot be read again.
  const group = (data ?? previousData)?.group;
  const lost = !isWhole(group) && error && 'Could not load the group';
  useTitle(lost || (group?.displayName && `Members of ${group.displayName}`));
  useReadAgain(() => refetch());
  // A dialog stays open when its group is gone, so that what was chosen is not lost.
  const seen = useRef<GroupWithMembersFragment>(null);
  if (isWhole(group)) seen.current = group;
  const gone = group === null;

  if (lost && !gone) return <Failed error={error} onRetry={() => refetch()} heading={lost} />;
  const unseen = gone && <Unseen what="group" onSignIn={onSignIn} />;
  const whole = gone || isWhole(group) ? seen.current : null;
  if (!whole) return unseen || <Loading what="Loading..." />;
  return (
    <article className="page">
      {unseen || <GroupHead group={whole} />}
      {error && <Outdated error={error} onRetry={() => refetch()} />}
      <GroupMembers group={whole} gone={gone} mayManage={mayManageGroup(claims, whole)} />
    </article>
  );
}

function GroupHead({ group }: { group: GroupWithMembersFragment }) {
  return (
    <header className="library-head">
      <p className="eyebrow">
        Group
        <span className="badge">
          <VisibilityIcon of={group.visibility} /> {visibilityName(group.visibility, group.tenant, 'group')}
        </span>
      </p>
      <h1>{group.displayName}</h1>
      <LibraryTabs id={group.id} />
    </header>
  );
}

// isWhole reports whether all of a group has been read. Its members are read last.
function isWhole(group: PartialGroup): group is GroupWithMembersFragment {
  return Boolean(group?.members);
}

type PartialGroup = DeepPartial<GroupQuery>['group'];

interface GroupMembersProps {
  group: GroupWithMembersFragment;
  gone: boolean;
  mayManage: boolean;
}

function GroupMembers({ group, gone, mayManage }: GroupMembersProps) {
  const client = useApolloClient();
  const me = useMe();
  const say = useSay();
  const { go } = useNavigation();
  const { open, show, close } = useOpening<'add' | 'edit' | 'leave' | 'delete'>();
  const submission = useSubmit(SetGroupMembersDocument);
  const change = (principalId: string, role: GroupRole | null) => ({ groupId: group.id, members: [{ principalId, role }] });
  const more = (signal?: AbortSignal) => client.query({ query: MoreGroupMembersDocument,
    variables: { id: group.id, after: group.members.pageInfo.endCursor }, fetchPolicy: 'network-only', context: abortedBy(signal) });
  const rolesNow = useRolesNow(group.id);
  // Who was removed leaves the list, and who has another role gets it there.
  const roleNow = async (id: string) => {
    const role = (await rolesNow([{ id }])).get(id) ?? null;
    const isShown = group.members.edges.some(({ node, role: shown }) => node.id === id && shown === role);
    if (!isShown) await client.query({ query: GroupDocument, variables: { id: group.id }, fetchPolicy: 'network-only' });
    return role;
  };
  const amIn = useAmIn(group);
  const leaving = useSubmit(SetGroupMembersDocument);
  // Managers see all members.
  const keeps = 'the only manager of this group, and a group keeps at least one. Make somebody else a manager first, or delete the group.';
  const again = 'You can add them again, unless their profile is private.';
  const removal = ({ id, displayName }: Person) => (isOnlyManager(group.members, id)
    ? `${id === me?.id ? 'You are' : `${displayName} is`} ${keeps}`
    : `${displayName} loses access to everything that is shared only with ${group.displayName}. ${again}`);
  const leave = async () => {
    if (!me || !(await leaving.send({ groupId: group.id, members: [{ principalId: me.id, role: null }] }))) return;
    close();
    say(`You have left ${group.displayName}.`);
    // Pages may show items that were readable only through the membership.
    await client.clearStore();
    go({ name: 'groups' });
  };
  const restore = useSubmit(UpdateGroupDocument);
  const done = (text: string, undo?: Undo) => {
    close();
    say(text, undo);
  };
  const edited = (before: LibraryVisibility | null) => (before === null ? done('Saved.')
    : done('Changed the visibility.', () => restore.undo({ id: group.id, visibility: before })));
  return (
    <>
      {!gone && (
        <Members heading="Members" none="No members that you can see." connection={group.members}
          roles={['MEMBER', 'MANAGER']} editable={mayManage} onMore={more} submission={submission} removal={removal}
          onSet={(id, role) => submission.send(change(id, role))} onUndo={(id, role) => submission.undo(change(id, role))}
          promotion={(member) => managingWill([member], 'group')} roleNow={(id) => roleNow(id).catch(() => undefined)}>
          <div className="actions">
            {mayManage && (
              <button type="button" className="button button-main" onClick={() => show('add')}>
                Add people…
              </button>
            )}
            {mayManage && (
              <button type="button" className="button" onClick={() => show('edit')}>
                Edit group…
              </button>
            )}
            {amIn && (
              <button type="button" className="button button-danger" onClick={() => show('leave')}>
                Leave…
              </button>
            )}
            {mayManage && (
              <button type="button" className="button button-danger" onClick={() => show('delete')}>
                Delete group…
              </button>
            )}
          </div>
        </Members>
      )}
      {open === 'leave' && (
        <Confirm title={`Leave ${group.displayName}?`} verb="Leave" submission={leaving} onConfirm={leave} onClose={close}>
          <p>
            {me && isOnlyManager(group.members, me.id) ? `You are ${keeps}`
              : 'You lose access to everything that is shared only with this group. Only one of its managers can add you again.'}
          </p>
        </Confirm>
      )}
      {open === 'delete' && (
        <DeleteGroup
          id={group.id}
          displayName={group.displayName}
          onClose={close}
          onDone={() => {
            done(`${group.displayName} was deleted.`);
            go({ name: 'groups' });
          }}
        />
      )}
      {open === 'add' && <AddMembers group={group} onClose={close} onDone={done} />}
      {open === 'edit' && <EditGroup group={group} onClose={close} onDone={edited} />}
    </>
  );
}

// useAmIn reports whether the reader is a direct member, and so can leave. If not all members
// were read, and the reader is not among those that were, it reads the reader's groups.
function useAmIn(group: GroupWithMembersFragment): boolean {
  const client = useApolloClient();
  const me = useMe();
  const [found, setFound] = useState(false);
  const { edges, pageInfo } = group.members;
  const amAmong = edges.some(({ node }) => node.id === me?.id);
  const unclear = Boolean(me && group.viewerRole) && !amAmong && pageInfo.hasNextPage;

  useEffect(() => {
    if (!unclear) return undefined;
    let over = false;
    const read = async (after: string | null) => (await client.query({ query: MyGroupsDocument, variables: { after },
      fetchPolicy: 'no-cache' })).data?.viewer?.groups ?? nowhere;
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

interface EditGroupProps {
  group: GroupWithMembersFragment;
  onClose: () => void;
  // before is the former visibility if nothing else was changed, otherwise null.
  onDone: (before: LibraryVisibility | null) => void;
}

type GroupFields = Pick<GroupWithMembersFragment, 'displayName' | 'visibility'>;

function EditGroup({ group, onClose, onDone }: EditGroupProps) {
  const submission = useSubmit(UpdateGroupDocument, ['displayName', 'visibility']);
  // Fields that the reader does not change follow the changes of others.
  const [edits, setEdits] = useState<Edits<GroupFields>>({});
  const stored: GroupFields = { displayName: group.displayName, visibility: group.visibility };
  const { shown, changes } = merge(edits, stored);
  const edit = <Field extends keyof GroupFields>(name: Field, value: GroupFields[Field]) =>
    setEdits((all) => type(all, stored, name, value));
  const save = async () => {
    const names = Object.keys(changes);
    if (names.length === 0) onClose();
    else if (await submission.send({ id: group.id, ...changes })) onDone(names.join() === 'visibility' ? stored.visibility : null);
  };
  return (
    <Dialog title="Edit group" onClose={onClose} unsaved={Object.keys(changes).length > 0}>
      <Form onSubmit={save} submission={submission} actions={<Actions submission={submission} verb="Save" />}>
        <TextField label="Name" value={shown.displayName}
          hint={`Other organisations share with the group by its id: ${group.id}`}
          onChange={(event) => edit('displayName', event.target.value)} faults={submission.faults.displayName} autoFocus />
        <VisibilityChoice value={shown.visibility} onChange={(value) => edit('visibility', value)}
          tenant={group.tenant} what="group" faults={submission.faults.visibility} />
      </Form>
    </Dialog>
  );
}

