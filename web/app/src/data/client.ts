// The connection of one session to the gateway: operations over HTTP, changes over a websocket,
// and the cache. Each session has its own, so that nothing that one viewer has read is shown to
// another.
import { ApolloClient, HttpLink } from '@apollo/client';
import { print } from 'graphql';
import { createClient as createSocket } from 'graphql-ws';
import { createCache } from './cache.ts';
import type { LibraryChange } from './cache.ts';
import type { Sink } from './follow.ts';
import { LibraryChangedDocument, PasteCreatedDocument, type LibraryChangedSubscription, type PasteCreatedSubscription, type PasteSummaryFragment } from '../generated/operations.ts';
import { answered } from './network.ts';

// The close codes of a socket whose token is missing or no longer accepted.
const refusedToken = new Set<unknown>([4401, 4403]);

// unauthenticated is the error of a socket whose token was refused and cannot be renewed. It has
// the form of an operation's error, and is not retried.
const unauthenticated = [{ message: 'The token is not accepted.', extensions: { code: 'UNAUTHENTICATED' } }];

interface Access {
  token(): string;
  renew(): Promise<string>;
  expired(): void;
}

// Connection is the connection of a session.
export interface Connection {
  client: ApolloClient;
  // listen subscribes to a library's changes, listenPastes to new public pastes. Both return a
  // function that ends the subscription.
  listen(id: string, after: string | null, sink: Sink<LibraryChange>): () => void;
  listenPastes(after: string | null, sink: Sink<PasteSummaryFragment>): () => void;
  close(): void;
}

// connect opens a connection. token() returns the bearer token, or '' for an anonymous viewer;
// renew() returns a promise of a fresh token, or of '' if there is none; and expired() is called
// when the gateway refuses the token permanently.
export function connect({ token, renew, expired }: Access): Connection {
  const cache = createCache();
  const client = new ApolloClient({
    cache,
    link: new HttpLink({ uri: '/graphql', fetch: authorized({ token, renew, expired }) }),
  });
  const socket = openSocket(token);
  const changes = print(cache.transformDocument(LibraryChangedDocument));
  const pastes = print(cache.transformDocument(PasteCreatedDocument));

  // subscribe passes on the change in each result of an operation.
  const subscribe = <Result, Change>(query: string, variables: Record<string, unknown>, changeOf: (result: Result) => Change, sink: Sink<Change>) => {
    const forget = socket.onceConnected(sink.opened);
    const stop = socket.client.subscribe<Result>(
      { query, variables },
      {
        next: ({ data, errors }) => (data ? sink.next(changeOf(data)) : sink.error(errors)),
        async error(fault) {
          if (!refusedToken.has(closeCode(fault)) || (await renew())) {
            sink.error(fault);
            return;
          }
          expired();
          sink.error(unauthenticated);
        },
        complete: sink.complete,
      },
    );
    return () => {
      forget();
      stop();
    };
  };

  return {
    client,
    listen: (id, after, sink) => subscribe<LibraryChangedSubscription, LibraryChange>(changes, { id, after }, (result) => result.libraryChanged, sink),
    listenPastes: (after, sink) => subscribe<PasteCreatedSubscription, PasteSummaryFragment>(pastes, { after }, (result) => result.pasteCreated, sink),
    close() {
      client.stop();
      socket.client.dispose();
    },
  };
}

// closeCode returns the code that a socket was closed with, or undefined for another error.
function closeCode(fault: unknown): unknown {
  return (fault as { code?: unknown } | null)?.code;
}

// openSocket returns a socket that connects for the first subscription, and stays open for a few
// seconds after the last one has ended: the reader often opens another library next.
function openSocket(token: Access['token']) {
  let connected = false;
  const waiting = new Set<() => void>();
  const client = createSocket({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: () => (token() ? { authorization: `Bearer ${token()}` } : {}),
    // Resuming a subscription requires the newest cursor, which the socket does not have:
    // follow.ts resumes it.
    retryAttempts: 0,
    lazyCloseTimeout: 3000,
    keepAlive: 20_000,
    onNonLazyError: () => {},
    on: {
      connected() {
        connected = true;
        for (const notify of [...waiting]) notify();
      },
      closed() {
        connected = false;
      },
    },
  });
  return {
    client,
    // onceConnected calls notify once the socket is open. It returns a function
    // that cancels the call.
    onceConnected(notify: () => void): () => void {
      if (connected) {
        queueMicrotask(notify);
        return () => {};
      }
      const once = () => {
        waiting.delete(once);
        notify();
      };
      waiting.add(once);
      return () => waiting.delete(once);
    },
  };
}

// authorized is fetch with the session's token. After a 401 it requests a fresh token once.
// That is safe for mutations too, because a 401 is answered before anything is executed.
function authorized({ token, renew, expired }: Access): typeof fetch {
  const send = async (address: RequestInfo | URL, options: RequestInit | undefined, bearer: string) => {
    const headers = { ...options?.headers, ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) };
    const answer = await fetch(address, { ...options, headers });
    answered();
    return answer;
  };
  return async (address, options) => {
    const bearer = token();
    const answer = await send(address, options, bearer);
    if (answer.status !== 401 || !bearer) return answer;
    const fresh = await renew();
    if (fresh) {
      const again = await send(address, options, fresh);
      if (again.status !== 401) return again;
    }
    expired();
    return answer;
  };
}

// newKey returns an idempotency key of 128 random bits. crypto.randomUUID would
// require HTTPS.
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
