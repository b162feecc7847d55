// Users and groups with their roles, of an item or of a group.
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { asRole, isOnlyManager } from '../data/access.ts';
import { hasNone } from '../data/connections.ts';
import { Confirm } from './confirm.tsx';
import { To } from './navigation.tsx';
import { useSay, type Undo } from './notices.tsx';
import { useMe, useSession } from './session.tsx';
import { Monogram, ShowMore } from './states.tsx';
import { handleOf, roleName } from './words.ts';
import { Close } from './icons.tsx';
import { ActionFaults, type FormState } from './forms.tsx';
import { PrincipalDocument, type ContentRole, type GroupRole } from '../generated/operations.ts';

interface Member {
  id: string;
  displayName: string;
}

// Asked is a change of a member's role, null for a removal, that is confirmed first.
interface Asked<Role> {
  node: Member;
  role: Role | null;
  before: Role;
}

interface Connection<Role> {
  edges: readonly { role: Role; node: Member }[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

interface MembersProps<Role> {
  heading: string;
  none: string;
  connection: Connection<Role>;
  roles: Role[];
  editable: boolean;
  onSet: (id: string, role: Role | null) => Promise<unknown>;
  onUndo: (id: string, role: Role | null) => ReturnType<Undo>;
  onMore: (signal?: AbortSignal) => Promise<unknown>;
  submission: FormState & { clear(): void };
  removal: (node: Member) => string;
  promotion: (node: Member) => string;
  roleNow: (id: string) => Promise<Role | null | undefined>;
  obstacle?: (node: Member) => string;
  children?: ReactNode;
}

// Members lists members and lets managers change them. roles are the roles that can be set,
// weakest first. onSet(id, role) sets a role, or removes the member for null, and onUndo does so for a notice. onMore(signal)
// reads the next page, unless a signal aborts it. removal(node) describes the effect of a removal, and
// promotion(node) that of becoming a manager. roleNow(id) reads the role that somebody has now, null
// for none, and undefined if the viewer may not know: a role would add again whom somebody else has removed meanwhile, and
// Undo would take back what somebody else has decided. obstacle(node) says that the only manager has to stay, if the
// viewer sees all members.
export function Members<Role extends ContentRole | GroupRole>({ heading, none, connection, roles, editable, onSet, onUndo,
  onMore, submission, removal, promotion, roleNow, obstacle, children }: MembersProps<Role>) {
  const [changes, setChanges] = useState(0);
  const { shown, more } = useKeptLength(connection, onMore, changes);
  const { edges, pageInfo } = shown;
  const head = useRef<HTMLHeadingElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const say = useSay();
  const me = useMe();
  const { claims } = useSession();
  const [asked, setAsked] = useState<Asked<Role> | null>(null);
  const ask = (change: Asked<Role> | null) => {
    submission.clear();
    setAsked(change);
  };
  const set = async <Reply,>(sending: Promise<Reply>) => {
    const reply = await sending;
    setChanges((count) => count + 1);
    return reply;
  };
  const client = useApolloClient();
  const isFound = (id: string) => client.query({ query: PrincipalDocument, variables: { id }, fetchPolicy: 'no-cache' })
    .then(({ data }) => data?.principal !== null, () => true);
  const [reading, setReading] = useState(false);
  const change = async ({ node, role, before }: Asked<Role>) => {
    setReading(true);
    const held = await roleNow(node.id);
    setReading(false);
    if (held !== undefined && held !== before) {
      setAsked(null);
      return say(held ? elsewhere(node, held) : `${node.displayName} was removed meanwhile.`);
    }
    if (!(await set(onSet(node.id, role)))) return;
    setAsked(null);
    // A viewer that gives up its own role cannot take it back, and a role that was not read may be too strong. Nobody can add
    // whom only members and managers see.
    const lost = !role && node.id !== me?.id && !(await isFound(node.id));
    const undo: Undo | undefined = node.id === me?.id || !held || lost ? undefined
      : async () => ([role, undefined].includes(await roleNow(node.id)) ? set(onUndo(node.id, held))
        : 'Somebody else has changed this meanwhile.');
    say(role ? `${node.displayName} is now ${asRole[role]}.`
      : `${node.displayName} was removed.${lost ? ' You can no longer find them, so you cannot add them again.' : ''}`, undo);
  };
  const give = (node: Member, before: Role, role: Role | undefined) => {
    if (!role) return;
    if (node.id === me?.id || role === 'MANAGER') ask({ node, role, before });
    else void change({ node, role, before });
  };
  return (
    <section className="members" aria-label={heading}>
      <div className="members-head">
        <h2 ref={head} tabIndex={-1}>
          {heading}
        </h2>
        {children}
      </div>
      {hasNone(shown) && <p className="hint">{none}</p>}
      <ul ref={list}>
        {edges.map(({ node, role }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>
                <bdi>{node.displayName}</bdi>
              </To>
              <small>{handleOf(node.id, claims?.tenant ?? '')}</small>
            </span>
            {editable ? (
              <>
                <select aria-label={`Role of ${node.displayName}`} value={role}
                  onChange={(event) => give(node, role, roles[event.target.selectedIndex])}>
                  {roles.map((name) => (
                    <option key={name} value={name}>
                      {roleName[name]}
                    </option>
                  ))}
                </select>
                <button type="button" className="icon-button" aria-label={`Remove ${node.displayName}…`}
                  onClick={() => ask({ node, role: null, before: role })}>
                  <Close />
                </button>
              </>
            ) : (
              <span className="members-role">{roleName[role]}</span>
            )}
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage && <ShowMore onMore={more} list={list} />}
      {/* A dialog shows its own errors. */}
      <ActionFaults submission={asked ? null : submission} />
      {asked && (
        <Confirm
          {...wordsOf(asked, asked.node.id === me?.id, removal, promotion)}
          submission={reading ? { ...submission, busy: true } : submission}
          onConfirm={() => void change(asked)}
          onClose={() => ask(null)}
          returnTo={head}
          obstacle={isOnlyManager(shown, asked.node.id) ? obstacle?.(asked.node) : undefined}
        />
      )}
    </section>
  );
}

// elsewhere says that somebody else has given a member another role than the one that was shown.
export const elsewhere = ({ displayName }: Pick<Member, 'displayName'>, role: ContentRole | GroupRole) =>
  `Somebody else has made ${displayName} ${asRole[role]} meanwhile. Nothing was changed.`;

// wordsOf returns what a question about a change says.
function wordsOf<Role extends ContentRole | GroupRole>({ node, role }: Asked<Role>, mine: boolean, removal: (node: Member) => string,
  promotion: (node: Member) => string) {
  if (!role) return { title: `Remove ${node.displayName}?`, verb: 'Remove', children: <p>{removal(node)}</p> };
  if (!mine) return { title: `Make ${node.displayName} a manager?`, verb: 'Make manager', children: <p>{promotion(node)}</p> };
  return { title: 'Change your own role?', verb: 'Change',
    children: <p>You will be {asRole[role]}, and may not be able to undo this yourself.</p> };
}

// useKeptLength keeps a list as long as the reader has extended it. Each change reads its first
// page again and drops the pages after it; this hook reads them again, and shows the former list
// until then. changes is the number of answered changes. A page that was requested before a change
// was answered may not contain it, so it is requested again.
function useKeptLength<Role>(connection: Connection<Role>, onMore: MembersProps<Role>['onMore'], changes: number) {
  const [wanted, setWanted] = useState(0);
  const last = useRef(connection);
  const short = connection.edges.length < wanted && connection.pageInfo.hasNextPage;
  if (!short) last.current = connection;

  useEffect(() => {
    if (!short) return;
    const reading = new AbortController();
    onMore(reading.signal).catch(() => {
      if (!reading.signal.aborted) setWanted(0);
    });
    return () => reading.abort();
    // Once for each connection and change: onMore is another function every time.
  }, [short, connection, changes]);
  const more = () => {
    const least = last.current.edges.length + 1;
    return onMore().then(() => setWanted(least));
  };
  return { shown: last.current, more };
}
