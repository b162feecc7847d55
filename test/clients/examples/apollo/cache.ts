// apollo/cache.ts
import { InMemoryCache, type FieldPolicy, type TypePolicy } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';

// One list for each order and filter. The number of entries, read with first: 0, is kept apart.
const keyArgs: FieldPolicy['keyArgs'] = (args) => {
  if (args?.['first'] === 0) return 'library:count';
  const { orderBy, includeShared = false, filter = null } = args ?? {};
  const { field = 'LAST_MODIFIED', direction = 'ASC' } = orderBy ?? {};
  return `library:${field}:${direction}:${includeShared}:${JSON.stringify(filter)}`;
};

function libraryPolicy(): FieldPolicy {
  const policy = relayStylePagination(keyArgs);
  return {
    ...policy,
    merge(existing, incoming, options) {
      if (typeof policy.merge !== 'function') return incoming;
      const merged = policy.merge(existing, incoming, options);
      if (!merged) return merged;
      // An item that moved while pages were read is in two of them. The entry nearer the newest
      // end is the later one.
      const newestLast = options.args?.['orderBy']?.direction !== 'DESC';
      const idOf = (edge: object) =>
        options.readField('id', options.readField('node', edge as never));
      const ids = merged.edges.map(idOf);
      const isKept = (index: number) =>
        (newestLast ? ids.lastIndexOf(ids[index]) : ids.indexOf(ids[index])) === index;
      return {
        ...merged,
        edges: merged.edges.filter((_: unknown, index: number) => isKept(index)),
      };
    },
  };
}

// Some types have no id, but a key, which is unique in its tenant. Always select it: without it, the
// object is a part of the one that contains it, and replaces what other queries have read there.
const keyed: TypePolicy = { keyFields: ({ key }) => (key ? ['key'] : false) };

// Objects without an id: the cache keeps the fields that other queries have read.
const merged: TypePolicy = { merge: true };

export function createCache(): InMemoryCache {
  return new InMemoryCache({
    possibleTypes: {
      Node: ['User', 'Group', 'Content', 'Suggestion', 'Paste', 'Lease'],
      Principal: ['User', 'Group'],
      LibraryChange: ['LibraryEntryPlaced', 'LibraryEntryRemoved'],
      KeyedObject: ['Content', 'Branch', 'Revision', 'Draft', 'Suggestion'],
    },
    typePolicies: {
      Subscription: { fields: { libraryChanged: { merge: false } } },
      Count: merged,
      Limits: merged,
      ParsedKey: merged,
      User: { fields: { library: libraryPolicy(), groups: relayStylePagination() } },
      Group: { fields: { library: libraryPolicy(), members: relayStylePagination() } },
      Content: { fields: { members: relayStylePagination() } },
      Branch: keyed,
      Revision: keyed,
      Draft: keyed,
    },
  });
}
