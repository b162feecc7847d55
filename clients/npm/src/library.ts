// A library that stays up to date: it reads pages, subscribes to changes, and resumes after a lost
// connection.
import type { CarrelClient } from './client.ts';
import type { TypedDocument } from './document.ts';
import { CarrelError, RequestError } from './errors.ts';
import { follow, type FollowStatus } from './follow.ts';
import {
  LibraryChangedDocument,
  LibraryPageDocument,
  type LibraryChangeReason,
  type LibraryFilter,
  type LibraryOrderField,
  type LibraryPageQuery,
  type LibraryPageQueryVariables,
} from './generated/operations.ts';
import { joinPage, placeEntry, removeEntry, startRange, type Entry, type LoadedRange, type Order, type Page, type Side } from './range.ts';
import type { Cursor } from './scalars.ts';

// LibraryEntry is an edge of a library: an item with its cursor and the role of the library's owner.
export type LibraryEntry = NonNullable<LibraryPageQuery['principal']>['library']['edges'][number];

// LibraryChange is a change of a library: an entry that is new, has moved or has changed, or the id
// of an item that is no longer there; by whom and why, if the document asks for it.
export type LibraryChange<E extends Entry = LibraryEntry> = (
  | { readonly __typename: 'LibraryEntryPlaced'; readonly edge: E }
  | { readonly __typename: 'LibraryEntryRemoved'; readonly contentId: string }
) & { readonly by?: { readonly id: string; readonly displayName?: string } | null; readonly reason?: LibraryChangeReason | null };

// LibraryDocuments are the operations of a LiveLibrary. An application that needs other fields of
// the items has documents of its own, with the same variables. They select sortKey, or titleKey:
// sortKey(field: TITLE) if byTitle is true.
export interface LibraryDocuments<E extends Entry = LibraryEntry> {
  readonly page: TypedDocument<{ readonly principal: { readonly library: Page<E> } | null }, LibraryPageQueryVariables>;
  readonly changes: TypedDocument<{ readonly libraryChanged: LibraryChange<E> }, { id: string; after?: Cursor | null; byTitle?: boolean }>;
}

// LibraryOptions are the settings of a LiveLibrary. Only principalId is required.
export interface LibraryOptions<E extends Entry = LibraryEntry> {
  // The id of the user or group that the library belongs to.
  readonly principalId: string;
  // What the library is ordered by. Default: LAST_MODIFIED.
  readonly field?: LibraryOrderField;
  // Default: DESC, newest first; by TITLE it is ASC, A to Z.
  readonly order?: Order;
  // Whether the items that are shared with the viewer are included; see Principal.library.
  readonly includeShared?: boolean;
  // Which items are shown. The gateway decides which these are, so a change leads to a new read.
  readonly filter?: LibraryFilter;
  // The cursor after which the first page begins. Default: the start of the library.
  readonly after?: Cursor | null;
  // The number of entries that are read at once, 1 to 100. Default: 30.
  readonly pageSize?: number;
  // The number of entries that are kept. Default: 1,000.
  readonly maxEntries?: number;
  // Default: LibraryPageDocument and LibraryChangedDocument.
  readonly documents?: LibraryDocuments<E>;
  // Called with the entries of each answer and change before they are in a snapshot, for a cache of
  // items that other parts of an application share.
  readonly onEntries?: (entries: readonly E[]) => void;
}

// LibrarySnapshot is the state of a LiveLibrary at one time. It is never modified.
export interface LibrarySnapshot<E extends Entry = LibraryEntry> {
  // loading: there is no connection yet; live: changes arrive; reconnecting: the connection is lost;
  // failed: the library cannot be read, see error; closed: close was called.
  readonly status: 'loading' | FollowStatus | 'closed';
  // Whether a page was read. Until then it is not known whether the library has entries.
  readonly isLoaded: boolean;
  readonly entries: readonly E[];
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
  // Whether the cursor to begin after was not valid any more. The library begins at its start then.
  readonly lostPosition: boolean;
  // Why the status is failed, or why the connection is lost.
  readonly error: unknown;
}

// LiveLibrary is a library that is kept up to date while it has listeners, until it is closed.
export class LiveLibrary<E extends Entry = LibraryEntry> {
  // The cursor after which a page is read if everything has to be read again, null for the start.
  // An application sets it to the cursor of the entry before the first one that its user sees.
  position: Cursor | null;

  readonly #client: CarrelClient;
  readonly #options: LibraryOptions<E>;
  readonly #documents: LibraryDocuments<E>;
  readonly #field: LibraryOrderField;
  readonly #order: Order;
  readonly #pageSize: number;
  readonly #maxEntries: number;
  readonly #closing = new AbortController();
  #following = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #changeListeners = new Set<(change: LibraryChange<E>, before: LibrarySnapshot<E>) => void>();
  #loaded: LoadedRange<E> | undefined;
  #lostPosition = false;
  #snapshot: LibrarySnapshot<E> = { status: 'loading', isLoaded: false, entries: [], hasPrevious: false, hasNext: false,
    lostPosition: false, error: null };
  // The newest cursor that was received, from which the subscription resumes.
  #resume: Cursor | null = null;
  // Reads run one after the other. Changes that arrive during a read are kept and applied again
  // after it.
  #reads: Promise<unknown> = Promise.resolve();
  #meanwhile: LibraryChange<E>[] | null = null;
  #isStale = false;
  // A timer while changes arrive together, and whether the last ones were not passed to listeners.
  #burst: ReturnType<typeof setTimeout> | undefined;
  #isWaiting = false;

  constructor(client: CarrelClient, options: LibraryOptions<E>) {
    const { field = 'LAST_MODIFIED', order = field === 'TITLE' ? 'ASC' : 'DESC', pageSize = 30, maxEntries = 1000,
      after = null } = options;
    this.#client = client;
    this.#options = options;
    // E is another type than LibraryEntry only if there are documents.
    this.#documents = options.documents ??
      ({ page: LibraryPageDocument, changes: LibraryChangedDocument } as LibraryDocuments<Entry> as LibraryDocuments<E>);
    this.#field = field;
    this.#order = order;
    this.#pageSize = pageSize;
    this.#maxEntries = Math.max(maxEntries, pageSize);
    this.position = after;
  }

  // snapshot returns the loaded entries and the status. It returns the same object until something
  // changes.
  readonly snapshot = (): LibrarySnapshot<E> => this.#snapshot;

  // subscribe calls a listener after every change of the snapshot, until the function that it
  // returns is called. Without listeners the library is not kept up to date. What was loaded stays,
  // and what was missed follows when there is a listener again.
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1 && !this.#closing.signal.aborted) void this.#follow();
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#following.abort();
      this.#publish('loading', null);
    };
  };

  // onChange calls a listener after every change of the library, with the snapshot before it, until
  // the function that it returns is called.
  onChange(listener: (change: LibraryChange<E>, before: LibrarySnapshot<E>) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  // loadNext and loadPrevious read one more page at an end, if there is one.
  loadNext(): Promise<void> {
    return this.#extend('next');
  }

  loadPrevious(): Promise<void> {
    return this.#extend('previous');
  }

  // reload replaces all entries by one page: the one at the position, or the first or last one of
  // the library. If that fails, the entries stay.
  reload(from: 'position' | 'start' | 'end' = 'position'): Promise<void> {
    return this.#inTurn(() => this.#readAnew(from));
  }

  // remove takes an item out of which the application knows that it has left the library.
  remove(id: string): void {
    if (!this.#loaded) return;
    this.#loaded = removeEntry(this.#loaded, id);
    this.#publish();
  }

  // close ends the subscription and all reads.
  close(): void {
    this.#closing.abort(new CarrelError('CLOSED', 'The library was closed.'));
    this.#following.abort();
    this.#publish('closed');
    this.#listeners.clear();
    this.#changeListeners.clear();
  }

  // follow reads the first page, unless it was read, and subscribes to the changes.
  #follow(): Promise<void> {
    this.#following = new AbortController();
    return follow({
      prepare: async () => this.#loaded ?? (await this.reload()),
      subscribe: (after, options) => this.#client.subscribe(this.#documents.changes,
        { id: this.#options.principalId, after, ...this.#byTitle }, options),
      cursor: () => this.#resume,
      apply: ({ libraryChanged }) => this.#receive(libraryChanged),
      reread: () => this.reload(),
      pause: (milliseconds, signal) => this.#client.pause(milliseconds, signal),
      onStatus: (status, error) => this.#publish(status === 'reconnecting' && !this.#loaded ? 'loading' : status, error),
      signal: this.#following.signal,
    });
  }

  #receive(change: LibraryChange<E>): void {
    const before = this.#snapshot;
    if (change.__typename === 'LibraryEntryPlaced') {
      this.#resume = change.edge.cursor;
      this.#options.onEntries?.([change.edge]);
    }
    this.#meanwhile?.push(change);
    this.#apply(change);
    this.#update();
    this.#notifySoon();
    for (const listener of [...this.#changeListeners]) guarded(() => listener(change, before));
  }

  // apply moves or removes an entry. If only the gateway knows what the library shows then, it is
  // read again: a removed item may still be shared with the viewer, and a changed one may match the
  // filter.
  #apply(change: LibraryChange<E>): void {
    if (!this.#loaded) return;
    const { includeShared = false, filter } = this.#options;
    const isPlaced = change.__typename === 'LibraryEntryPlaced';
    const next = isPlaced ? (filter ? null : placeEntry(this.#loaded, change.edge, this.#maxEntries))
      : removeEntry(this.#loaded, change.contentId);
    if (next) this.#loaded = next;
    if (!next || (includeShared && !isPlaced)) this.#reloadSoon();
  }

  // reloadSoon reads everything again, once for all changes until that read begins.
  #reloadSoon(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    this.#inTurn(() => {
      this.#isStale = false;
      return this.#readAnew('position');
    }).catch(() => {}); // the next connection, or change, leads to another read
  }

  #extend(side: Side): Promise<void> {
    return this.#inTurn(async () => {
      for (;;) {
        const end = this.#loaded?.[side];
        if (!end?.more) return;
        const part = side === 'next' ? { first: this.#pageSize, after: end.cursor } : { last: this.#pageSize, before: end.cursor };
        const page = await this.#read(part).catch(nullIfBadCursor);
        if (!page) return this.#readAnew('position');
        // If a change has moved the end meanwhile, the page does not follow it.
        if (this.#loaded?.[side].cursor !== end.cursor) continue;
        this.#loaded = joinPage(this.#loaded, page, side, this.#maxEntries);
        return;
      }
    });
  }

  async #readAnew(from: 'position' | 'start' | 'end'): Promise<void> {
    let after = from === 'position' ? this.position : null;
    let page = await this.#read(from === 'end' ? { last: this.#pageSize } : { first: this.#pageSize, after })
      .catch((error: unknown) => (after ? nullIfBadCursor(error) : Promise.reject(error)));
    if (!page) {
      after = null;
      this.#lostPosition = true;
      page = await this.#read({ first: this.#pageSize });
    }
    this.#loaded = startRange(page, this.#field, this.#order, after !== null);
    this.#resume = page.pageInfo.endCursor;
  }

  // inTurn runs a read after all others, and then applies again the changes that arrived during
  // it, because the page may be older than they are.
  #inTurn(read: () => Promise<void>): Promise<void> {
    const turn = this.#reads.then(async () => {
      const meanwhile: LibraryChange<E>[] = [];
      this.#meanwhile = meanwhile;
      try {
        await read();
      } finally {
        this.#meanwhile = null;
      }
      for (const change of meanwhile) this.#apply(change);
      this.#publish();
    });
    this.#reads = turn.catch(() => {});
    return turn;
  }

  get #byTitle(): { byTitle?: true } {
    return this.#field === 'TITLE' ? { byTitle: true } : {};
  }

  async #read(part: Partial<LibraryPageQueryVariables>): Promise<Page<E>> {
    const { principalId: id, includeShared, filter } = this.#options;
    const variables = { id, orderBy: { field: this.#field, direction: this.#order }, ...this.#byTitle,
      ...(includeShared && { includeShared }), ...(filter && { filter }), ...part };
    const { principal } = await this.#client.execute(this.#documents.page, variables, { signal: this.#closing.signal });
    if (!principal) throw new RequestError(200, [{ message: `${id} does not exist, or the viewer may not see it.`,
      extensions: { code: 'NOT_FOUND' } }]);
    this.#options.onEntries?.(principal.library.edges);
    return principal.library;
  }

  #publish(status?: LibrarySnapshot['status'], error?: unknown): void {
    this.#update(status, error);
    this.#notify();
  }

  #update(status = this.#snapshot.status, error = this.#snapshot.error): void {
    this.#snapshot = {
      status: this.#snapshot.status === 'closed' ? 'closed' : status,
      isLoaded: this.#loaded !== undefined,
      entries: this.#loaded?.entries ?? [],
      hasPrevious: this.#loaded?.previous.more ?? false,
      hasNext: this.#loaded?.next.more ?? false,
      lostPosition: this.#lostPosition,
      error,
    };
  }

  #notify(): void {
    this.#isWaiting = false;
    for (const listener of [...this.#listeners]) guarded(listener);
  }

  // notifySoon notifies the listeners once of changes that arrive together, after the first one: a
  // user interface may limit how often it is updated without a pause.
  #notifySoon(): void {
    if (this.#burst !== undefined) {
      this.#isWaiting = true;
      return;
    }
    this.#notify();
    this.#burst = setTimeout(() => {
      this.#burst = undefined;
      if (this.#isWaiting) this.#notify();
    });
  }
}

// guarded calls a listener. Its error is reported as uncaught, and does not stop the library.
function guarded(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

// nullIfBadCursor returns null for the error of a cursor that is not valid, and throws any other.
function nullIfBadCursor(error: unknown): null {
  if (error instanceof CarrelError && error.code === 'BAD_CURSOR') return null;
  throw error;
}
