// Sends operations to a gateway over HTTP, and receives the results of subscriptions as server-sent
// events.
import type { TypedDocument } from './document.ts';
import { CarrelError, NetworkError, RequestError, UnauthenticatedError, type GraphQLError } from './errors.ts';
import { readEvents } from './events.ts';

type Token = string | null | undefined;

// ClientOptions are the settings of a CarrelClient. Only url is required.
export interface ClientOptions {
  // The address of /graphql.
  readonly url: string | URL;
  // Returns the current token. Without one the viewer is anonymous.
  readonly token?: () => Token | Promise<Token>;
  // Gets another token after the gateway refused one, and makes token() return it. Requests
  // that fail together share one call. null: there is no other token. If renewToken() or token()
  // fails, the request fails with a NetworkError, and is repeated as after any NetworkError.
  readonly renewToken?: () => Promise<Token>;
  // Sends the requests. Default: the global fetch.
  readonly fetch?: typeof fetch;
  // How often a request is repeated after a temporary error. Default: 3.
  readonly retries?: number;
  // Waits before an attempt. The default ends early when the signal is aborted, and when a browser
  // is online again.
  readonly pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  // How long a stream may be silent, in milliseconds. Default: 50,000.
  readonly silence?: number;
}

// RequestOptions are the settings of one request.
export interface RequestOptions {
  // Aborts the request, which then throws the reason of the signal.
  readonly signal?: AbortSignal;
}

// SubscribeOptions are the settings of one subscription.
export interface SubscribeOptions extends RequestOptions {
  // Called when the gateway has accepted the request.
  readonly onOpen?: () => void;
}

// longestPause is the longest time between two attempts. A request that may only be repeated
// later than that fails immediately.
export const longestPause = 15_000;

const firstPause = 500;

// backoff returns the time before an attempt, in milliseconds. It doubles with each attempt, and
// half of it is random, so that clients do not all return at once.
export function backoff(attempt: number): number {
  const full = Math.min(firstPause * 2 ** (attempt - 1), longestPause);
  return full / 2 + (Math.random() * full) / 2;
}

// newIdempotencyKey returns 128 random bits. Make one for each action of a user, and send the
// same one whenever the action is repeated. crypto.randomUUID would require HTTPS.
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// CarrelClient sends typed documents to one gateway.
export class CarrelClient {
  readonly #options: ClientOptions;
  #renewal: Promise<Token> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  // execute sends a query or a mutation and returns its result. Queries, and mutations with an
  // idempotency key, are repeated after temporary errors.
  async execute<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: NoInfer<Variables>,
    { signal }: RequestOptions = {},
  ): Promise<Result> {
    const repeatable = document.kind === 'query' || hasKey(variables);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await this.#send(document, variables, 'application/graphql-response+json, application/json;q=0.9', signal);
        return resultOf<Result>(await bodyOf(response, signal), response);
      } catch (error) {
        const wait = error instanceof CarrelError && error.retryable ? (error.retryAfter ?? backoff(attempt)) : Infinity;
        if (!repeatable || attempt > (this.#options.retries ?? 3) || wait > longestPause) throw error;
        await this.pause(wait, signal);
      }
    }
  }

  // subscribe returns the results of a subscription from one connection. It returns when the
  // gateway completes the subscription, and throws when the connection is lost.
  async *subscribe<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: NoInfer<Variables>,
    { signal, onOpen }: SubscribeOptions = {},
  ): AsyncGenerator<Result> {
    const response = await this.#send(document, variables, 'text/event-stream', signal);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
      resultOf(await bodyOf(response, signal), response);
      throw new NetworkError('The answer is not a stream of events.');
    }
    onOpen?.();
    try {
      for await (const { type, data } of readEvents(response.body, this.#options.silence ?? 50_000)) {
        if (type === 'complete') return;
        if (type === 'next') yield resultOf<Result>(data, response);
      }
    } catch (error) {
      throw signal?.aborted || error instanceof CarrelError ? error : new NetworkError('The connection was lost.', { cause: error });
    }
    throw new NetworkError('The stream ended before it was complete.');
  }

  // pause waits before another attempt.
  pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return (this.#options.pause ?? wait)(milliseconds, signal);
  }

  // A refused token is renewed once. That is safe for mutations too: the gateway checks the
  // token before it executes anything.
  async #send(document: TypedDocument<unknown, never>, variables: unknown, accept: string, signal?: AbortSignal): Promise<Response> {
    const token = await this.#token();
    const response = await this.#post(document, variables, accept, token, signal);
    if (response.status !== 401) return response;
    const renewed = token ? await this.#renew(token) : null;
    if (renewed) {
      await response.body?.cancel();
      const repeated = await this.#post(document, variables, accept, renewed, signal);
      if (repeated.status !== 401) return repeated;
      throw new UnauthenticatedError(401, errorsOf(await bodyOf(repeated, signal)));
    }
    throw new UnauthenticatedError(401, errorsOf(await bodyOf(response, signal)));
  }

  async #renew(refused: string): Promise<Token> {
    const current = await this.#token();
    if (current && current !== refused) return current; // another request has renewed it
    this.#renewal ??= tokenFrom(() => this.#options.renewToken?.(), 'The token could not be renewed.').finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  #token(): Promise<Token> {
    return tokenFrom(() => this.#options.token?.(), 'There was no token to send.');
  }

  async #post(document: TypedDocument<unknown, never>, variables: unknown, accept: string, token: Token,
    signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { accept, 'content-type': 'application/json' };
    if (token) headers['authorization'] = `Bearer ${token}`;
    const body = JSON.stringify({ query: document.text, operationName: document.name, variables });
    try {
      return await (this.#options.fetch ?? fetch)(this.#options.url, { method: 'POST', headers, body, signal: signal ?? null });
    } catch (error) {
      throw signal?.aborted ? error : new NetworkError('The gateway could not be reached.', { cause: error });
    }
  }
}

// hasKey reports whether the input of a mutation has an idempotency key.
function hasKey(variables: unknown): boolean {
  const { input } = (variables ?? {}) as { input?: { idempotencyKey?: unknown } };
  return Boolean(input?.idempotencyKey);
}

async function bodyOf(response: Response, signal: AbortSignal | undefined): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw signal?.aborted ? error : new NetworkError('The answer was cut off.', { cause: error });
  }
}

// tokenFrom returns a token from the application, which may request it from a server. A failure is
// therefore a NetworkError.
async function tokenFrom(token: () => Token | Promise<Token>, message: string): Promise<Token> {
  try {
    return await token();
  } catch (error) {
    throw new NetworkError(message, { cause: error });
  }
}

// secondsOf returns the seconds in a Retry-After header. A proxy may send a date instead.
function secondsOf(header: string | null): number | undefined {
  if (!header) return undefined;
  const seconds = Number(header);
  const delay = Number.isNaN(seconds) ? (Date.parse(header) - Date.now()) / 1000 : seconds;
  return Number.isFinite(delay) ? Math.max(delay, 0) : undefined;
}

// resultOf returns the data of an answer. It throws a RequestError for an answer with errors.
function resultOf<Result>(text: string, response: Response): Result {
  const { status } = response;
  const answer = parsed(text);
  const errors = errorsOf(text);
  if (errors.length > 0 || !answer || !('data' in answer)) {
    const Class = errors[0]?.extensions?.code === 'UNAUTHENTICATED' ? UnauthenticatedError : RequestError;
    throw new Class(status, errors, answer?.data ?? null, secondsOf(response.headers.get('retry-after')));
  }
  return answer.data as Result;
}

function errorsOf(text: string): readonly GraphQLError[] {
  const errors = parsed(text)?.errors;
  return Array.isArray(errors) ? (errors as GraphQLError[]) : [];
}

// parsed returns an answer of the gateway, or undefined for other text, such as a proxy's page.
function parsed(text: string): { data?: unknown; errors?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

// wait ends early when a browser is online again, and throws the reason of an aborted signal.
function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', over);
      globalThis.removeEventListener?.('online', over);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(over, milliseconds);
    signal?.addEventListener('abort', over);
    globalThis.addEventListener?.('online', over);
    if (signal?.aborted) over();
  });
}
