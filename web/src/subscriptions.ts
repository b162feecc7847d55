// Subscriptions of GraphiQL. Each has a websocket of its own: the next one may be of
// another viewer, and a socket keeps the token that it was opened with.
import { getOperationAST, parse } from 'graphql';
import { createClient, type ExecutionResult, type FormattedExecutionResult } from 'graphql-ws';
import type { GraphiQLProps } from 'graphiql';

export type Fetcher = GraphiQLProps['fetcher'];
export type Params = Parameters<Fetcher>[0];
export type Headers = Record<string, string>;

// Observable is GraphiQL's type of the answers to a subscription. Of the ways to subscribe that
// it allows, GraphiQL uses the one with a sink.
type Observable = Extract<Awaited<ReturnType<Fetcher>>, { subscribe: unknown }>;

interface Sink {
  next: (result: ExecutionResult) => void;
  complete: () => void;
}

// Opening contains the headers with which a socket is opened: first, and, if the gateway
// refuses the token before any event, renewed; null if there is no other token.
interface Opening {
  first: Headers;
  renewed: () => Promise<Headers | null>;
}

export interface Listener {
  listen(params: Params, opening: Opening): Observable;
  end(why: string): void;
}

// isSubscription reports whether the chosen operation is a subscription. Text that cannot be
// parsed is none: the gateway reports what is wrong with it.
export function isSubscription({ query, operationName }: Params): boolean {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false;
  }
}

// The code that closes a socket whose token is not, or no longer, valid.
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
      const quiet = () => {
        if (!running.delete(end)) return false;
        if (listening.delete(end)) onListening(listening.size > 0);
        leave();
        return true;
      };
      const end: End = (result) => {
        if (!quiet()) return;
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
      return { unsubscribe: () => void quiet() };
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

// connect opens a socket for one operation, which closes with it, and answers
// with a way to leave.
interface Events {
  opened(): void;
  next(result: ExecutionResult): void;
  failed(fault: unknown): void;
  complete(): void;
}

function connect(params: Params, payload: Headers, { opened, next, failed, complete }: Events): () => void {
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: payload,
    // Resuming needs the newest cursor, which only the reader of the events knows.
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

// closing returns how a socket was closed, as far as the error says.
function closing(fault: unknown): Closing {
  return (fault ?? {}) as Closing;
}

// failure is an end as an answer shows it: the errors of the operation, or how
// the socket was closed.
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

// failed is an answer that is an error alone: thrown, it would be shown with a
// stack of bundled code. It is as it comes from the gateway: the
// type means errors that were thrown here.
export function failed(message: string): ExecutionResult {
  const answer: FormattedExecutionResult = { errors: [{ message }] };
  return answer as ExecutionResult;
}
