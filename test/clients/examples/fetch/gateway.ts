// fetch/gateway.ts
import type { Request, Result, Transport } from '../resume.ts';
import { authorizedFetch, type Session } from '../session.ts';

export class GatewayError extends Error {
  readonly errors: readonly { message: string; extensions?: { code?: string } }[];

  constructor(errors: GatewayError['errors']) {
    super(errors[0]?.message ?? 'The gateway failed.');
    this.errors = errors;
  }
}

// post sends a query or a mutation.
export async function post<Data>(url: string, session: Session, request: Request): Promise<Data> {
  const response = await authorizedFetch(session)(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/graphql-response+json' },
    body: JSON.stringify(request),
  });
  const { data, errors } = (await response.json()) as {
    data?: Data;
    errors?: GatewayError['errors'];
  };
  if (errors || !data) throw new GatewayError(errors ?? []);
  return data;
}

// The gateway sends at least a comment every 20 seconds. After this time, in milliseconds, a
// connection without any is lost.
const longestSilence = 50_000;

// overFetch subscribes by server-sent events. An EventSource cannot send a token.
export function overFetch(url: string, session: Session): Transport {
  return async function* (request, signal, opened) {
    const response = await authorizedFetch(session)(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify(request),
      signal,
    });
    if (!response.ok || !response.body)
      throw Object.assign(new Error('There is no stream.'), { response });
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const next = () => {
      const silent = setTimeout(() => void reader.cancel(), longestSilence);
      return reader.read().finally(() => clearTimeout(silent));
    };
    let text = '';
    for (let read = await next(); !read.done; read = await next()) {
      const events = (text + read.value).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const lines = event.split('\n'); // a comment has neither event nor data
        if (lines.includes('event: complete')) return;
        const data = lines
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice('data:'.length));
        if (data.length > 0) yield JSON.parse(data.join('\n')) as Result;
      }
    }
    throw new Error('The stream ended before it was complete.');
  };
}
