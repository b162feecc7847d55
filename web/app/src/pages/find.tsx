// Searches for users and groups by the beginning of a name, or opens one by its id.
// Items are opened by their URL.
import { useEffect, useRef, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { hasNone } from '../data/connections.ts';
import { FindPrincipalsDocument, type FindPrincipalsQuery } from '../generated/operations.ts';
import { principalId, type OpenPlace } from '../data/routes.ts';
import { Search, VisibilityIcon } from '../ui/icons.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useDebounced } from '../ui/people-picker.tsx';
import { useSession } from '../ui/session.tsx';
import { Empty, Failed, Loading, Monogram, Outdated, ShowMore } from '../ui/states.tsx';
import { foundOf, kindOfPrincipal, visibilityName } from '../ui/words.ts';

const atOnce = 25;
const isUrl = (text: string) => /^\s*https?:/i.test(text);
const itemOf = (url: string): OpenPlace => ({ name: 'open', url: url.trim(), tenant: '' });

export function FindPage({ q }: { q: string }) {
  const { claims } = useSession();
  const signedIn = claims !== null;
  const { go } = useNavigation();
  const [text, setText] = useState(q);
  const prefix = useDebounced(text.trim());
  useTitle('Search');

  // The address follows what is typed; if the address itself changes, by a link or by going
  // back, the field follows it.
  const [known, setKnown] = useState(q);
  if (known !== q) {
    setKnown(q);
    setText(q);
  }
  useEffect(() => {
    if (prefix === q) return;
    setKnown(prefix);
    go({ name: 'find', q: prefix }, { replace: true });
    // Only after the user has typed: q is what the address has become.
  }, [prefix, go]);

  const isId = principalId.test(prefix);
  return (
    <article className="page">
      <header className="page-head">
        <h1>Search</h1>
      </header>
      <form
        role="search"
        className="search"
        onSubmit={(event) => {
          event.preventDefault();
          if (principalId.test(text.trim())) go({ name: 'library', id: text.trim() });
          else if (isUrl(text)) go(itemOf(text));
        }}
      >
        <label htmlFor="find">{signedIn ? `Name of a user or group in ${claims.tenant}, or any id` : 'Id of a user or group'}</label>
        <div className="search-box">
          <Search />
          <input
            id="find"
            type="search"
            value={text}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder={signedIn ? 'ann, or g:demo:team' : 'g:demo:team'}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
      </form>
      {isId && (
        <p>
          <To className="button button-main" place={{ name: 'library', id: prefix }}>
            Open {prefix}
          </To>
        </p>
      )}
      {isUrl(prefix) ? (
        <p>
          <To className="button button-main" place={itemOf(prefix)}>
            Open the item with this URL
          </To>
        </p>
      ) : (
        <p className="hint">
          To find an item, <To place={itemOf('')}>open it by its URL</To>.
        </p>
      )}
      {!isId && !signedIn && <p className="hint">Sign in to search by name.</p>}
      {!isId && !isUrl(prefix) && claims && <Found tenant={claims.tenant} prefix={prefix} />}
    </article>
  );
}

function Found({ tenant, prefix }: { tenant: string; prefix: string }) {
  const { data, previousData, error, refetch, fetchMore } = useQuery(FindPrincipalsDocument, {
    variables: { tenant, prefix, first: atOnce },
    fetchPolicy: 'cache-and-network',
    nextFetchPolicy: 'cache-first',
  });
  const list = useRef<HTMLUListElement>(null);
  // After a failure only results for the same text are still valid.
  const answer = useRef<Partial<FindPrincipalsQuery> & { prefix?: string }>({});
  if (data) answer.current = { prefix, principals: data.principals };
  const kept = answer.current.prefix === prefix ? answer.current : undefined;
  const found = (data ?? (error ? kept : previousData))?.principals;
  if (error && !found) return <Failed error={error} onRetry={() => refetch()} />;
  if (!found) return <Loading what="Searching..." />;
  if (hasNone(found)) {
    return (
      <Empty heading="No matches">
        <p>A search matches the beginning of any word of a name. Users and groups that you cannot see are not found.</p>
      </Empty>
    );
  }
  return (
    <>
      {error && <Outdated error={error} onRetry={() => refetch()} />}
      <p className="hidden" role="status">
        {foundOf(found.edges.length, found.pageInfo.hasNextPage)}
      </p>
      <ul className="principals" ref={list}>
        {found.edges.map(({ node }) => (
          <li key={node.id}>
            <Monogram id={node.id} name={node.displayName} />
            <span className="members-name">
              <To place={{ name: 'library', id: node.id }}>{node.displayName}</To>
              <small>
                {kindOfPrincipal(node.id) === 'group' ? 'Group' : 'User'} · {node.id} · <VisibilityIcon of={node.visibility} /> {visibilityName(node.visibility, tenant, kindOfPrincipal(node.id))}
              </small>
            </span>
          </li>
        ))}
      </ul>
      {data && found.pageInfo.hasNextPage && <ShowMore list={list} onMore={() => fetchMore({ variables: { after: found.pageInfo.endCursor } })} />}
    </>
  );
}
