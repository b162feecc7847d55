// Adding people to a group.
import { useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { managingWill, staying } from '../data/access.ts';
import { someEdge } from '../data/connections.ts';
import { MoreGroupMembersDocument, SetGroupMembersDocument, type GroupRole,
  type GroupWithMembersFragment } from '../generated/operations.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Choice, Form, useSubmit } from '../ui/forms.tsx';
import { PeoplePicker, usePeople, type Person } from '../ui/people-picker.tsx';
import { useSession } from '../ui/session.tsx';

// Present is somebody who was in the group already.
interface Present extends Person {
  role: GroupRole;
}

interface AddMembersProps {
  group: GroupWithMembersFragment;
  onClose: () => void;
  onDone: (text: string) => void;
}

// AddMembers adds people to a group. Those who are in it already are left out, because adding them would set their role.
export function AddMembers({ group, onClose, onDone }: AddMembersProps) {
  const { claims } = useSession();
  const submission = useSubmit(SetGroupMembersDocument, ['members']);
  const { people, someone, drop, picker } = usePeople(submission, 'members');
  const [role, setRole] = useState<GroupRole>('MEMBER');
  const [present, setPresent] = useState<readonly Present[]>([]);
  // Those about whom the reader is asked whether they become managers.
  const [asked, setAsked] = useState<readonly Person[] | null>(null);
  const rolesNow = useRolesNow(group.id);

  const send = async (fresh: readonly Person[], as: GroupRole, there: readonly Present[]) => {
    const members = fresh.map(({ id }) => ({ principalId: id, role: as }));
    if (members.length > 0 && !(await submission.send({ groupId: group.id, members }))) return setAsked(null);
    const added = fresh.length > 0 && `Added ${fresh.map(({ displayName }) => displayName).join(', ')}.`;
    onDone([added, staying(there)].filter(Boolean).join(' '));
  };
  const add = async () => {
    if (!someone()) return;
    const read = await submission.run(async () => ({ roles: await rolesNow(people), userErrors: [] }));
    if (!read) return;
    const there = people.flatMap((one) => {
      const held = read.roles.get(one.id);
      return held ? [{ ...one, role: held }] : [];
    });
    const fresh = people.filter(({ id }) => !read.roles.has(id));
    const all = [...present.filter(({ id }) => people.every((one) => one.id !== id)), ...there];
    setPresent(all);
    drop(people.filter((one) => !fresh.includes(one)));
    if (role === 'MANAGER' && fresh.length > 0) setAsked(fresh);
    else await send(fresh, role, all);
  };
  const [first] = asked ?? [];
  return (
    <Dialog title={`Add to ${group.displayName}`} onClose={onClose} unsaved={people.length > 0}>
      <Form onSubmit={add} submission={submission} actions={<Actions submission={submission} verb="Add" />}>
        <PeoplePicker tenant={claims?.tenant ?? ''} autoFocus {...picker} />
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
      {asked && first && (
        <Confirm title={asked.length === 1 ? `Make ${first.displayName} a manager?` : `Add ${asked.length} managers?`}
          verb={asked.length === 1 ? 'Make manager' : 'Add managers'} submission={submission}
          onConfirm={() => void send(asked, 'MANAGER', present)} onClose={() => setAsked(null)}>
          <p>{managingWill(asked, 'group')}</p>
        </Confirm>
      )}
    </Dialog>
  );
}

// useRolesNow returns a function that reads which of some people are members of a group now, and their roles. The page may not
// have read all members.
export function useRolesNow(id: string) {
  const client = useApolloClient();
  return async (people: readonly Pick<Person, 'id'>[]) => {
    const roles = new Map<string, GroupRole>();
    const read = async (after: string | null) => {
      const { data } = await client.query({ query: MoreGroupMembersDocument, variables: { id, after }, fetchPolicy: 'no-cache' });
      return data?.group?.members ?? { edges: [], pageInfo: { hasNextPage: false, endCursor: null } };
    };
    await someEdge<{ role: GroupRole; node: Person }>(read, ({ node, role }) => {
      roles.set(node.id, role);
      return people.every((one) => roles.has(one.id));
    });
    return roles;
  };
}
