// retry.ts
// Which errors are temporary, and how an action is repeated.

export interface Failure {
  // extensions.code of the gateway, or NETWORK if the gateway did not answer.
  code: string;
  // In seconds, if the gateway said so.
  retryAfter?: number | undefined;
  // Where to resume a subscription that has ended because the viewer had no points for its next event.
  cursor?: string | undefined;
}

interface GatewayError {
  extensions?: { code?: string; retryAfter?: number; cursor?: string };
}

const codesOfStatus: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  429: 'RATE_LIMITED',
  503: 'UNAVAILABLE',
  504: 'TIMEOUT',
  4403: 'UNAUTHENTICATED', // with which a websocket is closed
};

// failureOf reads the errors of Apollo Client, urql, graphql-sse and graphql-ws, and lists of
// GraphQL errors. Apollo Client and urql wrap those that they do not know.
export function failureOf(error: unknown): Failure {
  const thrown = (error ?? {}) as {
    errors?: GatewayError[];
    graphQLErrors?: GatewayError[];
    statusCode?: number;
    response?: { status?: number };
    code?: number;
    cause?: unknown;
    networkError?: unknown;
  };
  const [first] = Array.isArray(error)
    ? (error as GatewayError[])
    : (thrown.errors ?? thrown.graphQLErrors ?? []);
  const status = thrown.statusCode ?? thrown.response?.status ?? thrown.code ?? 0;
  const code = first?.extensions?.code ?? codesOfStatus[status];
  const wrapped = thrown.cause ?? thrown.networkError;
  if (!code && !first && wrapped) return failureOf(wrapped);
  const { retryAfter, cursor } = first?.extensions ?? {};
  return { code: code ?? (first ? 'INTERNAL_SERVER_ERROR' : 'NETWORK'), retryAfter, cursor };
}

export const temporary = new Set([
  'NETWORK',
  'RATE_LIMITED',
  'UNAVAILABLE',
  'TIMEOUT',
  'CONTENTION',
  'OUTCOME_UNKNOWN',
]);

// Failures after which the library must be read again before another attempt.
export const outdated = new Set(['RESYNC', 'BAD_CURSOR']);

// pauseAfter returns how long to wait after a failure, in milliseconds: as the gateway says, or
// twice as long with each attempt, half of it random so that clients do not all return at once.
export function pauseAfter({ retryAfter }: Failure, attempt: number): number {
  if (retryAfter !== undefined) return retryAfter * 1000;
  const longest = Math.min(500 * 2 ** (attempt - 1), 15_000);
  return longest / 2 + (Math.random() * longest) / 2;
}

// repeat runs a query, or a mutation with an idempotency key, up to four times.
export async function repeat<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      const failure = failureOf(error);
      const pause = pauseAfter(failure, attempt);
      if (!temporary.has(failure.code) || attempt === 4 || pause > 15_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

// newKey returns 128 random bits. crypto.randomUUID would require HTTPS.
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
