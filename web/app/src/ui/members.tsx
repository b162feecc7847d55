// Users and groups with their roles, of an item or of a group.
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { hasNone } from '../data/connections.ts';
import { Confirm } from './confirm.tsx';
import { To } from './navigation.tsx';
import { useSay } from './notices.tsx';
import { Monogram, ShowMore } from './states.tsx';
import { roleName } from './words.ts';
import { Close } from './icons.tsx';
import { ActionFaults, type FormState } from './forms.tsx';
import type { ContentRole, GroupRole } from '../generated/operations.ts';

interface Member {
  id: string;
  displayName: string;
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
  onMore: (signal?: AbortSignal) => Promise<unknown>;
  submission: FormState & { clear(): void };
  removal: (node: Member) => string;
  children?: ReactNode;
}

// Members lists members and lets managers change them. roles are the roles that can be set,
// weakest first. onSet(id, role) sets a role, or removes the member for null. onMore(signal) reads
// the next page, unless a signal aborts it. removal(node) describes the effect of a removal.
export function Members<Role extends ContentRole | GroupRole>({ heading, none, connection, roles, editable, onSet, onMore, submission, removal, children }: MembersProps<Role>) {
  const [changes, setChanges] = useState(0);
  const { shown, more } = useKeptLength(connection, onMore, changes);
  const { edges, pageInfo } = shown;
  const head = useRef<HTMLHeadingElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const say = useSay();
  const [leaving, setLeaving] = useState<Member | null>(null);
  const ask = (node: Member | null) => {
    submission.clear();
    setLeaving(node);
  };
  const keep = () => ask(null);
  const set = async (id: string, role: Role | null) => {
    const reply = await onSet(id, role);
    setChanges((count) => count + 1);
    return reply;
  };
  const remove = async () => {
    if (!leaving || !(await set(leaving.id, null))) return;
    setLeaving(null);
    say(`${leaving.displayName} was removed.`);
  };
  const give = async (node: Member, role: Role | undefined) => {
    if (role && (await set(node.id, role))) say(`${node.displayName} is now ${roleName[role]}.`);
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
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>{node.id}</small>
            </span>
            {editable ? (
              <>
                <select aria-label={`Role of ${node.displayName}`} value={role} onChange={(event) => give(node, roles[event.target.selectedIndex])}>
                  {roles.map((name) => (
                    <option key={name} value={name}>
                      {roleName[name]}
                    </option>
                  ))}
                </select>
                <button type="button" className="icon-button" aria-label={`Remove ${node.displayName}…`} onClick={() => ask(node)}>
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
      <ActionFaults submission={leaving ? null : submission} />
      {leaving && (
        <Confirm title={`Remove ${leaving.displayName}?`} verb="Remove" submission={submission} onConfirm={remove} onClose={keep} returnTo={head}>
          <p>{removal(leaving)}</p>
        </Confirm>
      )}
    </section>
  );
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
