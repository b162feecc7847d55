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

// relayStylePagination would give the outermost entries the cursors of pageInfo, which are those of
// entries that have left: a library has a merge of its own.
const library: FieldPolicy = {
  keyArgs,
  merge(existing, incoming, { args, readField }) {
    const isNext = Boolean(args?.['after']);
    if (!existing || (!isNext && !args?.['before']))
      return {
        ...existing,
        ...incoming,
        pageInfo: { ...existing?.pageInfo, ...incoming.pageInfo },
      };
    const edges = isNext
      ? [...existing.edges, ...incoming.edges]
      : [...incoming.edges, ...existing.edges];
    // An item that moved while pages were read is in two of them. The entry nearer the newest end
    // is the later one.
    const newestLast = args?.['orderBy']?.direction !== 'DESC';
    const ids = edges.map((edge) => readField('id', readField('node', edge)));
    const isKept = (index: number) =>
      (newestLast ? ids.lastIndexOf(ids[index]) : ids.indexOf(ids[index])) === index;
    const { hasNextPage, endCursor, hasPreviousPage, startCursor } = incoming.pageInfo;
    const end = isNext ? { hasNextPage, endCursor } : { hasPreviousPage, startCursor };
    return {
      ...incoming,
      edges: edges.filter((_, index) => isKept(index)),
      pageInfo: { ...existing.pageInfo, ...end },
    };
  },
};

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
      User: { fields: { library, groups: relayStylePagination() } },
      Group: { fields: { library, members: relayStylePagination() } },
      Content: { fields: { members: relayStylePagination() } },
      Branch: keyed,
      Revision: keyed,
      Draft: keyed,
    },
  });
}
