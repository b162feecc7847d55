// The demo viewers. The gateway issues a fresh token for each of them, only in development:
// otherwise /dev/viewers does not exist.
import { failed, isSubscription, type Fetcher, type Headers, type Listener, type Params } from './subscriptions.ts';

// Viewer is a demo viewer. The anonymous one has no token.
export interface Viewer {
  name: string;
  description: string;
  token: string;
}

// loadViewers reads the demo viewers, each with a fresh token.
export async function loadViewers(): Promise<Viewer[]> {
  const answer = await fetch('/dev/viewers', { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`/dev/viewers answered ${answer.status}`);
  return (await answer.json()).viewers;
}

interface FetcherOptions {
  currentToken(): string;
  renewToken(): Promise<string>;
  listen: Listener['listen'];
}

// createFetcher returns a function that sends operations to /graphql with the token of
// currentToken, and passes subscriptions to listen. An Authorization header in the headers editor
// overrides the menu. Tokens expire: after a 401 to a token of the menu, renewToken is called once
// and the operation is sent again. That is safe for mutations too: a 401 is answered before
// anything is executed.
export function createFetcher({ currentToken, renewToken, listen }: FetcherOptions): Fetcher {
  const send = (params: Params, headers: Headers) =>
    fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json, application/json;q=0.9',
        ...headers,
      },
      body: JSON.stringify(params),
    });

  return async (asked, opts) => {
    const params = namedInQuery(asked);
    const typed: Headers = opts?.headers ?? {};
    const own = Object.keys(typed).some((name) => name.toLowerCase() === 'authorization');
    const token = own ? '' : currentToken();
    const renewed = async () => ({ ...bearer(await renewToken()), ...typed });
    if (isSubscription(params)) {
      // Browsers send no headers with a websocket, so they are in the payload of connection_init.
      return listen(params, { first: { ...bearer(token), ...typed }, renewed: async () => (token ? renewed() : null) });
    }
    try {
      let answer = await send(params, { ...bearer(token), ...typed });
      if (answer.status === 401 && token) answer = await send(params, await renewed());
      return await readAnswer(answer);
    } catch (fault) {
      return failed(`The gateway could not be reached. Is it still running? (${fault instanceof Error ? fault.message : fault})`);
    }
  };
}

// namedInQuery removes an operation name that is not in the query. Shortly after a
// change of tabs, GraphiQL still sends the name from the previous tab.
function namedInQuery({ operationName, ...rest }: Params): Params {
  const held = operationName && new RegExp(`\\b${operationName}\\b`).test(rest.query);
  return held ? { operationName, ...rest } : rest;
}

function bearer(token: string): Headers {
  return token ? { authorization: `Bearer ${token}` } : {};
}

async function readAnswer(answer: Response) {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return failed(`HTTP ${answer.status} ${answer.statusText}: ${text.slice(0, 500)}`);
  }
}
