// resume.ts
// Subscriptions that continue after a lost connection.
import { createClient as createEventClient } from 'graphql-sse';
import { createClient as createSocketClient } from 'graphql-ws';
import { failureOf, outdated, pauseAfter, temporary } from './retry.ts';
import { authorizedFetch, type Session } from './session.ts';

export interface Request {
  query: string;
  variables: Record<string, unknown>;
}

export interface Result {
  data?: Record<string, unknown> | null | undefined;
  errors?: readonly { message: string; extensions?: Record<string, unknown> }[] | undefined;
}

export interface Sink {
  next(result: Result): void;
  error(error: unknown): void;
  complete(): void;
  // A subscription without a cursor was opened: read the library again, for the changes before.
  // Only overFetch tells when it is open.
  opened?(): void;
  // The changes since the cursor are no longer known: reads the library again, and returns its cursor.
  // If it is missing, the error is reported.
  reread?(): Promise<string | null>;
}

export type Transport = (
  request: Request,
  signal: AbortSignal,
  opened: () => void,
) => AsyncIterable<Result>;

// overEvents subscribes by server-sent events, with a connection for each subscription.
export function overEvents(url: string, session: Session): Transport {
  const client = createEventClient({ url, fetchFn: authorizedFetch(session), retryAttempts: 0 });
  return (request) => client.iterate<Record<string, unknown>>(request) as AsyncIterable<Result>;
}

// overSocket subscribes over one websocket, with the token in its first message. A gateway that does
// not answer a ping for five seconds is lost.
export function overSocket(url: string, session: Session, webSocketImpl?: unknown): Transport {
  let silent: ReturnType<typeof setTimeout> | undefined;
  const client = createSocketClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl, // Node needs one, such as the package ws
    connectionParams: () => {
      const token = session.token();
      return token ? { authorization: `Bearer ${token}` } : {};
    },
    retryAttempts: 0, // a retry would not know the newest cursor
    keepAlive: 20_000,
    on: {
      ping(received) {
        if (!received) silent = setTimeout(() => client.terminate(), 5000);
      },
      pong(received) {
        if (received) clearTimeout(silent);
      },
      closed: () => clearTimeout(silent),
    },
  });
  return (request) => client.iterate<Record<string, unknown>>(request) as AsyncIterable<Result>;
}

// Failures after which another attempt may succeed.
const resumable = new Set([
  ...temporary,
  'SLOW_CONSUMER',
  'INTERNAL_SERVER_ERROR',
  'UNAUTHENTICATED', // with another token
]);

// resume subscribes, and after a lost connection subscribes again at the newest cursor that was
// received. It returns a function that stops it.
export function resume(
  transport: Transport,
  session: Session,
  request: Request,
  sink: Sink,
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let results: AsyncIterator<Result> | undefined;
  let variables = request.variables;
  let isOutdated = false;

  const opened = () => {
    if (variables['after'] || signal.aborted) return;
    sink.opened?.();
    // The gateway may begin to collect changes a little later.
    setTimeout(() => !signal.aborted && sink.opened?.(), 1000);
  };
  const run = async () => {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      let failure = failureOf(null);
      try {
        if (isOutdated) variables = { ...variables, after: await sink.reread?.() };
        if (signal.aborted) return;
        isOutdated = false;
        results = transport({ ...request, variables }, signal, opened)[Symbol.asyncIterator]();
        for (let result = await results.next(); !result.done; result = await results.next()) {
          if (signal.aborted) return;
          if (result.value.errors) throw result.value.errors;
          attempt = 1;
          variables = { ...variables, after: cursorOf(result.value) ?? variables['after'] };
          sink.next(result.value);
        }
      } catch (error) {
        if (signal.aborted) return;
        failure = failureOf(error);
        if (failure.code === 'UNAUTHENTICATED') {
          // If the provider cannot be reached, the next attempt renews it.
          const renewed = await session.renew().catch(() => undefined);
          if (renewed === null) return sink.error(error);
        }
        if (sink.reread && outdated.has(failure.code)) isOutdated = true;
        else if (!resumable.has(failure.code)) return sink.error(error);
        if (failure.cursor) variables = { ...variables, after: failure.cursor };
      }
      if (!signal.aborted)
        await new Promise((resolve) => setTimeout(resolve, pauseAfter(failure, attempt)));
    }
  };
  void run();
  return () => {
    stopping.abort();
    void results?.return?.();
  };
}

// cursorOf returns the cursor of an event that has one.
function cursorOf({ data }: Result): string | undefined {
  const { libraryChanged } = (data ?? {}) as { libraryChanged?: { edge?: { cursor: string } } };
  return libraryChanged?.edge?.cursor;
}
