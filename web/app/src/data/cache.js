// How what was read is kept: one record for each user, group and item, so that
// a change shows wherever the item does, and one stretch for each library and
// way to look at it.
import { InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { dropEntry, joinPage, placeEntry, settle } from './entries.js';
import { CHANGED, ENTRY } from './documents.js';

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

// known answers a look-up by id with the record that another query has read.
function known(typename) {
  return {
    read(existing, { args, toReference, canRead }) {
      if (existing !== undefined || !args?.id) return existing;
      const reference = toReference({ __typename: typename(args.id), id: args.id });
      return canRead(reference) ? reference : undefined;
    },
  };
}

const libraryPolicy = {
  // The number of entries is read by itself, and must not replace the entries.
  keyArgs: (args) => (args?.first === 0 ? 'library:head' : ['orderBy', ['direction'], 'includeShared']),
  read(existing, { canRead, readField }) {
    if (!existing?.edges) return existing;
    // What was deleted is in no list any more.
    return { ...existing, edges: existing.edges.filter((edge) => canRead(readField('node', edge))) };
  },
  merge(existing, incoming, { args }) {
    if (!incoming.edges) return incoming;
    // When the items were changed cannot be read here: where the library's owner
    // has made one of them, its record is merged before theirs. settleView does
    // it, once all are there.
    const edges = incoming.edges.map((edge) => ({ ...edge, key: edge.node.__ref }));
    const asked = { direction: args.orderBy.direction, after: args.after, before: args.before };
    const joined = joinPage(existing, { edges, pageInfo: incoming.pageInfo }, asked);
    return { __typename: incoming.__typename, shared: args.includeShared, ...joined };
  },
};

// A view is one way to look at one library: { id, direction, shared }.

// heldView is the stretch that is kept for a view, or undefined.
export function heldView(cache, view) {
  let found;
  eachStretch(cache, view, (stretch) => {
    found = stretch;
    return stretch;
  });
  return found;
}

// settleView writes down where the entries of a view stand. It is called after
// every page that was read, before their items can change.
export function settleView(cache, view) {
  const timeOf = (key) => cache.readFragment({ id: key, fragment: CHANGED })?.lastModified;
  eachStretch(cache, view, (stretch) => settle(stretch, timeOf));
}

// applyChange takes one event of libraryChanged into a view. It answers with
// the id of the item concerned; whether an entry has come or moved, which it has
// not where the event tells what is known already; whether it stands in the
// stretch now; and whether at the newest end of the library.
export function applyChange(cache, view, change) {
  if (change.__typename === 'LibraryEntryRemoved') {
    takeOut(cache, view, change.contentId);
    return { id: change.contentId, moved: false, shown: false, newest: false };
  }
  const { __typename, cursor, node } = change.edge;
  const key = cache.identify(node);
  const placed = { __typename, cursor, node: { __ref: key }, key, time: node.lastModified };
  const outcome = { id: node.id, moved: false, shown: false, newest: false };
  // Nobody is shown the item as it is now where it was before.
  cache.batch({
    update() {
      settleView(cache, view);
      writeNewer(cache, node);
      eachStretch(cache, view, (stretch) => {
        const next = placeEntry(stretch, placed);
        outcome.moved = next.pageInfo !== stretch.pageInfo;
        outcome.shown = next.edges.includes(placed);
        outcome.newest = next.edges.every(({ time }) => time <= placed.time);
        return next;
      });
    },
  });
  return outcome;
}

// takeOut drops an item from a view.
export function takeOut(cache, view, id) {
  const key = cache.identify({ __typename: 'Content', id });
  eachStretch(cache, view, (stretch) => dropEntry(stretch, key));
}

// forgetItem drops an item from everywhere.
export function forgetItem(cache, id) {
  cache.evict({ id: cache.identify({ __typename: 'Content', id }) });
  cache.gc();
}

// writeNewer keeps a record unless a newer one was read in the meantime.
function writeNewer(cache, node) {
  const id = cache.identify(node);
  const held = cache.readFragment({ id, fragment: ENTRY });
  if (held && held.version > node.version) return;
  cache.writeFragment({ id, fragment: ENTRY, data: node });
}

// eachStretch changes the stretches of a view: there is one at most.
function eachStretch(cache, { id, direction, shared }, change) {
  cache.modify({
    id: cache.identify({ __typename: id.startsWith('g:') ? 'Group' : 'User', id }),
    fields: {
      library(stretch) {
        const ours = stretch?.edges && stretch.direction === direction && stretch.shared === shared;
        return ours ? change(stretch) : stretch;
      },
    },
  });
}
