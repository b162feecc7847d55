// The results of a search in a library, and its progress.
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { follow } from 'carrel-client';
import { keepItems } from '../data/cache.ts';
import { pageSize } from '../data/client.ts';
import type { LibraryEdge as Edge, View } from '../data/entries.ts';
import { filterInput, type Filter } from '../data/filter.ts';
import { orderBy } from '../data/order.ts';
import { nothingFound, searchOn, type Found } from '../data/search.ts';
import { LibraryNewestDocument, LibraryPageDocument } from '../generated/operations.ts';
import { useConnection } from '../ui/session.tsx';
import type { Live } from './use-library.ts';

type State = Pick<Edge['node'], 'id' | 'version'>;

// stateOf identifies a state of an item.
const stateOf = ({ id, version }: State) => `${id} ${version}`;

export type SearchState = 'searching' | 'stopped' | 'failed' | 'enough' | 'done';

export interface Search {
  found: Found<Edge>;
  state: SearchState;
  error: unknown;
  // outdated: the library has changed since the search began.
  outdated: boolean;
  live: Live;
  goOn: () => void;
  stop: () => void;
  again: () => Promise<void>;
  // changed is called after the reader has changed an item, with its id if it is gone. A
  // subscription reports that too, unless there is none.
  changed: (gone?: string) => void;
}

// useSearch searches a view for the items that match a filter. It starts immediately, and pauses
// when it has found a page. Each filter and each view needs its own component (a React key).
export function useSearch(view: View, filter: Filter): Search {
  const client = useApolloClient();
  const [found, setFound] = useState<Found<Edge>>(nothingFound);
  const [state, setState] = useState<SearchState>('searching');
  const [error, setError] = useState<unknown>(null);
  const [outdated, setOutdated] = useState(false);
  const [live, setLive] = useState<Live>('');
  const connection = useConnection();
  // Each run has a number; answers for earlier runs are ignored.
  const run = useRef(0);
  // The result of the last run so far, from which the search continues.
  const reached = useRef<Found<Edge>>(nothingFound);
  const gone = useRef(new Set<string>());
  // The state of the newest item when the search began; '' if the library was empty, and null if
  // it is not known.
  const newest = useRef<Promise<string | null>>(Promise.resolve(null));
  const { id, order, shared } = view;
  const input = JSON.stringify(filterInput(filter));
  const byRole = filter.roles.length > 0;

  const show = useCallback((next: Found<Edge>) => {
    reached.current = next;
    setFound(next);
  }, []);

  const readNewest = useCallback(async () => {
    const { data } = await client.query({ query: LibraryNewestDocument, variables: { id, shared }, fetchPolicy: 'no-cache' });
    const edge = data?.principal?.library.edges[0];
    return edge ? stateOf(edge.node) : '';
  }, [client, id, shared]);

  const search = useCallback(
    async (from: Found<Edge>) => {
      const mine = ++run.current;
      const stopped = () => mine !== run.current;
      setState('searching');
      setError(null);
      reached.current = from;
      try {
        await searchOn<Edge>({
          from,
          wanted: pageSize,
          pageSize,
          stopped,
          async read(after, first) {
            const variables = { id, orderBy: orderBy[order], includeShared: shared,
              filter: JSON.parse(input), after, first } as const;
            const { data } = await client.query({ query: LibraryPageDocument, variables, fetchPolicy: 'no-cache' });
            if (!data?.principal) throw new Error('the library can no longer be read');
            const { library } = data.principal;
            keepItems(client.cache, library.edges);
            return library;
          },
          isGone: ({ node }) => gone.current.has(node.id),
          onFound: show,
        });
        if (!stopped()) setState(reached.current.more ? 'enough' : 'done');
      } catch (fault) {
        if (stopped()) return;
        setFound(reached.current);
        setError(fault);
        setState('failed');
      }
    },
    [client, id, order, shared, input, show],
  );

  const again = useCallback(async () => {
    setOutdated(false);
    gone.current = new Set();
    newest.current = readNewest().catch(() => null);
    await search(nothingFound);
  }, [readNewest, search]);

  const drop = useCallback(
    (item: string) => {
      gone.current.add(item);
      show({ ...reached.current, edges: reached.current.edges.filter(({ node }) => node.id !== item) });
    },
    [show],
  );

  useEffect(() => {
    again();
    return () => {
      run.current += 1;
    };
  }, [again]);

  useEffect(() => {
    let interrupted = false;
    // The subscription may begin with the last change before the search, which the results
    // contain. Whether a change of roles concerns the search, only the gateway knows.
    const placed = async (item: State) => {
      if (byRole || stateOf(item) !== (await newest.current)) setOutdated(true);
    };
    const ending = new AbortController();
    void follow({
      subscribe: (after, options) => connection.listen(id, after, options),
      cursor: () => null,
      apply({ libraryChanged: change }) {
        if (change.__typename === 'LibraryEntryRemoved') {
          drop(change.contentId);
          // An item that leaves the bucket because it became private may still be shared with
          // the viewer; only the gateway knows.
          if (shared) setOutdated(true);
        } else {
          void placed(change.edge.node);
        }
      },
      // The library may have changed before the subscription began. After an interruption the
      // newest item does not show that: an entry may have been removed.
      async reread() {
        const before = await newest.current;
        if (interrupted || before === null || before !== (await readNewest())) setOutdated(true);
      },
      pause: connection.pause,
      onStatus(status) {
        if (status === 'reconnecting') interrupted = true;
        setLive(status);
      },
      signal: ending.signal,
    });
    return () => {
      ending.abort();
      setLive('');
    };
  }, [connection, id, shared, byRole, drop, readNewest]);

  return {
    found,
    state,
    error,
    outdated,
    live,
    goOn: () => void search(reached.current),
    stop() {
      run.current += 1;
      setFound(reached.current);
      setState('stopped');
    },
    again,
    changed(gone?: string) {
      if (gone) drop(gone);
      else if (live !== 'live') setOutdated(true);
    },
  };
}
