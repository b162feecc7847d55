// urql/client.ts
import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type UpdateResolver } from '@urql/exchange-graphcache';
import { resume, type Request, type Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';

// A change makes the lists of a library outdated that the cache has. Those in view are read again.
const libraryChanged: UpdateResolver = (_, { principalId }, cache) => {
  const id = String(principalId);
  const principal = { __typename: id.startsWith('g:') ? 'Group' : 'User', id };
  for (const { fieldName, arguments: args } of cache.inspectFields(principal))
    if (fieldName === 'library') cache.invalidate(principal, fieldName, args);
};

// schema is the introspection of clients/schema.graphql, so that the cache knows which types
// implement an interface.
export function createUrqlClient(
  url: string,
  session: Session,
  transport: Transport,
  schema: object,
): Client {
  return new Client({
    url,
    preferGetMethod: false,
    fetch: authorizedFetch(session),
    exchanges: [
      cacheExchange({
        schema: schema as never,
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
