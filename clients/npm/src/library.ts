// A library that stays up to date: it reads pages, subscribes to changes, and resumes after a lost
// connection.
import { backoff, longestPause, type CarrelClient } from './client.ts';
import { CarrelError, RequestError } from './errors.ts';
import {
  LibraryChangedDocument,
  LibraryPageDocument,
  type LibraryChangedSubscription,
  type LibraryPageQuery,
  type LibraryPageQueryVariables,
} from './generated/operations.ts';
import type { Cursor } from './scalars.ts';
import { joinPage, placeEntry, removeEntry, startRange, type Order, type Side, type LoadedRange } from './range.ts';

// LibraryEntry is an edge of a library: an item with its cursor and the role of the library's owner.
export type LibraryEntry = NonNullable<LibraryPageQuery['principal']>['library']['edges'][number];

type LibraryPage = NonNullable<LibraryPageQuery['principal']>['library'];
type Change = LibraryChangedSubscription['libraryChanged'];

// LibraryOptions are the settings of a LiveLibrary. Only principalId is required.
export interface LibraryOptions {
  // The id of the user or group that the library belongs to.
  readonly principalId: string;
  // Default: DESC, newest first.
  readonly order?: Order;
  // The number of entries that are read at once, 1 to 100. Default: 30.
  readonly pageSize?: number;
  // The number of entries that are kept. Default: 1,000.
  readonly maxEntries?: number;
}

// LibrarySnapshot is the state of a LiveLibrary at one time. It is never modified.
export interface LibrarySnapshot {
  // loading: nothing was read yet; live: changes arrive; reconnecting: the connection is lost;
  // failed: the library cannot be read, see error; closed: close was called.
  readonly status: 'loading' | 'live' | 'reconnecting' | 'failed' | 'closed';
  readonly entries: readonly LibraryEntry[];
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
  // Why the status is failed.
  readonly error: unknown;
}

// Codes of errors that another attempt would get again.
const permanentCodes = new Set(['NOT_FOUND', 'FORBIDDEN', 'BAD_USER_INPUT', 'BAD_REQUEST', 'GRAPHQL_VALIDATION_FAILED', 'PERSISTED_QUERY_NOT_FOUND']);

// Codes after which the library is read again from its beginning.
const reloadCodes = new Set(['RESYNC', 'BAD_CURSOR']);

// LiveLibrary is a library that stays up to date until it is closed.
export class LiveLibrary {
  readonly #client: CarrelClient;
  readonly #id: string;
  readonly #order: Order;
  readonly #pageSize: number;
  readonly #maxEntries: number;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #loaded: LoadedRange<LibraryEntry> | undefined;
  #status: LibrarySnapshot['status'] = 'loading';
  #error: unknown = null;
  #snapshot: LibrarySnapshot = { status: 'loading', entries: [], hasPrevious: false, hasNext: false, error: null };
  // The newest cursor that was received, from which the subscription resumes.
  #resume: Cursor | null = null;
  // Reads run one after the other. Changes that arrive during a read are kept and applied again
  // after it.
  #reads: Promise<unknown> = Promise.resolve();
  #meanwhile: Change[] | null = null;

  constructor(client: CarrelClient, { principalId, order = 'DESC', pageSize = 30, maxEntries = 1000 }: LibraryOptions) {
    this.#client = client;
    this.#id = principalId;
    this.#order = order;
    this.#pageSize = pageSize;
    this.#maxEntries = Math.max(maxEntries, pageSize);
    void this.#follow();
  }

  // snapshot returns the loaded entries and the status. It returns the same object until something
  // changes.
  readonly snapshot = (): LibrarySnapshot => this.#snapshot;

  // subscribe calls a listener after every change of the snapshot, until the function that it
  // returns is called.
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  // loadNext and loadPrevious read one more page at an end, if there is one.
  loadNext(): Promise<void> {
    return this.#extend('next');
  }

  loadPrevious(): Promise<void> {
    return this.#extend('previous');
  }

  // close ends the subscription and all reads.
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new CarrelError('CLOSED', 'The library was closed.'));
    this.#publish('closed');
    this.#listeners.clear();
  }

  // follow reads the first page and subscribes to the changes. It repeats that after errors, until
  // the library is closed or an error is permanent.
  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      let openedAt = Infinity;
      let wait = 0;
      const onOpen = () => {
        openedAt = performance.now();
        this.#publish('live');
        if (this.#resume === null) void this.#catchUp();
      };
      try {
        if (!this.#loaded) await this.#reload();
        for await (const result of this.#client.subscribe(LibraryChangedDocument, { id: this.#id, after: this.#resume }, { signal, onOpen })) {
          failures = 0;
          this.#receive(result.libraryChanged);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isPermanent(error)) {
          this.#error = error;
          this.#publish('failed');
          return;
        }
        const { code, retryAfter = 0 } = error as CarrelError;
        wait = retryAfter;
        // The viewer had no points for the next event: this cursor continues before it.
        const cursor = error instanceof RequestError && error.errors[0]?.extensions?.cursor;
        if (cursor) this.#resume = cursor as Cursor;
        if (reloadCodes.has(code)) await this.#reload().catch(() => {});
      }
      if (performance.now() - openedAt > longestPause) failures = 0;
      failures += 1;
      if (this.#loaded) this.#publish('reconnecting');
      await this.#client.pause(Math.max(wait, backoff(failures)), signal).catch(() => {});
    }
  }

  // catchUp reads an empty library again. It has no cursor from which a subscription could resume,
  // so it may have changed before the subscription began. The stream opens shortly before the
  // subscription begins, so a second read follows a little later.
  async #catchUp(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#reload();
      await this.#client.pause(backoff(1), signal);
      if (this.#resume === null) await this.#reload();
    } catch {
      // The next connection tries again.
    }
  }

  #receive(change: Change): void {
    if (change.__typename === 'LibraryEntryPlaced') this.#resume = change.edge.cursor;
    this.#meanwhile?.push(change);
    this.#apply(change);
    this.#publish(this.#status);
  }

  #apply(change: Change): void {
    if (!this.#loaded) return;
    const next = change.__typename === 'LibraryEntryPlaced' ? placeEntry(this.#loaded, change.edge, this.#maxEntries) : removeEntry(this.#loaded, change.contentId);
    if (next) this.#loaded = next;
    else void this.#reload().catch(() => {});
  }

  #extend(side: Side): Promise<void> {
    return this.#inTurn(async () => {
      for (;;) {
        const end = this.#loaded?.[side];
        if (!end?.more) return;
        const page = await this.#read(side === 'next' ? { first: this.#pageSize, after: end.cursor } : { last: this.#pageSize, before: end.cursor });
        // If a change has moved the end meanwhile, the page does not follow it.
        if (this.#loaded?.[side].cursor !== end.cursor) continue;
        this.#loaded = joinPage(this.#loaded, page, side, this.#maxEntries);
        return;
      }
    });
  }

  #reload(): Promise<void> {
    return this.#inTurn(async () => {
      const page = await this.#read({ first: this.#pageSize });
      this.#loaded = startRange(page, this.#order);
      this.#resume = page.pageInfo.endCursor;
    });
  }

  // inTurn runs a read after all others, and then applies again the changes that arrived during
  // it, because the page may be older than they are.
  #inTurn(read: () => Promise<void>): Promise<void> {
    const turn = this.#reads.then(async () => {
      const meanwhile: Change[] = [];
      this.#meanwhile = meanwhile;
      try {
        await read();
      } finally {
        this.#meanwhile = null;
      }
      for (const change of meanwhile) this.#apply(change);
      this.#publish(this.#status);
    });
    this.#reads = turn.catch(() => {});
    return turn;
  }

  async #read(part: Partial<LibraryPageQueryVariables>): Promise<LibraryPage> {
    const variables = { id: this.#id, orderBy: { field: 'LAST_MODIFIED', direction: this.#order } as const, ...part };
    const { principal } = await this.#client.execute(LibraryPageDocument, variables, { signal: this.#closing.signal });
    if (!principal) throw new RequestError(200, [{ message: `${this.#id} does not exist, or the viewer may not see it.`, extensions: { code: 'NOT_FOUND' } }]);
    return principal.library;
  }

  #publish(status: LibrarySnapshot['status']): void {
    if (this.#status !== 'closed') this.#status = status;
    this.#snapshot = {
      status: this.#status,
      entries: this.#loaded?.entries ?? [],
      hasPrevious: this.#loaded?.previous.more ?? false,
      hasNext: this.#loaded?.next.more ?? false,
      error: this.#error,
    };
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // The listener's error is reported as uncaught, and does not stop the library.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

// isPermanent reports whether another attempt would fail in the same way. A token that expires
// also ends a stream with UNAUTHENTICATED; only status 401 means that there is no other token.
function isPermanent(error: unknown): boolean {
  if (!(error instanceof CarrelError)) return true;
  return permanentCodes.has(error.code) || (error instanceof RequestError && error.status === 401);
}
