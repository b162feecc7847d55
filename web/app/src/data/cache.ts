// The cache of what was read: one record for each user, group and item, so that a change shows
// wherever the item does. The entries of libraries are kept by LiveLibrary.
import type { ApolloCache, FieldPolicy, Reference } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import { possibleTypes } from 'carrel-client';
import { NewestItemsCache } from './newest-items.ts';
import { EntryFragmentDoc, type EntryFragment } from '../generated/operations.ts';

// createCache returns an empty cache with the policies for connections and look-ups by id.
export function createCache() {
  return new NewestItemsCache({
    possibleTypes,
    typePolicies: {
      Query: {
        fields: {
          principal: known((id) => (id.startsWith('g:') ? 'Group' : 'User')),
          group: known(() => 'Group'),
          content: known(() => 'Content'),
          principals: relayStylePagination(['tenant', 'prefix']),
        },
      },
      User: { fields: { groups: relayStylePagination() } },
      Group: { fields: { members: relayStylePagination() } },
      // The first few members in a list are apart from the pages of members of an open item.
      Content: { fields: { members: relayStylePagination(['first']) } },
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

// keepItems stores items of a list, except those of which the cache has a newer version (see
// NewestItemsCache).
export function keepItems(cache: ApolloCache, edges: readonly { node: EntryFragment }[]) {
  cache.batch({
    update() {
      for (const { node } of edges) cache.writeFragment({ id: keyOf(cache, node.id), fragment: EntryFragmentDoc, data: node });
    },
  });
}

// forgetItem drops an item from everywhere.
export function forgetItem(cache: ApolloCache, id: string) {
  cache.evict({ id: keyOf(cache, id) });
  cache.gc();
}

// keyOf returns the cache's key of an item's record.
function keyOf(cache: ApolloCache, id: string): string {
  return cache.identify({ __typename: 'Content', id }) ?? '';
}
