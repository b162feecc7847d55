// Subscriptions of GraphiQL, each over a websocket of its own: whoever asks next
// may be another viewer, and a socket belongs to the token it began with.
import { getOperationAST, parse } from 'graphql';
import { createClient } from 'graphql-ws';

// isSubscription tells whether the operation chosen is one. What cannot be read
// is not: the gateway says what is wrong with it.
export function isSubscription({ query, operationName }) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false;
  }
}

// What a socket is closed with when its token is not, or no longer, good.
const FORBIDDEN = 4403;

// createListener answers with the two verbs of subscriptions:
//
//   listen(params, headers(renewed))  an observable, as GraphiQL wants one. headers
//       is asked for what the socket is to begin with; when the gateway refuses
//       its token before anything was told, once more, for a renewed one. Where
//       there is none, it answers null.
//   end(why)                          ends whatever listens, and shows why
//
// told(listening) is called when the first socket is there and when the last has
// gone.
export function createListener({ told }) {
  const running = new Set();
  const listening = new Set();

  const listen = (params, headers) => ({
    subscribe(sink) {
      let leave = () => {};
      let heard = false;
      const quiet = () => {
        if (!running.delete(end)) return false;
        if (listening.delete(end)) told(listening.size > 0);
        leave();
        return true;
      };
      const end = (result) => {
        if (!quiet()) return;
        if (result) sink.next(result);
        sink.complete();
      };
      const begin = (payload) => {
        leave = connect(params, payload, {
          opened() {
            listening.add(end);
            told(true);
          },
          next(result) {
            heard = true;
            sink.next(result);
          },
          async failed(fault) {
            if (listening.delete(end)) told(listening.size > 0);
            const renewed = fault?.code === FORBIDDEN && !heard ? await again(headers) : null;
            if (!running.has(end)) return;
            if (renewed) {
              heard = true;
              begin(renewed);
            } else {
              end(failure(fault));
            }
          },
          complete: () => end(null),
        });
      };
      running.add(end);
      begin(headers());
      return { unsubscribe: quiet };
    },
  });

  return {
    listen,
    end(why) {
      for (const end of [...running]) end({ errors: [{ message: why }] });
    },
  };
}

// again asks for a token that is good; failing to get one is having none.
async function again(headers) {
  try {
    return await headers('renewed');
  } catch {
    return null;
  }
}

// connect opens a socket for one operation, which closes with it, and answers
// with a way to leave.
function connect(params, payload, { opened, next, failed, complete }) {
  const client = createClient({
    url: `${location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: payload,
    // Going on after an interruption needs the newest cursor, which only whoever
    // reads the answers knows.
    retryAttempts: 0,
    on: { connected: opened },
  });
  return client.subscribe(params, { next, error: failed, complete });
}

// failure is an end as an answer shows it: the errors of the operation, or how
// the socket was closed.
function failure(fault) {
  if (Array.isArray(fault)) return { errors: fault };
  if (fault?.code === FORBIDDEN) return { errors: [{ message: `The gateway has ended the connection: ${fault.reason}.` }] };
  const how = fault?.code ? `${fault.code} ${fault.reason}`.trim() : (fault?.message ?? 'no reason given');
  const message =
    `The connection was lost (${how}). Run the operation again; with the last cursor as "after" ` +
    'it tells first what happened in between.';
  return { errors: [{ message }] };
}
