// One view of a library: its entries, reading more of them at either end, and following changes.
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type RefObject } from 'react';
import type { ApolloClient, DocumentNode } from '@apollo/client';
import { useApolloClient, useFragment } from '@apollo/client/react';
import type { FollowStatus, LibrarySnapshot, LiveLibrary } from 'carrel-client';
import { keepItems } from '../data/cache.ts';
import { outcomeOf, type LibraryEdge, type Listed, type Outcome, type View } from '../data/entries.ts';
import { EntriesDocument, EntryFragmentDoc, ItemDocument, LibraryHeadDocument, type EntryFragment } from '../generated/operations.ts';
import { useReadAgain } from '../ui/read-again.ts';
import { useConnection } from '../ui/session.tsx';
import { inView } from './use-scroll.ts';

// Live is the state of the connection for changes, '' until there is one.
export type Live = FollowStatus | '';

export type Side = 'next' | 'previous';
export type EndState = 'idle' | 'loading' | 'failed' | 'done';
export type Ends = Record<Side, EndState>;

// useLibrary reads a view from the position after a cursor, or from its beginning, and follows it.
// Entries that were read before are shown at once if they include that position.
export function useLibrary(view: View, at: string | null) {
  const connection = useConnection();
  const [library] = useState(() => connection.library(view, at));
  useEffect(() => {
    library.position = at;
  }, [library, at]);
  // A new token of the same viewer is another connection: subscribe again.
  const subscribe = useCallback((notify: () => void) => library.subscribe(notify), [library, connection]);
  const snapshot = useSyncExternalStore(subscribe, library.snapshot);
  const listed = useListed(snapshot);
  return { library, snapshot, listed: snapshot.isLoaded ? listed : undefined, ...useEnds(library, snapshot) };
}

// useListed returns the entries with the newest state of each item, which may be newer than its
// position. A deleted item is in no list any more.
export function useListed({ entries, hasPrevious, hasNext }: Listed): Listed {
  const from = useMemo(() => entries.map(({ node: { __typename, id } }) => ({ __typename, id })), [entries]);
  const { data } = useFragment({ fragment: EntryFragmentDoc, from });
  return useMemo(() => {
    const shown = entries.flatMap((entry, index) => {
      const node = data[index];
      return isWhole(node) ? [{ ...entry, node }] : [];
    });
    return { entries: shown, hasPrevious, hasNext };
  }, [entries, data, hasPrevious, hasNext]);
}

// mostIds is the most ids that the gateway takes at once (limits.maxIds).
const mostIds = 100;

// useRowsReadAgain reads the entries in view again, because a change of an item's members is no event. The list stays as it is
// if they cannot be read. The answer is in no other record of the cache than those of the items.
export function useRowsReadAgain(list: RefObject<HTMLElement | null>) {
  const client = useApolloClient();
  useReadAgain(async () => {
    const ids = inView(list.current).slice(0, mostIds).map(({ id }) => id);
    if (ids.length === 0) return;
    const { data } = await client.query({ query: EntriesDocument, variables: { ids }, fetchPolicy: 'no-cache' });
    keepItems(client.cache, (data?.nodes ?? []).flatMap((node) => (node?.__typename === 'Content' ? [{ node }] : [])));
  });
}

// isWhole reports whether the cache has an item with all fields of an entry.
function isWhole(node: object | null | undefined): node is EntryFragment {
  return node != null && 'lastModified' in node;
}

// useEnds extends a library: extend('next') and extend('previous'). ends.next and ends.previous
// are 'idle', 'loading', 'failed' or, if there is no more, 'done'.
function useEnds(library: LiveLibrary<LibraryEdge>, { hasNext, hasPrevious }: LibrarySnapshot<LibraryEdge>): { extend: (side: Side) =>
  Promise<void>; ends: Ends } {
  const [going, setGoing] = useState<Ends>({ next: 'idle', previous: 'idle' });
  const busy = useRef({ next: false, previous: false });
  const extend = useCallback(
    async (side: Side) => {
      if (busy.current[side]) return;
      busy.current[side] = true;
      setGoing((all) => ({ ...all, [side]: 'loading' }));
      let state: EndState = 'idle';
      try {
        await (side === 'next' ? library.loadNext() : library.loadPrevious());
      } catch {
        state = 'failed';
      }
      busy.current[side] = false;
      setGoing((all) => ({ ...all, [side]: state }));
    },
    [library],
  );
  return { extend, ends: { next: hasNext ? going.next : 'done', previous: hasPrevious ? going.previous : 'done' } };
}

// recountDelay is how long after the last change the entries are counted again, in milliseconds.
const recountDelay = 300;

interface Changes {
  onLive: (state: Live) => void;
  onChange: (outcome: Outcome) => void;
}

// useChanges calls onLive with the state of a library's connection, and onChange with every change.
export function useChanges(library: LiveLibrary<LibraryEdge>, snapshot: LibrarySnapshot<LibraryEdge>, { onLive, onChange }: Changes) {
  const client = useApolloClient();
  const [counter] = useState(() => countAfterChanges(client));
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => counter.stop, [counter]);
  useEffect(
    () =>
      library.onChange((change, before) => {
        counter.changed();
        latest.current(outcomeOf(change, before.entries, library.snapshot().entries));
      }),
    [library, counter],
  );

  // What was missed during an interruption is no event, and neither is the first entry of an empty
  // library that was read again.
  const { status } = snapshot;
  const isEmpty = snapshot.isLoaded && snapshot.entries.length === 0;
  const before = useRef({ status, isEmpty });
  useEffect(() => {
    const was = before.current;
    before.current = { status, isEmpty };
    if (status === 'failed' || (was.status === 'reconnecting' && status === 'live') || (was.isEmpty && !isEmpty)) counter.changed();
  }, [status, isEmpty, counter]);
  useEffect(() => {
    onLive(status === 'loading' || status === 'closed' ? '' : status);
    return () => onLive('');
  }, [status, onLive]);
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
