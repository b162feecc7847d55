// Searches for items by words in all libraries that the viewer reads as its own, and for people and
// groups by the beginning of a name. It opens one by its id, and an item by its URL.
import { useEffect, useRef, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { hasNone } from '../data/connections.ts';
import { FindPrincipalsDocument, type FindPrincipalsQuery } from '../generated/operations.ts';
import { principalId, type OpenPlace } from '../data/routes.ts';
import { excerpt } from '../data/markdown.ts';
import { isBadInput } from '../data/faults.ts';
import { longestText, mostWords, noFilter } from '../data/filter.ts';
import { Search, VisibilityIcon } from '../ui/icons.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useDebounced } from '../ui/people-picker.tsx';
import { useMe, useSession } from '../ui/session.tsx';
import { Empty, Failed, Loading, Monogram, Outdated, ShowMore } from '../ui/states.tsx';
import { Title } from '../ui/title.tsx';
import { dateOf, foundOf, handleOf, kindName, kindOfPrincipal, matchesOf, roleName, visibilityName } from '../ui/words.ts';
import { useFindItems, useLibraries } from './use-find-items.ts';

const atOnce = 25;
// pause is how long a person has to stop typing before a search begins, in milliseconds: a search of
// several libraries costs more than one for names.
const pause = 400;
const isUrl = (text: string) => /^\s*https?:/i.test(text);
const itemOf = (url: string): OpenPlace => ({ name: 'open', url: url.trim(), tenant: '' });

export function FindPage({ q }: { q: string }) {
  const { claims } = useSession();
  const signedIn = claims !== null;
  const me = useMe();
  const { go } = useNavigation();
  const [text, setText] = useState(q);
  const prefix = useDebounced(text.trim(), pause);
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
        <label htmlFor="find">{signedIn ? 'Words of an item, or the name of a person or group' : 'Id of a user or group'}</label>
        <div className="search-box">
          <Search />
          <input
            id="find"
            type="search"
            data-search
            maxLength={longestText}
            value={text}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder={signedIn ? 'recipe, or ann' : 'g:demo:team'}
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
          You can also <To place={itemOf('')}>open an item by its URL</To>.
        </p>
      )}
      {!isId && !signedIn && <p className="hint">Sign in to search by words and names.</p>}
      {!isId && !isUrl(prefix) && me && prefix.length > 1 && (
        <section aria-labelledby="found-items" className="found-items">
          <h2 id="found-items">Items</h2>
          <ItemsOf viewerId={me.id} text={prefix} />
        </section>
      )}
      {!isId && !isUrl(prefix) && claims && (
        <section aria-labelledby="found-people" className="found-items">
          <h2 id="found-people">People and groups</h2>
          <Found tenant={claims.tenant} prefix={prefix} />
        </section>
      )}
    </article>
  );
}

// ItemsOf keeps the list of the viewer's libraries for all texts.
function ItemsOf({ viewerId, text }: { viewerId: string; text: string }) {
  const libraries = useLibraries(viewerId);
  return <FoundItems key={text} libraries={libraries} text={text} />;
}

// searchedIn says in which of the viewer's libraries a search was.
function searchedIn(searched: number, unread: number): string {
  const groups = searched - 1;
  if (groups === 0) return 'In your library.';
  if (unread > 0) return `In your library and those of ${groups} of your groups.`;
  return `In your library and ${groups === 1 ? 'that of your group' : `those of your ${groups} groups`}.`;
}

// FoundItems lists the items that a text finds, and in which library each is.
function FoundItems({ libraries, text }: { libraries: ReturnType<typeof useLibraries>; text: string }) {
  const { found, longer, searched, left, isPartial, busy, error, goOn } = useFindItems(libraries, text);
  const list = useRef<HTMLUListElement>(null);
  const unread = left?.length ?? 0;
  return (
    <>
      <p className="hint" role="status">
        {busy ? 'Searching... ' : ''}
        {matchesOf(found.length, busy || unread > 0)} {searched > 0 && searchedIn(searched, unread)}
        {found.length === 0 && !busy && ' Words are found in titles and descriptions, not in the texts of notes.'}
        {isPartial && ' Groups that you belong to through another group may be missing.'}
      </p>
      <ul className="newest" ref={list}>
        {found.map(({ item, library }) => (
          <li key={item.id} data-found={item.id}>
            <To place={{ name: 'library', id: library.id, item: item.id }}>
              <Title of={item.title} />
            </To>
            {item.description && <p dir="auto">{excerpt(item.description, 160)}</p>}
            <small>
              {kindName[item.kind]} · <VisibilityIcon of={item.visibility} /> {visibilityName(item.visibility,
                item.tenant)} · in <bdi>{library.name}</bdi> · <time dateTime={item.lastModified}>{dateOf(item.lastModified)}</time>
            </small>
          </li>
        ))}
      </ul>
      {longer.length > 0 && (
        <p className="hint">
          There may be more in{' '}
          {longer.map((library, index) => (
            <span key={library.id}>
              {index > 0 && ', '}
              <To place={{ name: 'library', id: library.id, filter: { ...noFilter, text } }}>
                <bdi>{library.name}</bdi>
              </To>
            </span>
          ))}
          .
        </p>
      )}
      {error !== null && (isBadInput(error) ? <p className="hint">A search for items has at most {mostWords} words.</p>
        : <Failed error={error} onRetry={async () => goOn()} heading="The search was interrupted" />)}
      {!busy && error === null && unread > 0 && (
        <button type="button" className="button" onClick={goOn}>
          Search {unread} more {unread === 1 ? 'library' : 'libraries'}
        </button>
      )}
    </>
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
              <To place={{ name: 'library', id: node.id }}>
                <bdi>{node.displayName}</bdi>
              </To>
              <small>
                {handleOf(node.id, tenant)} · {node.__typename === 'Group' && node.viewerRole && `${roleName[node.viewerRole]} · `}
                <VisibilityIcon of={node.visibility} /> {visibilityName(node.visibility,
                  tenant, kindOfPrincipal(node.id))}
              </small>
            </span>
          </li>
        ))}
      </ul>
      {data && found.pageInfo.hasNextPage && <ShowMore list={list} onMore={() =>
        fetchMore({ variables: { after: found.pageInfo.endCursor } })} />}
    </>
  );
}
