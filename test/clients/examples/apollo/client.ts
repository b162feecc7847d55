// apollo/client.ts
import { ApolloClient, ApolloLink, HttpLink, Observable } from '@apollo/client';
import { print } from 'graphql';
import { resume, type Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';
import { createCache } from './cache.ts';

export function createApolloClient(
  url: string,
  session: Session,
  transport: Transport,
): ApolloClient {
  const http = new HttpLink({ uri: url, fetch: authorizedFetch(session) });
  const live = new ApolloLink(
    ({ query, variables }) =>
      new Observable((sink) =>
        resume(transport, session, { query: print(query), variables }, sink as never),
      ),
  );
  return new ApolloClient({
    cache: createCache(),
    link: ApolloLink.split(({ operationType }) => operationType === 'subscription', live, http),
  });
}
