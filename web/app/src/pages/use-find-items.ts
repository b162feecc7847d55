// Finds items by words in all libraries that the viewer reads as its own: the viewer's, and those of
// its groups, also of those that it belongs to through another group.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ApolloClient } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import { keepItems } from '../data/cache.ts';
import type { LibraryEdge } from '../data/entries.ts';
import { addFound, type FoundItem, type Library } from '../data/find-items.ts';
import { nothingFound, searchOn, type Found } from '../data/search.ts';
import { FindPrincipalsDocument, LibraryPageDocument, MyGroupsDocument } from '../generated/operations.ts';

// perLibrary is how many items of each library are shown: its page has the others.
const perLibrary = 10;

// atOnce is how many libraries are searched before the reader is asked whether to go on. A search of
// one costs at least 200 of the 30,000 points that a viewer has for a minute.
const atOnce = 20;

// The API has no list of the groups that a viewer belongs to through another group: they are looked
// for among this many pages of its organisation's people and groups, of 100 each.
const directoryPages = 5;

// Libraries are those that a search reads. isPartial: there may be more.
interface Libraries {
  all: readonly Library[];
  isPartial: boolean;
}

interface State {
  found: readonly FoundItem[];
  // Libraries that have more items than those found.
  longer: readonly Library[];
  searched: number;
  // The libraries that were not searched yet, null while they are not known.
  left: readonly Library[] | null;
  isPartial: boolean;
  busy: boolean;
  error: unknown;
}

const begun: State = { found: [], longer: [], searched: 0, left: null, isPartial: false, busy: true, error: null };

async function groupsAfter(client: ApolloClient, after: string | null) {
  const { data } = await client.query({ query: MyGroupsDocument, variables: { after }, fetchPolicy: 'no-cache' });
  return data?.viewer?.groups;
}

// useLibraries returns a function that reads the viewer's libraries, its own first. They are kept as
// long as the page is open.
export function useLibraries(viewerId: string): () => Promise<Libraries> {
  const client = useApolloClient();
  return useMemo(() => {
    let kept: Promise<Libraries> | null = null;
    return () => {
      kept ??= librariesOf(client, viewerId).catch((error: unknown) => {
        kept = null;
        throw error;
      });
      return kept;
    };
  }, [client, viewerId]);
}

async function librariesOf(client: ApolloClient, viewerId: string): Promise<Libraries> {
  const all = new Map<string, Library>([[viewerId, { id: viewerId, name: 'My library' }]]);
  const add = ({ id, displayName }: { id: string; displayName: string }) => void (all.has(id) || all.set(id, { id, name: displayName }));
  let after: string | null = null;
  do {
    const groups = await groupsAfter(client, after);
    groups?.edges.forEach(({ node }) => add(node));
    after = groups?.pageInfo.hasNextPage ? groups.pageInfo.endCursor : null;
  } while (after && all.size < 1000);
  // Without a group of its own, the viewer is in no other one.
  if (all.size === 1) return { all: [...all.values()], isPartial: false };
  const tenant = viewerId.split(':')[1] ?? '';
  after = null;
  for (let pages = 0; pages === 0 || (after && pages < directoryPages); pages += 1) {
    const found = await principalsAfter(client, tenant, after);
    found?.edges.forEach(({ node }) => node.__typename === 'Group' && node.viewerRole && add(node));
    after = found?.pageInfo.hasNextPage ? found.pageInfo.endCursor : null;
  }
  return { all: [...all.values()], isPartial: after !== null };
}

async function principalsAfter(client: ApolloClient, tenant: string, after: string | null) {
  const { data } = await client.query({ query: FindPrincipalsDocument, variables: { tenant, prefix: '', first: 100, after },
    fetchPolicy: 'no-cache' });
  return data?.principals;
}

// useFindItems searches for a text, which must not change: each text has its own component (a React
// key). goOn() searches the libraries that are left.
export function useFindItems(libraries: () => Promise<Libraries>, text: string): State & { goOn: () => void } {
  const client = useApolloClient();
  const [state, setState] = useState(begun);
  const now = useRef(begun);
  const run = useRef(0);
  const show = useCallback((change: Partial<State>) => {
    now.current = { ...now.current, ...change };
    setState(now.current);
  }, []);

  const searchOne = useCallback(
    async (library: Library, stopped: () => boolean) => {
      let found: Found<LibraryEdge> = nothingFound;
      await searchOn<LibraryEdge>({
        from: nothingFound,
        wanted: perLibrary,
        pageSize: perLibrary,
        stopped,
        async read(after, first) {
          const variables = { id: library.id, orderBy: { field: 'LAST_MODIFIED', direction: 'DESC' }, includeShared: false,
            filter: { text }, after, first } as const;
          const { data } = await client.query({ query: LibraryPageDocument, variables, fetchPolicy: 'no-cache' });
          // The viewer may have left the group meanwhile.
          const page = data?.principal?.library ?? { edges: [], pageInfo: { hasNextPage: false, endCursor: null } };
          keepItems(client.cache, page.edges);
          return page;
        },
        isGone: () => false,
        onFound: (next) => (found = next),
      });
      return found;
    },
    [client, text],
  );

  const goOn = useCallback(async () => {
    const mine = ++run.current;
    const stopped = () => mine !== run.current;
    show({ busy: true, error: null });
    try {
      if (now.current.left === null) {
        const { all, isPartial } = await libraries();
        if (stopped()) return;
        show({ left: all, isPartial });
      }
      const left = [...(now.current.left ?? [])];
      for (let count = 0; count < atOnce && left.length > 0; count += 1) {
        const [library] = left;
        if (!library || stopped()) return;
        const { edges, more } = await searchOne(library, stopped);
        if (stopped()) return;
        left.shift();
        const { found, longer, searched } = now.current;
        show({ found: addFound(found, library, edges.map(({ node }) => node)), longer: more ? [...longer, library]
          : longer, searched: searched + 1, left: [...left] });
      }
      show({ busy: false });
    } catch (error) {
      if (!stopped()) show({ busy: false, error });
    }
  }, [libraries, searchOne, show]);

  useEffect(() => {
    void goOn();
    return () => {
      run.current += 1;
    };
  }, [goOn]);
  return { ...state, goOn: () => void goOn() };
}
