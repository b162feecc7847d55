// Users and groups with their roles, of an item or of a group.
import { To } from './navigation.jsx';
import { Monogram, ShowMore } from './states.jsx';
import { roleName } from './words.js';
import { Close } from './icons.jsx';

// roles are those that can be given, the weakest first; onSet(id, role) gives
// one, and with null takes the member out.
export function Members({ heading, none, connection, roles, editable, onSet, onMore, submission, children }) {
  const { edges, pageInfo } = connection;
  const faults = [...Object.values(submission.faults).flat(), submission.error?.text].filter(Boolean);
  return (
    <section className="members" aria-label={heading}>
      <div className="members-head">
        <h2>{heading}</h2>
        {children}
      </div>
      {edges.length === 0 && <p className="hint">{none}</p>}
      <ul>
        {edges.map(({ node, role }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>{node.id}</small>
            </span>
            {editable ? (
              <>
                <select aria-label={`Role of ${node.displayName}`} value={role} onChange={(event) => onSet(node.id, event.target.value)}>
                  {roles.map((name) => (
                    <option key={name} value={name}>
                      {roleName[name]}
                    </option>
                  ))}
                </select>
                <button type="button" className="icon-button" aria-label={`Take out ${node.displayName}`} onClick={() => onSet(node.id, null)}>
                  <Close />
                </button>
              </>
            ) : (
              <span className="members-role">{roleName[role]}</span>
            )}
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage && <ShowMore onMore={onMore} />}
      <div role="alert">
        {faults.map((text) => (
          <p key={text} className="fault">
            {text}
          </p>
        ))}
      </div>
    </section>
  );
}
