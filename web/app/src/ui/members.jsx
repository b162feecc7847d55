// Users and groups with their roles, of an item or of a group.
import { useEffect, useRef, useState } from 'react';
import { hasNone } from '../data/connections.js';
import { Confirm } from './confirm.jsx';
import { To } from './navigation.jsx';
import { useSay } from './notices.jsx';
import { Monogram, ShowMore } from './states.jsx';
import { roleName } from './words.js';
import { Close } from './icons.jsx';

// roles are those that can be given, the weakest first; onSet(id, role) gives
// one, and with null removes the member. removal(node) says what that means.
export function Members({ heading, none, connection, roles, editable, onSet, onMore, submission, removal, children }) {
  const { shown, more } = useAsMany(connection, onMore);
  const { edges, pageInfo } = shown;
  const head = useRef(null);
  const list = useRef(null);
  const say = useSay();
  const [leaving, setLeaving] = useState(null);
  const ask = (node) => {
    submission.clear();
    setLeaving(node);
  };
  const keep = () => ask(null);
  const remove = async () => {
    if (!(await onSet(leaving.id, null))) return;
    setLeaving(null);
    say(`${leaving.displayName} was removed.`);
  };
  const give = async (node, role) => {
    if (await onSet(node.id, role)) say(`${node.displayName} is now ${roleName[role]}.`);
  };
  const faults = [...Object.values(submission.faults).flat(), submission.error?.text].filter(Boolean);
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
                <select aria-label={`Role of ${node.displayName}`} value={role} onChange={(event) => give(node, event.target.value)}>
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
      <div role="alert">
        {/* A dialog that asks tells its own faults. */}
        {!leaving &&
          faults.map((text) => (
            <p key={text} className="fault">
              {text}
            </p>
          ))}
      </div>
      {leaving && (
        <Confirm title={`Remove ${leaving.displayName}?`} verb="Remove" submission={submission} onConfirm={remove} onClose={keep} returnTo={head}>
          <p>{removal(leaving)}</p>
        </Confirm>
      )}
    </section>
  );
}

// useAsMany keeps a list as long as its reader has made it. When its first page
// is read anew, as after every change, the pages behind it are gone: they are
// read again, and until then the list stands as it was.
function useAsMany(connection, onMore) {
  const [wanted, setWanted] = useState(0);
  const last = useRef(connection);
  const short = connection.edges.length < wanted && connection.pageInfo.hasNextPage;
  if (!short) last.current = connection;

  useEffect(() => {
    if (short) onMore().catch(() => setWanted(0));
    // Once for each connection: onMore is another function every time.
  }, [short, connection]);
  const more = () => {
    const least = last.current.edges.length + 1;
    return onMore().then(() => setWanted(least));
  };
  return { shown: last.current, more };
}
