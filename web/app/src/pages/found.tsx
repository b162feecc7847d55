// The items that a search in a library has found, and how far the search is.
import { useEffect } from 'react';
import type { View } from '../data/cache.ts';
import { noFilter } from '../data/filter.ts';
import type { LiveState } from '../data/follow.ts';
import { progressOf } from '../data/search.ts';
import type { LibraryPlace } from '../data/routes.ts';
import { useNavigation } from '../ui/navigation.tsx';
import { Empty, Failed } from '../ui/states.tsx';
import { matchesOf } from '../ui/words.ts';
import { Entries } from './entries.tsx';
import type { Owner } from './library-head.tsx';
import type { LibraryEdges } from './use-library.ts';
import { useSearch, type Search } from './use-search.ts';

interface FoundEntriesProps {
  view: View;
  place: LibraryPlace;
  principal: Owner;
  onLive: (live: LiveState | '') => void;
}

const none = new Set<string>();

export function FoundEntries({ view, place, principal, onLive }: FoundEntriesProps) {
  const search = useSearch(view, place.filter);
  const { found, state, error, again, goOn } = search;
  useEffect(() => onLive(search.live), [onLive, search.live]);

  const library: LibraryEdges = {
    __typename: 'LibraryConnection',
    edges: [...found.edges],
    pageInfo: { __typename: 'PageInfo', hasNextPage: found.more, hasPreviousPage: false, startCursor: null, endCursor: found.endCursor },
  };
  return (
    <section className="found" aria-label="Search results">
      <Progress search={search} principal={principal} />
      {found.edges.length > 0 && (
        <Entries
          // A search has no position in its address: it starts at the beginning.
          place={{ ...place, at: null }}
          fixed
          library={library}
          ends={{ previous: 'done', next: state === 'enough' ? 'idle' : state === 'searching' ? 'loading' : 'done' }}
          extend={goOn}
          fresh={none}
          onRested={() => {}}
          busy={state === 'searching'}
        />
      )}
      {state === 'failed' && <Failed error={error} onRetry={async () => goOn()} heading="The search was interrupted" />}
      {state === 'done' && found.edges.length === 0 && <NoMatches place={place} />}
      {state !== 'failed' && search.outdated && (
        <p className="outdated" role="status">
          The library has changed since this search.
          <button type="button" className="button" onClick={() => again()}>
            Search again
          </button>
        </p>
      )}
    </section>
  );
}

// Progress says how much was found, and how much of a large library was searched.
function Progress({ search, principal }: { search: Search; principal: Owner }) {
  const { found, state, goOn, stop } = search;
  const part = progressOf(found, principal.library.count.value);
  const searching = state === 'searching';
  return (
    <div className="found-progress">
      <p role="status">
        {searching ? 'Searching... ' : ''}
        {matchesOf(found.edges.length, found.more)}
      </p>
      {searching && <progress aria-label="Part of the library that was searched" value={part ?? undefined} max={1} />}
      {searching && found.cut > 0 && (
        <button type="button" className="button" onClick={stop}>
          Stop
        </button>
      )}
      {state === 'stopped' && (
        <button type="button" className="button" onClick={goOn}>
          Continue the search
        </button>
      )}
    </div>
  );
}

function NoMatches({ place }: { place: LibraryPlace }) {
  const { go } = useNavigation();
  return (
    <Empty heading="No matches">
      <p>Every word must begin a word of the title or the description. Items that you cannot see are not found.</p>
      <button type="button" className="button" onClick={() => go({ ...place, filter: noFilter })}>
        Clear the search
      </button>
    </Empty>
  );
}
