// The connection of one session to the gateway: operations over HTTP, changes over a websocket, the
// cache, and the libraries that were opened. Each session has its own, so that nothing that one
// viewer has read is shown to another.
import { ApolloClient, ApolloLink, Observable, type DocumentNode, type TypedDocumentNode } from '@apollo/client';
import { getMainDefinition, print } from '@apollo/client/utilities';
import { CarrelClient, LiveLibrary, NetworkError, RequestError, UnauthenticatedError, type GraphQLError,
  type RequestOptions, type SubscribeOptions, type TypedDocument } from 'carrel-client';
import { createClient as createSocket } from 'graphql-ws';
import { createCache, keepItems } from './cache.ts';
import { holdsPosition, type LibraryEdge, type View } from './entries.ts';
import { LibraryChangedDocument, LibraryPageDocument, PasteCreatedDocument, type LibraryChangedSubscription,
  type PasteCreatedSubscription } from '../generated/operations.ts';
import { answered } from './network.ts';
import { orderBy } from './order.ts';
import { plainNames } from './plain.ts';

// The close codes of a socket whose token is missing or no longer accepted.
const refusedToken = new Set<unknown>([4401, 4403]);

// pageSize is the number of entries that are read at once: about two screens on a desktop
// computer, and four on a phone.
export const pageSize = 30;

// mostHeld is the number of entries that a library keeps, so that a long list stays fast. Entries
// that were dropped are read again when the reader scrolls back.
const mostHeld = 300;

// longestQuery is how long a query waits for its answer, longestPong how long a socket waits for the answer to a ping, in
// milliseconds. A gateway may stop answering while its connections stay open.
const longestQuery = 30_000;
const longestPong = 5000;

interface Access {
  token(): string;
  renew(): Promise<string>;
  expired(): void;
}

// Connection is the connection of a session.
export interface Connection {
  client: ApolloClient;
  // library returns a view of a library that contains the position after a cursor, or its beginning.
  // Entries that were read before are in it.
  library(view: View, at: string | null): LiveLibrary<LibraryEdge>;
  // listen subscribes to a library's changes, listenPastes to new public pastes.
  listen(id: string, after: string | null, options: SubscribeOptions): AsyncIterable<LibraryChangedSubscription>;
  listenPastes(after: string | null, options: SubscribeOptions): AsyncIterable<PasteCreatedSubscription>;
  // pause waits before another attempt.
  pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
  // renewSocket opens another socket for the next subscriptions, because a socket keeps the token with which it was
  // opened. The last one closes after its last subscription.
  renewSocket(): void;
  close(): void;
}

// connect opens a connection. token() returns the bearer token, or '' for an anonymous viewer;
// renew() returns a promise of a fresh token, or of '' if there is none; and expired() is called
// when the gateway refuses the token permanently.
export function connect(access: Access): Connection {
  const gateway = new Gateway(access);
  const cache = createCache();
  const client = new ApolloClient({ cache, link: linkTo(gateway) });
  const typed = <Result, Variables>(document: TypedDocumentNode<Result, Variables>) => documentOf<Result,
    Variables>(cache.transformDocument(document));
  const documents = { page: typed(LibraryPageDocument), changes: typed(LibraryChangedDocument) };
  const pastes = typed(PasteCreatedDocument);
  const libraries = new Map<string, LiveLibrary<LibraryEdge>>();
  // Without the records of their items, the entries are of no use.
  client.onClearStore(async () => libraries.clear());
  return {
    client,
    library({ id, order, shared }, at) {
      const key = JSON.stringify([id, order, shared]);
      const held = libraries.get(key);
      if (held && holdsPosition(held.snapshot(), at)) return held;
      const library = new LiveLibrary<LibraryEdge>(gateway, {
        principalId: id,
        field: orderBy[order].field,
        order: orderBy[order].direction,
        includeShared: shared,
        after: at,
        pageSize,
        maxEntries: mostHeld,
        documents,
        onEntries: (edges) => keepItems(cache, edges),
      });
      libraries.set(key, library);
      return library;
    },
    listen: (id, after, options) => gateway.subscribe(documents.changes, { id, after }, options),
    listenPastes: (after, options) => gateway.subscribe(pastes, { after }, options),
    pause: (milliseconds, signal) => gateway.pause(milliseconds, signal),
    renewSocket: () => gateway.renewSocket(),
    close() {
      for (const library of libraries.values()) library.close();
      client.stop();
      gateway.close();
    },
  };
}

// Gateway sends operations over HTTP like CarrelClient, but subscribes over one websocket: a browser
// opens only six connections to a host over HTTP/1.1, and a stream of events holds one of them.
class Gateway extends CarrelClient {
  readonly #access: Access;
  #socket: ReturnType<typeof openSocket>;

  constructor(access: Access) {
    super({
      url: '/graphql',
      token: access.token,
      renewToken: access.renew,
      // The reader decides whether to try again.
      retries: 0,
      async fetch(address, options) {
        const answer = await fetch(address, options);
        answered();
        return answer;
      },
    });
    this.#access = access;
    this.#socket = openSocket(access.token);
  }

  override async execute<Result, Variables>(document: TypedDocument<Result, Variables>, variables: NoInfer<Variables>,
    options?: RequestOptions): Promise<Result> {
    try {
      const sent = (signal?: AbortSignal) => super.execute(document, variables, signal && { signal });
      return plainNames(await (document.kind === 'query' ? inTime(sent, options?.signal) : sent(options?.signal)));
    } catch (error) {
      if (error instanceof UnauthenticatedError && error.status === 401 && this.#access.token()) this.#access.expired();
      throw error;
    }
  }

  override async *subscribe<Result, Variables>(document: TypedDocument<Result, Variables>, variables: NoInfer<Variables>,
    { signal, onOpen }: SubscribeOptions = {}): AsyncGenerator<Result> {
    const socket = this.#socket;
    const forget = onOpen && socket.onceConnected(onOpen);
    const results = socket.client.iterate<Result>({ query: document.text, operationName: document.name,
      variables: variables as Record<string, unknown> });
    const abort = () => void results.throw?.(signal?.reason);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    try {
      for await (const { data, errors } of results) {
        if (!data) throw new RequestError(200, errorsOf(errors));
        yield plainNames(data);
      }
    } catch (error) {
      if (signal?.aborted || error instanceof RequestError) throw error;
      if (Array.isArray(error)) throw new RequestError(200, errorsOf(error));
      if (!refusedToken.has(closeCode(error)) || (await this.#access.renew())) throw new NetworkError('The socket was closed.',
        { cause: error });
      this.#access.expired();
      throw new UnauthenticatedError(401, []);
    } finally {
      forget?.();
      signal?.removeEventListener('abort', abort);
      void results.return?.();
    }
  }

  renewSocket() {
    this.#socket = openSocket(this.#access.token);
  }

  close() {
    this.#socket.client.dispose();
  }
}

// inTime calls send, and lets it fail like a lost connection if it takes longer than longestQuery. A mutation may have been
// done, so it is never cut off.
async function inTime<T>(send: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), longestQuery);
  try {
    return await send(AbortSignal.any([late.signal, ...(signal ? [signal] : [])]));
  } catch (error) {
    throw late.signal.aborted && !signal?.aborted ? new NetworkError('The server did not answer.', { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

// errorsOf returns the errors of a result of graphql-ws, which are as the gateway has sent them.
function errorsOf(errors: unknown): readonly GraphQLError[] {
  return (errors ?? []) as readonly GraphQLError[];
}

// closeCode returns the code that a socket was closed with, or undefined for another error.
function closeCode(fault: unknown): unknown {
  return (fault as { code?: unknown } | null)?.code;
}

// linkTo lets Apollo Client send its operations through a gateway. A signal in fetchOptions of the
// context aborts a request.
function linkTo(gateway: CarrelClient): ApolloLink {
  return new ApolloLink(
    (operation) =>
      new Observable((observer) => {
        const ending = new AbortController();
        const { signal } = (operation.getContext()['fetchOptions'] ?? {}) as { signal?: AbortSignal };
        const options = { signal: AbortSignal.any([ending.signal, ...(signal ? [signal] : [])]) };
        gateway
          .execute(documentOf<Record<string, unknown>, Record<string, unknown>>(operation.query), operation.variables, options)
          .then((data) => ({ data }), resultOf)
          .then((result) => {
            observer.next(result);
            observer.complete();
          })
          .catch((error: unknown) => observer.error(error));
        return () => ending.abort();
      }),
  );
}

// resultOf returns the result of an answer with GraphQL errors, and throws other errors.
function resultOf(error: unknown) {
  if (!(error instanceof RequestError) || error.errors.length === 0) throw error;
  return { data: error.data as Record<string, unknown> | null, errors: error.errors };
}

function documentOf<Result, Variables>(document: DocumentNode): TypedDocument<Result, Variables> {
  const definition = getMainDefinition(document);
  const kind = definition.kind === 'OperationDefinition' ? definition.operation : 'query';
  return { name: definition.name?.value ?? '', kind, text: print(document) };
}

// openSocket returns a socket that connects for the first subscription, and stays open for a few
// seconds after the last one has ended: the reader often opens another library next.
function openSocket(token: Access['token']) {
  let connected = false;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Set<() => void>();
  const client = createSocket({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: () => (token() ? { authorization: `Bearer ${token()}` } : {}),
    // Resuming a subscription requires the newest cursor, which the socket does not have: follow
    // resumes it.
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
        clearTimeout(silent);
      },
      ping(received) {
        if (!received) silent = setTimeout(() => client.terminate(), longestPong);
      },
      pong(received) {
        if (received) clearTimeout(silent);
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
