// Keeps a subscription open: it reconnects after a lost connection, and resumes at the newest
// cursor, so that nothing is missed.
import { backoff, longestPause, type SubscribeOptions } from './client.ts';
import { CarrelError, NetworkError, RequestError } from './errors.ts';
import type { Cursor } from './scalars.ts';

// FollowStatus is the state of a subscription: open, interrupted and tried again, or ended by an
// error that another attempt would get again.
export type FollowStatus = 'live' | 'reconnecting' | 'failed';

// Following is what follow needs to know of a subscription.
export interface Following<Result> {
  // Called before each connection. Its error counts as one of the connection.
  readonly prepare?: () => Promise<unknown>;
  // Subscribes to what came after a cursor, or after now. The options belong to this connection.
  readonly subscribe: (after: Cursor | null, options: Required<SubscribeOptions>) => AsyncIterable<Result>;
  // Returns the newest cursor that the application has, or null.
  readonly cursor: () => Cursor | null;
  readonly apply: (result: Result) => void;
  // Reads everything again, because changes may have been missed. An error leads to another attempt,
  // unless it is a CarrelError that is permanent.
  readonly reread: () => Promise<unknown>;
  // Waits before an attempt. CarrelClient.pause does.
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly onStatus: (status: FollowStatus, error: unknown) => void;
  // Ends it.
  readonly signal: AbortSignal;
}

// Codes of errors that another attempt would get again.
const permanentCodes = new Set(['NOT_FOUND', 'FORBIDDEN', 'BAD_USER_INPUT', 'BAD_REQUEST', 'GRAPHQL_VALIDATION_FAILED',
  'PERSISTED_QUERY_NOT_FOUND']);

// Codes after which everything is read again, because the gateway cannot resume at the cursor.
const rereadCodes = new Set(['RESYNC', 'BAD_CURSOR']);

// follow keeps a subscription open until its signal is aborted or an error is permanent.
export async function follow<Result>({ prepare, subscribe, cursor, apply, reread, pause, onStatus,
  signal }: Following<Result>): Promise<void> {
  let failures = 0;
  // The cursor with which the gateway ended a subscription, because the viewer had no points for the
  // next event. It is used until there is a newer one than at that time.
  let resume: { cursor: Cursor; newest: Cursor | null } | null = null;

  while (!signal.aborted) {
    const connection = new AbortController();
    const options = { signal: AbortSignal.any([signal, connection.signal]), onOpen: () => {} };
    let openedAt = Infinity;
    let error: unknown = null;
    // Without a cursor, changes before the subscription are not delivered. The connection opens
    // shortly before the subscription begins, so a second read follows a little later.
    const catchUp = async () => {
      try {
        await reread();
        await pause(backoff(1), options.signal);
        if (!options.signal.aborted && cursor() === null) await reread();
      } catch (failure) {
        connection.abort(failure instanceof CarrelError ? failure : new NetworkError('It could not be read again.', { cause: failure }));
      }
    };
    try {
      await prepare?.();
      const newest = cursor();
      const after = resume && resume.newest === newest ? resume.cursor : newest;
      options.onOpen = () => {
        if (options.signal.aborted) return;
        openedAt = performance.now();
        onStatus('live', null);
        if (after === null) void catchUp();
      };
      for await (const result of subscribe(after, options)) {
        failures = 0;
        apply(result);
      }
    } catch (failure) {
      error = failure;
    }
    connection.abort();
    if (signal.aborted) return;
    if (error !== null && isPermanent(error)) {
      onStatus('failed', error);
      return;
    }
    if (performance.now() - openedAt > longestPause) failures = 0;
    failures += 1;
    onStatus('reconnecting', error);
    const { code = '', retryAfter = 0 } = (error ?? {}) as Partial<CarrelError>;
    const given = error instanceof RequestError && error.errors[0]?.extensions?.['cursor'];
    if (given) resume = { cursor: given as Cursor, newest: cursor() };
    if (rereadCodes.has(code)) {
      resume = null;
      await reread().catch(() => {}); // the next attempt gets the same error
    }
    await pause(Math.max(retryAfter, backoff(failures)), signal).catch(() => {});
  }
}

// isPermanent reports whether another attempt would fail in the same way. A token that expires
// also ends a stream with UNAUTHENTICATED; only status 401 means that there is no other token.
function isPermanent(error: unknown): boolean {
  if (!(error instanceof CarrelError)) return true;
  return permanentCodes.has(error.code) || (error instanceof RequestError && error.status === 401);
}
