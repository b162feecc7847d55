// Subscriptions of GraphiQL. Each has its own websocket, because a socket keeps the
// token that it was opened with, and the next subscription may be for another viewer.
import { getOperationAST, parse } from 'graphql';
import { createClient, type ExecutionResult, type FormattedExecutionResult } from 'graphql-ws';
import type { GraphiQLProps } from 'graphiql';

// Fetcher is GraphiQL's type for the function that sends operations, and Params that for an
// operation.
export type Fetcher = GraphiQLProps['fetcher'];
export type Params = Parameters<Fetcher>[0];

// Headers are the headers of an operation, by name.
export type Headers = Record<string, string>;

// Observable is GraphiQL's type for the results of a subscription. GraphiQL always subscribes
// with a sink.
type Observable = Extract<Awaited<ReturnType<Fetcher>>, { subscribe: unknown }>;

interface Sink {
  next: (result: ExecutionResult) => void;
  complete: () => void;
}

// Opening contains the headers with which a socket is opened: first, and then renewed() if the
// gateway refuses the token before any event. renewed returns null if there is no other token.
interface Opening {
  first: Headers;
  renewed: () => Promise<Headers | null>;
}

// Listener is what createListener returns.
export interface Listener {
  listen(params: Params, opening: Opening): Observable;
  end(why: string): void;
}

// isSubscription reports whether the chosen operation is a subscription. It returns false for
// text that cannot be parsed: the gateway reports the error.
export function isSubscription({ query, operationName }: Params): boolean {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false;
  }
}

// The close code of a socket whose token is not valid, or no longer.
const FORBIDDEN = 4403;

// End ends one subscription, with a last answer to show or with none.
type End = (result: ExecutionResult | null) => void;

// createListener returns the two functions of subscriptions: listen(params, opening), which
// returns an observable for GraphiQL, and end(why), which ends all subscriptions and shows why.
// onListening(listening) is called when the first socket is open and when the last one is closed.
export function createListener({ onListening }: { onListening(listening: boolean): void }): Listener {
  const running = new Set<End>();
  const listening = new Set<End>();

  const listen = (params: Params, opening: Opening): Observable => {
    const subscribe = (sink?: Sink | Sink['next']) => {
      if (typeof sink !== 'object') throw new TypeError('subscribe takes a sink');
      let leave = () => {};
      let received = false;
      const stop = () => {
        if (!running.delete(end)) return false;
        if (listening.delete(end)) onListening(listening.size > 0);
        leave();
        return true;
      };
      const end: End = (result) => {
        if (!stop()) return;
        if (result) sink.next(result);
        sink.complete();
      };
      const begin = (payload: Headers) => {
        leave = connect(params, payload, {
          opened() {
            listening.add(end);
            onListening(true);
          },
          next(result) {
            received = true;
            sink.next(result);
          },
          async failed(fault) {
            if (listening.delete(end)) onListening(listening.size > 0);
            const renewed = closing(fault).code === FORBIDDEN && !received ? await again(opening) : null;
            if (!running.has(end)) return;
            if (renewed) {
              received = true;
              begin(renewed);
            } else {
              end(failure(fault));
            }
          },
          complete: () => end(null),
        });
      };
      running.add(end);
      begin(opening.first);
      return { unsubscribe: () => void stop() };
    };
    return { subscribe };
  };

  return {
    listen,
    end(why) {
      for (const end of [...running]) end(failed(why));
    },
  };
}

// again requests a valid token; null if that fails.
async function again({ renewed }: Opening): Promise<Headers | null> {
  try {
    return await renewed();
  } catch {
    return null;
  }
}

interface Events {
  opened(): void;
  next(result: ExecutionResult): void;
  failed(fault: unknown): void;
  complete(): void;
}

// connect opens a socket for one operation, which closes when the operation ends. It returns a
// function that ends the operation.
function connect(params: Params, payload: Headers, { opened, next, failed, complete }: Events): () => void {
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: payload,
    // Resuming requires the newest cursor, which the socket does not have.
    retryAttempts: 0,
    on: { connected: opened },
  });
  return client.subscribe(params, { next, error: failed, complete });
}

interface Closing {
  code?: number;
  reason?: string;
  message?: string;
}

// closing returns the code and reason with which a socket was closed, if the error has them.
function closing(fault: unknown): Closing {
  return (fault ?? {}) as Closing;
}

// failure returns the last result of a subscription that failed: the errors of the
// operation, or how the socket was closed.
function failure(fault: unknown): ExecutionResult {
  if (Array.isArray(fault)) return { errors: fault };
  const { code, reason, message: text } = closing(fault);
  if (code === FORBIDDEN) return failed(`The gateway has ended the connection: ${reason}.`);
  const how = code ? `${code} ${reason}`.trim() : (text ?? 'no reason given');
  return failed(
    `The connection was lost (${how}). Run the operation again; with the last cursor as "after" ` +
    'it first returns what happened in between.',
  );
}

// failed returns a result with one error. GraphiQL would show a thrown error with a
// stack trace of bundled code. The error is plain, as from the gateway, although
// the type requires an instance of GraphQLError.
export function failed(message: string): ExecutionResult {
  const answer: FormattedExecutionResult = { errors: [{ message }] };
  return answer as ExecutionResult;
}
