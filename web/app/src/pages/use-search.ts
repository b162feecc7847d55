// The results of a search in a library, and its progress.
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { keepItems, type LibraryChange, type View } from '../data/cache.ts';
import { follow, type LiveState } from '../data/follow.ts';
import { filterInput, type Filter } from '../data/filter.ts';
import { pause } from '../data/network.ts';
import { nothingFound, searchOn, type Found } from '../data/search.ts';
import { LibrarySearchDocument } from '../generated/operations.ts';
import { useConnection } from '../ui/session.tsx';
import type { LibraryEdges } from './use-library.ts';

type Edge = LibraryEdges['edges'][number];

const pageSize = 30;

export type SearchState = 'searching' | 'stopped' | 'failed' | 'enough' | 'done';

export interface Search {
  found: Found<Edge>;
  state: SearchState;
  error: unknown;
  // outdated: the library has changed since the search began.
  outdated: boolean;
  live: LiveState | '';
  goOn: () => void;
  stop: () => void;
  again: () => Promise<void>;
}

// useSearch searches a view for what matches a filter. It starts at once, and pauses when it
// has found a page. Each filter and each view needs a component of its own (a React key).
export function useSearch(view: View, filter: Filter): Search {
  const client = useApolloClient();
  const [found, setFound] = useState<Found<Edge>>(nothingFound);
  const [state, setState] = useState<SearchState>('searching');
  const [error, setError] = useState<unknown>(null);
  const [outdated, setOutdated] = useState(false);
  const [live, setLive] = useState<LiveState | ''>('');
  const { listen } = useConnection();
  // Each run has a number; an answer for another run than the last one is dropped.
  const run = useRef(0);
  const { id, direction, shared } = view;
  const input = JSON.stringify(filterInput(filter));

  const search = useCallback(
    async (from: Found<Edge>) => {
      const mine = ++run.current;
      const stopped = () => mine !== run.current;
      setState('searching');
      setError(null);
      let last = from;
      try {
        await searchOn<Edge>({
          from,
          wanted: pageSize,
          pageSize,
          stopped,
          async read(after, first) {
            const variables = { id, direction, shared, filter: JSON.parse(input), after, first };
            const { data } = await client.query({ query: LibrarySearchDocument, variables, fetchPolicy: 'no-cache' });
            if (!data?.principal) throw new Error('the library can no longer be read');
            return data.principal.library;
          },
          onFound(next) {
            last = next;
            keepItems(client.cache, next.edges.slice(from.edges.length));
            setFound(next);
          },
        });
        if (!stopped()) setState(last.more ? 'enough' : 'done');
      } catch (fault) {
        if (stopped()) return;
        setError(fault);
        setState('failed');
      }
    },
    [client, id, direction, shared, input],
  );

  const again = useCallback(async () => {
    setOutdated(false);
    await search(nothingFound);
  }, [search]);

  useEffect(() => {
    search(nothingFound);
    return () => {
      run.current += 1;
    };
  }, [search]);

  useEffect(() => {
    const end = follow<LibraryChange>({
      subscribe: (after, sink) => listen(id, after, sink),
      newest: () => null,
      apply(change) {
        if (change.__typename === 'LibraryEntryRemoved') {
          const gone = change.contentId;
          setFound((all) => ({ ...all, edges: all.edges.filter(({ node }) => node.id !== gone) }));
        } else {
          setOutdated(true);
        }
      },
      reread: async () => setOutdated(true),
      pause,
      now: () => performance.now(),
      told: setLive,
    });
    return () => {
      end();
      setLive('');
    };
  }, [listen, id]);

  return {
    found,
    state,
    error,
    outdated,
    live,
    goOn: () => void search(found),
    stop() {
      run.current += 1;
      setState('stopped');
    },
    again,
  };
}
