// One view of a library: reading a range of its entries, extending the range at either end, and
// following changes.
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ApolloClient, DocumentNode } from '@apollo/client';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { applyChange, heldRange, type LibraryChange, type Outcome, type View } from '../data/cache.ts';
import { ItemDocument, LibraryHeadDocument, LibraryPageDocument, type LibraryPageQuery } from '../generated/operations.ts';
import { holdsPosition } from '../data/entries.ts';
import { explain } from '../data/faults.ts';
import { follow, type LiveState } from '../data/follow.ts';
import { keepUp, type Keeping } from '../data/keep-up.ts';
import { pause } from '../data/network.ts';
import { useConnection } from '../ui/session.tsx';

// pageSize is the number of entries that are read at once: about two screens on a desktop
// computer, and four on a phone.
const pageSize = 30;

// LibraryEdges are the entries of a library that are shown.
export type LibraryEdges = NonNullable<LibraryPageQuery['principal']>['library'];

export type Side = 'next' | 'previous';
export type EndState = 'idle' | 'loading' | 'failed' | 'done';
export type Ends = Record<Side, EndState>;
export type Reread = (from?: 'here' | 'start' | 'end') => Promise<void>;

// useEntries reads a view from the position after a cursor, or from its beginning. Entries that
// were read before are shown at once if they include that position.
export function useEntries(view: View, at: string | null) {
  const client = useApolloClient();
  const [begin] = useState(() => ({ after: at ?? undefined, held: holdsPosition(heldRange(client.cache, view), at) }));
  const [keeping] = useState(keepUp<LibraryChange>);
  const [lostPosition, setLostPosition] = useState(false);
  const variables = { ...view, first: pageSize, after: lostPosition ? undefined : begin.after };
  const { data, error, refetch } = useQuery(LibraryPageDocument, {
    variables,
    fetchPolicy: begin.held ? 'cache-first' : 'network-only',
    nextFetchPolicy: 'cache-first',
  });
  const hasBadCursor = error && explain(error).kind === 'cursor' && !lostPosition;
  useEffect(() => {
    if (hasBadCursor) setLostPosition(true);
  }, [hasBadCursor]);

  // reread reads one page again and replaces all entries: the page at the reader's position
  // ("here"), or the one at the start or the end of the library. If that fails the range is
  // unchanged, and the caller gets the error.
  const { id, direction, shared } = view;
  const here = useRef(at);
  here.current = at;
  const reread: Reread = useCallback(
    (from = 'here') => {
      const read = (page: { first?: number; last?: number; after?: string | undefined }) => client.query({ query: LibraryPageDocument, variables: { id, direction, shared, ...page }, fetchPolicy: 'network-only' });
      return keeping.during(async () => {
        if (from === 'end') return read({ last: pageSize });
        try {
          return await read({ first: pageSize, after: (from === 'here' && here.current) || undefined });
        } catch (error) {
          if (explain(error).kind !== 'cursor') throw error;
          return read({ first: pageSize });
        }
      });
    },
    [client, keeping, id, direction, shared],
  );

  const library = data?.principal?.library;
  const ends = useEnds({ view, library, reread });
  return { library, error: hasBadCursor ? null : error, lostPosition, retry: () => refetch(), reread, keeping, ...ends };
}

// useEnds extends a range: extend('next') and extend('previous'). ends.next and ends.previous
// are 'idle', 'loading', 'failed' or, if there is no more, 'done'.
function useEnds({ view, library, reread }: { view: View; library: LibraryEdges | undefined; reread: Reread }): { extend: (side: Side) => Promise<void>; ends: Ends } {
  const client = useApolloClient();
  const [going, setGoing] = useState<Ends>({ next: 'idle', previous: 'idle' });
  const busy = useRef({ next: false, previous: false });
  const { id, direction, shared } = view;

  const extend = useCallback(
    async (side: Side) => {
      const ours = { id, direction, shared };
      if (busy.current[side]) return;
      busy.current[side] = true;
      setGoing((all) => ({ ...all, [side]: 'loading' }));
      const rereadAtBadCursor = (error: unknown) => {
        if (explain(error).kind !== 'cursor') throw error;
        return reread();
      };
      let state: EndState = 'idle';
      try {
        await readOn(client, ours, side).catch(rereadAtBadCursor);
      } catch {
        state = 'failed';
      }
      busy.current[side] = false;
      setGoing((all) => ({ ...all, [side]: state }));
    },
    [client, id, direction, shared, reread],
  );

  const ends = {
    next: library?.pageInfo.hasNextPage ? going.next : 'done',
    previous: library?.pageInfo.hasPreviousPage ? going.previous : 'done',
  };
  return { extend, ends };
}

// readOn reads the page beyond an end of a range and joins it, unless a change
// has moved that end meanwhile.
async function readOn(client: ApolloClient, view: View, side: Side) {
  const endOf = (): { first?: number; after?: string | null; last?: number; before?: string | null } => {
    const pageInfo = heldRange(client.cache, view)?.pageInfo;
    return side === 'next' ? { first: pageSize, after: pageInfo?.endCursor ?? null } : { last: pageSize, before: pageInfo?.startCursor ?? null };
  };
  const asked = endOf();
  const variables = { ...view, ...asked };
  const { data } = await client.query({ query: LibraryPageDocument, variables, fetchPolicy: 'no-cache' });
  const now = endOf();
  if (data?.principal && now.after === asked.after && now.before === asked.before) {
    client.cache.writeQuery({ query: LibraryPageDocument, variables, data });
  }
}

// recountDelay is how long after the last change the entries are counted again, in milliseconds.
const recountDelay = 300;

interface Changes {
  view: View;
  ready: boolean;
  reread: Reread;
  keeping: Keeping<LibraryChange>;
  onLive: (state: LiveState | '') => void;
  onChange: (outcome: Outcome) => void;
}

// useChanges follows a library while it is shown. It calls onLive with the state of the
// connection, which is '' until there is one, and onChange with every change.
export function useChanges({ view, ready, reread, keeping, onLive, onChange }: Changes) {
  const client = useApolloClient();
  const { listen } = useConnection();
  const latest = useRef(onChange);
  latest.current = onChange;
  const { id, direction, shared } = view;

  useEffect(() => {
    if (!ready) return undefined;
    const ours = { id, direction, shared };
    const counter = countAfterChanges(client);
    keeping.apply = (change, again) => {
      const outcome = applyChange(client.cache, ours, change);
      if (!again) {
        counter.changed();
        latest.current(outcome);
      }
      // An item that leaves the bucket because it became private may still be
      // shared with the viewer; only the gateway knows.
      return shared && change.__typename === 'LibraryEntryRemoved';
    };
    const end = follow<LibraryChange>({
      subscribe: (after, sink) => listen(id, after, sink),
      newest: () => heldRange(client.cache, ours)?.newest ?? null,
      apply(change) {
        if (keeping.receive(change)) reread().catch(() => {});
      },
      reread() {
        // What the reader may see of the library may have changed.
        counter.changed();
        return reread();
      },
      pause,
      now: () => performance.now(),
      onState(state) {
        onLive(state);
        if (state === 'off') counter.changed();
      },
    });
    return () => {
      end();
      keeping.apply = () => false;
      counter.stop();
      onLive('');
    };
  }, [client, listen, id, direction, shared, ready, reread, keeping, onLive]);
}

// countAfterChanges reads the number of entries and the open item again, once
// after several changes in quick succession.
function countAfterChanges(client: ApolloClient) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    changed() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        client.refetchQueries({ include: [LibraryHeadDocument, ItemDocument].map(operationName) }).catch(() => {});
      }, recountDelay);
    },
    stop: () => clearTimeout(timer),
  };
}

function operationName(document: DocumentNode): string {
  return document.definitions.find((definition) => 'operation' in definition)?.name?.value ?? '';
}
