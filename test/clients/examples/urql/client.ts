// urql/client.ts
import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import {
  cacheExchange,
  type Cache,
  type DataFields,
  type UpdateResolver,
  type Variables,
} from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { placeFor, type Order } from '../order.ts';
import { resume, type Request, type Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';

// A page of a library in the cache: each request has its own connection, and relayPagination joins
// them.
interface Page {
  key: string;
  args: Variables | null;
  edges: string[];
}

// pagesOf returns the pages of a library in one order by time, without those of a filter.
function pagesOf(cache: Cache, principal: DataFields, order: Order): Page[] {
  const earlier: Page[] = [];
  const others: Page[] = [];
  for (const { fieldName, arguments: args } of cache.inspectFields(principal as never)) {
    const { field, direction } = orderOf(args);
    if (fieldName !== 'library' || field === 'TITLE' || direction !== order || args?.['filter'])
      continue;
    const key = cache.resolve(principal as never, 'library', args) as string | null;
    const edges = key && (cache.resolve(key, 'edges') as string[] | undefined);
    if (!edges) continue;
    const page = { key, args, edges };
    if (args?.['before']) earlier.unshift(page);
    else others.push(page);
  }
  return [...earlier, ...others];
}

function orderOf(args: Variables | null): { field: string; direction: string } {
  return (args?.['orderBy'] as never) ?? { field: 'LAST_MODIFIED', direction: 'ASC' };
}

// applyChange moves an entry in the pages of one order.
function applyChange(
  cache: Cache,
  principal: DataFields,
  change: DataFields,
  order: Order,
): void {
  const edge = change['edge'] as
    (DataFields & { node: { id: string; lastModified: string } }) | undefined;
  const id = edge?.node.id ?? (change['contentId'] as string);
  const read = (key: string, ...path: string[]) =>
    path.reduce<unknown>((at, name) => cache.resolve(at as string, name), key);
  const pages = pagesOf(cache, principal, order);
  const [first, last] = [pages[0], pages.at(-1)];
  if (!first || !last) return;

  const isIt = (key: string) => read(key, 'node', 'id') === id;
  const keys = pages.flatMap(({ edges }) => edges);
  const heldAt = keys.findIndex(isIt);
  const others = keys
    .filter((key) => !isIt(key))
    .map((key) => ({
      id: read(key, 'node', 'id') as string,
      lastModified: read(key, 'node', 'lastModified') as string,
    }));
  const more = {
    hasPreviousPage: Boolean(read(first.key, 'pageInfo', 'hasPreviousPage')),
    hasNextPage: Boolean(read(last.key, 'pageInfo', 'hasNextPage')),
  };
  const { index, beyond } = edge
    ? placeFor(others, edge.node, order, more)
    : { index: -1, beyond: null };
  const hasMoved = index !== heldAt;
  // If it is beyond the loaded part, the next load at that end returns it.
  const isBeyond = hasMoved && (beyond === 'newest' || (beyond === 'oldest' && heldAt < 0));
  let at = isBeyond ? -1 : index;
  let isEmptied = false;
  for (const page of pages) {
    const rest = page.edges.filter((key) => !isIt(key));
    const isHere = hasMoved ? at <= rest.length || page === last : page.edges.some(isIt);
    const edges =
      edge && at >= 0 && isHere ? [...rest.slice(0, at), edge, ...rest.slice(at)] : rest;
    cache.link(page.key, 'edges', edges as never);
    at = isHere ? -1 : at - rest.length;
    const isFirst = !page.args?.['after'] && !page.args?.['before'];
    isEmptied ||= !isFirst && edges.length === 0 && page.edges.length > 0;
  }
  // Read the list again if a page is empty, because relayPagination skips it and where the list
  // continues, and if the last entry may have moved: the next load would return it once more.
  if (isEmptied || (beyond === 'newest' && !hasMoved))
    for (const { args } of pages) cache.invalidate(principal as never, 'library', args);
}

const libraryChanged: UpdateResolver = (result, { principalId }, cache) => {
  const id = String(principalId);
  const principal = { __typename: id.startsWith('g:') ? 'Group' : 'User', id };
  for (const order of ['ASC', 'DESC'] as const)
    applyChange(cache, principal, result['libraryChanged'] as DataFields, order);
  // Lists by title are read again.
  for (const { fieldName, arguments: args } of cache.inspectFields(principal))
    if (fieldName === 'library' && orderOf(args).field === 'TITLE')
      cache.invalidate(principal, fieldName, args);
};

// schema is the introspection of clients/schema.graphql, so that the cache knows which types
// implement an interface.
export function createUrqlClient(
  url: string,
  session: Session,
  transport: Transport,
  schema: object,
): Client {
  const library = relayPagination({ mergeMode: 'outwards' });
  return new Client({
    url,
    preferGetMethod: false,
    fetch: authorizedFetch(session),
    exchanges: [
      cacheExchange({
        schema: schema as never,
        resolvers: { User: { library }, Group: { library } },
        updates: { Subscription: { libraryChanged } },
        keys: {
          LibraryEdge: ({ cursor }) => cursor as string, // different for each edge
          Branch: ({ key }) => key as string,
          Revision: ({ key }) => key as string,
          Draft: ({ key }) => key as string,
          ParsedKey: () => null,
          Count: () => null,
          Limits: () => null,
          LibraryConnection: () => null,
          PageInfo: () => null,
          UserError: () => null,
        },
      }),
      subscriptionExchange({
        forwardSubscription: (request) => ({
          subscribe: (sink) => ({
            unsubscribe: resume(transport, session, request as Request, sink as never),
          }),
        }),
      }),
      fetchExchange,
    ],
  });
}
