// The cache of what was read: one record for each user, group and item, so that a change shows
// wherever the item does, and one range of entries for each view of a library.
import type { ApolloCache, FieldPolicy, Reference } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { dropEntry, joinPage, placeEntry, type Edge, type EntryRange, type PageArguments } from './entries.ts';
import { NewestItemsCache } from './newest-items.ts';
import { EntryFragmentDoc, type EntryFragment, type LibraryChangedSubscription, type LibraryPageQueryVariables } from '../generated/operations.ts';

// LibraryChange is one event of libraryChanged.
export type LibraryChange = LibraryChangedSubscription['libraryChanged'];

// A view is one way to look at one library.
export type View = Pick<LibraryPageQueryVariables, 'id' | 'direction' | 'shared'>;

// HeldEdge is an edge as the cache keeps it: its item is a record of its own.
type HeldEdge = Edge & {
  __typename: 'LibraryEdge';
  node: Reference;
};

// HeldRange is the range of entries that the cache keeps for a view.
export interface HeldRange extends EntryRange<HeldEdge> {
  __typename: 'LibraryConnection';
  shared: boolean;
}

// Head is what is cached of a library of which no entries were requested.
interface Head {
  __typename: 'LibraryConnection';
  edges?: undefined;
}

// Incoming is a page before it is joined.
type Incoming = Pick<HeldRange, '__typename' | 'pageInfo'> & { edges: readonly Omit<HeldEdge, 'key' | 'time'>[] };

// createCache returns an empty cache with the policies for libraries and look-ups by id.
export function createCache() {
  const library = libraryPolicy((key) => cache.timeRead(key));
  const cache = new NewestItemsCache({
    possibleTypes: { Principal: ['User', 'Group'], Node: ['User', 'Group', 'Content'] },
    typePolicies: {
      Query: {
        fields: {
          principal: known((id) => (id.startsWith('g:') ? 'Group' : 'User')),
          group: known(() => 'Group'),
          content: known(() => 'Content'),
          principals: relayStylePagination(['tenant', 'prefix']),
        },
      },
      User: { fields: { library, groups: relayStylePagination() } },
      Group: { fields: { library, members: relayStylePagination() } },
      Content: { fields: { members: relayStylePagination() } },
    },
  });
  return cache;
}

// known resolves a look-up by id to the record that another query has read.
function known(typename: (id: string) => string): FieldPolicy<Reference> {
  return {
    read(existing, { args, toReference, canRead }) {
      const id: string | undefined = args?.id;
      if (existing !== undefined || !id) return existing;
      const reference = toReference({ __typename: typename(id), id });
      return canRead(reference) ? reference : undefined;
    },
  };
}

// libraryPolicy joins the pages of a library. timeRead returns the time of an item's last change in
// the page that is being written.
function libraryPolicy(timeRead: (key: string) => string | undefined): FieldPolicy<HeldRange | Head, Incoming | Head> {
  return {
    // The number of entries is read by itself, and must not replace the entries.
    keyArgs: (args) => (args?.first === 0 ? 'library:head' : ['orderBy', ['direction'], 'includeShared']),
    read(existing, { canRead, readField }) {
      if (!existing?.edges) return existing;
      // A deleted item is in no list any more.
      return { ...existing, edges: existing.edges.filter((edge) => canRead(readField('node', edge))) };
    },
    merge(existing, incoming, { args }) {
      if (!incoming.edges) return incoming;
      const edges = incoming.edges.map((edge) => ({ ...edge, key: edge.node.__ref, time: timeRead(edge.node.__ref) ?? '' }));
      const asked: PageArguments = { direction: args?.orderBy.direction, after: args?.after, before: args?.before };
      const joined = joinPage(existing?.edges && existing, { edges, pageInfo: incoming.pageInfo }, asked);
      return { __typename: incoming.__typename, shared: args?.includeShared, ...joined };
    },
  };
}

// heldRange returns the range that is kept for a view, or undefined.
export function heldRange(cache: ApolloCache, view: View): HeldRange | undefined {
  const found: HeldRange[] = [];
  eachRange(cache, view, (range) => {
    found.push(range);
    return range;
  });
  return found[0];
}

// Outcome is what applyChange has changed.
export interface Outcome {
  id: string;
  moved: boolean;
  shown: boolean;
  newest: boolean;
}

// applyChange applies one event of libraryChanged to a view. It returns the id of the item; in
// moved whether an entry was added or moved, which is false if the event contains nothing new; in
// shown whether the entry is in the range now; and in newest whether it is at the newest end of
// the library.
export function applyChange(cache: ApolloCache, view: View, change: LibraryChange): Outcome {
  if (change.__typename === 'LibraryEntryRemoved') {
    takeOut(cache, view, change.contentId);
    return { id: change.contentId, moved: false, shown: false, newest: false };
  }
  const { __typename, cursor, node } = change.edge;
  const key = keyOf(cache, node.id);
  const placed: HeldEdge = { __typename, cursor, node: { __ref: key }, key, time: node.lastModified };
  const outcome = { id: node.id, moved: false, shown: false, newest: false };
  // In one batch, so that nobody sees the present item at its former position.
  cache.batch({
    update() {
      writeItem(cache, node);
      eachRange(cache, view, (range) => {
        const next = placeEntry(range, placed);
        outcome.moved = next.pageInfo !== range.pageInfo;
        outcome.shown = next.edges.includes(placed);
        outcome.newest = next.edges.every(({ time }) => time <= placed.time);
        return next;
      });
    },
  });
  return outcome;
}

// takeOut drops an item from a view.
export function takeOut(cache: ApolloCache, view: View, id: string) {
  const key = keyOf(cache, id);
  eachRange(cache, view, (range) => dropEntry(range, key));
}

// forgetItem drops an item from everywhere.
export function forgetItem(cache: ApolloCache, id: string) {
  cache.evict({ id: keyOf(cache, id) });
  cache.gc();
}

// writeItem stores an item, unless the cache has a newer version of it (see NewestItemsCache).
function writeItem(cache: ApolloCache, node: EntryFragment) {
  cache.writeFragment({ id: keyOf(cache, node.id), fragment: EntryFragmentDoc, data: node });
}

// keepItems keeps items that a search has found, for pages that show one of them.
export function keepItems(cache: ApolloCache, edges: readonly { node: EntryFragment }[]) {
  cache.batch({ update: () => edges.forEach(({ node }) => writeItem(cache, node)) });
}

// keyOf returns the cache's key of an item's record.
function keyOf(cache: ApolloCache, id: string): string {
  return cache.identify({ __typename: 'Content', id }) ?? '';
}

// eachRange replaces each range of a view by the result of change. A view has at most one.
function eachRange(cache: ApolloCache, { id, direction, shared }: View, change: (range: HeldRange) => HeldRange) {
  cache.modify({
    id: cache.identify({ __typename: id.startsWith('g:') ? 'Group' : 'User', id }),
    fields: {
      library(range: HeldRange | Head | Reference) {
        return 'edges' in range && range.edges && range.direction === direction && range.shared === shared ? change(range) : range;
      },
    },
  });
}
