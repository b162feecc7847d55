// The cache of what was read: one record for each user, group and item, so that a change shows
// wherever the item does, and one stretch of entries for each library and view.
import { InMemoryCache, type ApolloCache, type FieldPolicy, type Reference } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { dropEntry, joinPage, placeEntry, settle, type Asked, type Edge, type Stretch } from './entries.ts';
import { ChangedFragmentDoc, EntryFragmentDoc, type EntryFragment, type LibraryChangedSubscription, type LibraryPageQueryVariables } from '../generated/operations.ts';

export type LibraryChange = LibraryChangedSubscription['libraryChanged'];

// A view is one way to look at one library.
export type View = Pick<LibraryPageQueryVariables, 'id' | 'direction' | 'shared'>;

// HeldEdge is an edge as the cache keeps it: its item is a record of its own.
type HeldEdge = Edge & {
  __typename: 'LibraryEdge';
  node: Reference;
};

export interface HeldStretch extends Stretch<HeldEdge> {
  __typename: 'LibraryConnection';
  shared: boolean;
}

// Head is what is cached of a library of which no entries were requested.
interface Head {
  __typename: 'LibraryConnection';
  edges?: undefined;
}

// Incoming is a page before it is joined.
type Incoming = Pick<HeldStretch, '__typename' | 'pageInfo'> & { edges: readonly Omit<HeldEdge, 'key'>[] };

export function createCache() {
  return new InMemoryCache({
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
      User: { fields: { library: libraryPolicy, groups: relayStylePagination() } },
      Group: { fields: { library: libraryPolicy, members: relayStylePagination() } },
      Content: { fields: { members: relayStylePagination() } },
    },
  });
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

const libraryPolicy: FieldPolicy<HeldStretch | Head, Incoming | Head> = {
  // The number of entries is read by itself, and must not replace the entries.
  keyArgs: (args) => (args?.first === 0 ? 'library:head' : ['orderBy', ['direction'], 'includeShared']),
  read(existing, { canRead, readField }) {
    if (!existing?.edges) return existing;
    // A deleted item is in no list any more.
    return { ...existing, edges: existing.edges.filter((edge) => canRead(readField('node', edge))) };
  },
  merge(existing, incoming, { args }) {
    if (!incoming.edges) return incoming;
    // The time of the items' changes cannot be read here: if the library's owner has created
    // one of them, its record is merged before theirs. settleView does it, once all are there.
    const edges = incoming.edges.map((edge) => ({ ...edge, key: edge.node.__ref }));
    const asked: Asked = { direction: args?.orderBy.direction, after: args?.after, before: args?.before };
    const joined = joinPage(existing?.edges && existing, { edges, pageInfo: incoming.pageInfo }, asked);
    return { __typename: incoming.__typename, shared: args?.includeShared, ...joined };
  },
};

// heldView is the stretch that is kept for a view, or undefined.
export function heldView(cache: ApolloCache, view: View): HeldStretch | undefined {
  const found: HeldStretch[] = [];
  eachStretch(cache, view, (stretch) => {
    found.push(stretch);
    return stretch;
  });
  return found[0];
}

// settleView records the positions of the entries of a view. It is called after every page that
// was read, before their items can change.
export function settleView(cache: ApolloCache, view: View) {
  const timeOf = (key: string) => cache.readFragment({ id: key, fragment: ChangedFragmentDoc })?.lastModified;
  eachStretch(cache, view, (stretch) => settle(stretch, timeOf));
}

export interface Outcome {
  id: string;
  moved: boolean;
  shown: boolean;
  newest: boolean;
}

// applyChange applies one event of libraryChanged to a view. It returns the id of the item;
// whether an entry was added or moved, which is false if the event contains nothing new;
// whether it is in the stretch now; and whether it is at the newest end of the library.
export function applyChange(cache: ApolloCache, view: View, change: LibraryChange): Outcome {
  if (change.__typename === 'LibraryEntryRemoved') {
    takeOut(cache, view, change.contentId);
    return { id: change.contentId, moved: false, shown: false, newest: false };
  }
  const { __typename, cursor, node } = change.edge;
  const key = keyOf(cache, node.id);
  const placed: HeldEdge & { time: string } = { __typename, cursor, node: { __ref: key }, key, time: node.lastModified };
  const outcome = { id: node.id, moved: false, shown: false, newest: false };
  // In one batch, so that nobody sees the present item at its former position.
  cache.batch({
    update() {
      settleView(cache, view);
      writeNewer(cache, node);
      eachStretch(cache, view, (stretch) => {
        const next = placeEntry(stretch, placed);
        outcome.moved = next.pageInfo !== stretch.pageInfo;
        outcome.shown = next.edges.includes(placed);
        outcome.newest = next.edges.every(({ time }) => time !== undefined && time <= placed.time);
        return next;
      });
    },
  });
  return outcome;
}

// takeOut drops an item from a view.
export function takeOut(cache: ApolloCache, view: View, id: string) {
  const key = keyOf(cache, id);
  eachStretch(cache, view, (stretch) => dropEntry(stretch, key));
}

// forgetItem drops an item from everywhere.
export function forgetItem(cache: ApolloCache, id: string) {
  cache.evict({ id: keyOf(cache, id) });
  cache.gc();
}

// writeNewer stores a record unless the cache has a newer version of it.
function writeNewer(cache: ApolloCache, node: EntryFragment) {
  const id = keyOf(cache, node.id);
  const held = cache.readFragment({ id, fragment: EntryFragmentDoc });
  if (held && held.version > node.version) return;
  cache.writeFragment({ id, fragment: EntryFragmentDoc, data: node });
}

// keepItems keeps items that a search has found, for pages that show one of them.
export function keepItems(cache: ApolloCache, edges: readonly { node: EntryFragment }[]) {
  cache.batch({ update: () => edges.forEach(({ node }) => writeNewer(cache, node)) });
}

// keyOf returns the cache's key of an item's record.
function keyOf(cache: ApolloCache, id: string): string {
  return cache.identify({ __typename: 'Content', id }) ?? '';
}

// eachStretch changes the stretches of a view: there is one at most.
function eachStretch(cache: ApolloCache, { id, direction, shared }: View, change: (stretch: HeldStretch) => HeldStretch) {
  cache.modify({
    id: cache.identify({ __typename: id.startsWith('g:') ? 'Group' : 'User', id }),
    fields: {
      library(stretch: HeldStretch | Head | Reference) {
        return 'edges' in stretch && stretch.edges && stretch.direction === direction && stretch.shared === shared ? change(stretch) : stretch;
      },
    },
  });
}
