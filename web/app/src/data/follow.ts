// Keeps a subscription open while a page needs it. After an interruption it resumes at the
// newest cursor that was received, so that nothing is missed. If the gateway no longer has the
// changes since that cursor, the library is read again. The caller provides the socket, the
// clock and the store.

// Codes with which a subscription ends permanently: the request is wrong, and retrying would not
// help.
const permanent = new Set(['GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT', 'NOT_FOUND', 'FORBIDDEN', 'UNAUTHENTICATED']);

// longestPause is the longest wait before an attempt, in milliseconds. After a connection that
// lasted longer, the count of attempts starts again, even if it delivered no event.
export const longestPause = 15_000;

// LiveState is the state of a subscription: open, interrupted and retried, or ended permanently.
export type LiveState = 'live' | 'waiting' | 'off';

// Sink receives the events of a subscription: that it is open, each change, and its end.
export interface Sink<Change> {
  opened(): void;
  next(change: Change): void;
  error(fault: unknown): void;
  complete(): void;
}

interface Following<Change> {
  subscribe(after: string | null, sink: Sink<Change>): () => void;
  newest(): string | null;
  apply(change: Change): void;
  reread(): Promise<unknown>;
  pause(attempt: number, atLeast: number): Promise<void>;
  now(): number;
  onState(state: LiveState): void;
}

// follow keeps a subscription open, and returns a function that ends it.
//
//   subscribe(after, { opened, next, error, complete })
//                   starts a subscription, and returns a function that ends it
//   newest()        the newest cursor that is known, or null
//   apply(event)    applies a change
//   reread()        reads the library again, because changes were missed; the promise is
//                   rejected if that fails
//   pause(n, atLeast)
//                   a promise that resolves when it is time for the n-th attempt, after at least so
//                   many milliseconds
//   now()           the time in milliseconds since any fixed instant
//   onState(state)  receives 'live', 'waiting' or 'off'
export function follow<Change>({ subscribe, newest, apply, reread, pause, now, onState }: Following<Change>): () => void {
  let ended = false;
  let stop = () => {};
  let failures = 0;
  let openedAt = Infinity;
  // The cursor with which the gateway ended the last subscription, because the viewer had no points for
  // its next event. It is used until there is a newer one than at that time.
  let resume: { cursor: string; newest: string | null } | null = null;

  const listen = () => {
    if (ended) return;
    const after = resume?.newest === newest() ? resume.cursor : newest();
    let open = true;
    openedAt = Infinity;
    const lost = (fault: unknown) => {
      if (!open || ended) return;
      open = false;
      failed(fault);
    };
    // Without a cursor to resume from, the changes before the subscription have to be read. The
    // socket opens shortly before the gateway starts the subscription: a second read, a little
    // later, covers the time in between.
    const catchUp = async () => {
      try {
        await reread();
        await pause(1, 0);
        if (open && !ended) await reread();
      } catch {
        lost([]);
      }
    };
    stop = subscribe(after, {
      opened() {
        if (!open || ended) return;
        openedAt = now();
        onState('live');
        if (after === null) catchUp();
      },
      next(event) {
        if (!open || ended) return;
        failures = 0;
        apply(event);
      },
      error: lost,
      complete: () => lost([]),
    });
  };

  const failed = async (fault: unknown) => {
    const codes = codesOf(fault);
    const { cursor, retryAfter = 0 } = extensionsOf(fault);
    // A subscription may still be open after an error in one event or while reading again.
    stop();
    stop = () => {};
    if (codes.some((code) => permanent.has(code))) {
      onState('off');
      return;
    }
    if (now() - openedAt > longestPause) failures = 0;
    failures += 1;
    onState('waiting');
    if (cursor) resume = { cursor, newest: newest() };
    // If this fails, the cursor stays too old, and the next attempt reads again.
    if (codes.includes('RESYNC') || codes.includes('BAD_CURSOR')) {
      resume = null;
      await reread().catch(() => {});
    }
    await pause(failures, retryAfter * 1000);
    listen();
  };

  listen();
  return () => {
    ended = true;
    stop();
  };
}

// extensionsOf returns the extensions of the first of a list of GraphQL errors, or {} for the end of a socket.
function extensionsOf(fault: unknown): { cursor?: string; retryAfter?: number } {
  return (Array.isArray(fault) && (fault as { extensions?: object }[])[0]?.extensions) || {};
}

// codesOf returns the codes of a list of GraphQL errors, or [] for the end of a socket.
export function codesOf(fault: unknown): string[] {
  const errors: { extensions?: { code?: string } }[] = Array.isArray(fault) ? fault : [];
  return errors.map((error) => error.extensions?.code).filter((code) => code !== undefined);
}
