// view.ts
// A library that stays up to date, read by any client that is a Source.
import type { ChangedData, LibraryData, LibraryVariables } from './operations.ts';
import {
  withChange,
  type LibraryChange,
  type LibraryConnection,
  type LibraryState,
  type Order,
  type PageInfo,
} from './order.ts';
import type { Sink } from './resume.ts';
import { failureOf, outdated, repeat } from './retry.ts';

export interface Source {
  // Reads the document LIBRARY, not from a cache. It is rejected if the gateway answers with errors.
  read(variables: LibraryVariables): Promise<LibraryData>;
  // Subscribes to LIBRARY_CHANGED, and returns a function that stops it.
  follow(variables: { id: string; after: string | null }, sink: Sink): () => void;
}

// LibraryView is a library as a component shows it: `show` gets all loaded entries, null for a
// library that is missing, or why it cannot be read.
export class LibraryView {
  readonly #source: Source;
  readonly #id: string;
  readonly #order: Order;
  readonly #show: (state: LibraryState) => void;
  readonly #pageSize: number;
  #library: LibraryConnection | null | undefined;
  #meanwhile: LibraryChange[] = [];
  #starts = 0;

  constructor(
    source: Source,
    id: string,
    order: Order,
    show: (state: LibraryState) => void,
    pageSize = 20,
  ) {
    this.#source = source;
    this.#id = id;
    this.#order = order;
    this.#show = show;
    this.#pageSize = pageSize;
  }

  // open shows the first page. After a failure, the same again is another attempt.
  async open(): Promise<void> {
    this.#show({ library: this.#library });
    try {
      await this.#start();
    } catch (error) {
      this.#show({ library: this.#library, error });
    }
  }

  // start shows the first page only, and returns its cursor.
  async #start(): Promise<string | null> {
    this.#meanwhile = [];
    const library = await this.#read({ first: this.#pageSize });
    this.#starts += 1;
    this.#set(library && this.#caughtUp(library));
    return library?.pageInfo.endCursor ?? null;
  }

  follow(onError: (error: unknown) => void): () => void {
    const variables = { id: this.#id, after: this.#library?.pageInfo.endCursor ?? null };
    return this.#source.follow(variables, {
      next: ({ data }) => {
        const { libraryChanged } = data as unknown as ChangedData;
        this.#meanwhile.push(libraryChanged);
        if (this.#library) this.#set(withChange(this.#library, libraryChanged, this.#order));
      },
      error: onError,
      complete: () => {},
      opened: () => void this.open(),
      reread: () => this.#start(),
    });
  }

  // load reads one more page. Changes that arrive while it is on its way are applied once more:
  // the page may be older than they are.
  async load(side: 'next' | 'previous'): Promise<void> {
    if (!this.#library) return;
    const { pageInfo } = this.#library;
    const cursor = side === 'next' ? pageInfo.endCursor : pageInfo.startCursor;
    if (!cursor) return void (await this.#start()); // nothing is loaded
    const starts = this.#starts;
    this.#meanwhile = [];
    try {
      const page = await this.#readMore(side, pageInfo);
      if (starts !== this.#starts) return; // the first page was read again: this one is not the next
      this.#set(page && this.#caughtUp(join(this.#library, page, side, this.#order)));
    } catch (error) {
      if (!outdated.has(failureOf(error).code)) throw error;
      await this.#start();
    }
  }

  // readMore returns what follows on one side. A walk to the newest end omits entries that moved
  // there since it began. They follow its last page, in new walks: it reads on until one of these is
  // empty.
  async #readMore(
    side: 'next' | 'previous',
    pageInfo: PageInfo,
  ): Promise<LibraryConnection | null> {
    const isNewestSide = (side === 'next') === (this.#order === 'ASC');
    let all: LibraryConnection = { edges: [], pageInfo };
    for (;;) {
      const { hasNextPage, endCursor, hasPreviousPage, startCursor } = all.pageInfo;
      const page = await this.#read(
        side === 'next'
          ? { first: this.#pageSize, after: endCursor }
          : { last: this.#pageSize, before: startCursor },
      );
      if (!page) return null;
      const isNewWalk = side === 'next' ? !hasNextPage : !hasPreviousPage;
      const more = side === 'next' ? page.pageInfo.hasNextPage : page.pageInfo.hasPreviousPage;
      all = join(all, page, side, this.#order);
      if (!isNewestSide || more || (isNewWalk && page.edges.length === 0)) return all;
    }
  }

  // caughtUp applies the changes that have arrived while a page was on its way.
  #caughtUp(library: LibraryConnection): LibraryConnection {
    return this.#meanwhile.reduce((held, change) => withChange(held, change, this.#order), library);
  }

  // read returns a page; null if there is no such library, or the viewer may not see it.
  async #read(part: Partial<LibraryVariables>): Promise<LibraryConnection | null> {
    const orderBy = { field: 'LAST_MODIFIED', direction: this.#order } as const;
    const { principal } = await repeat(() => this.#source.read({ id: this.#id, orderBy, ...part }));
    return principal && principal.library;
  }

  #set(library: LibraryConnection | null): void {
    this.#library = library;
    this.#show({ library });
  }
}

// join adds a page on one side. If an item is there twice, it keeps the entry nearer the newest end:
// the item moved while the pages were read.
function join(
  library: LibraryConnection,
  page: LibraryConnection,
  side: 'next' | 'previous',
  order: Order,
): LibraryConnection {
  const edges =
    side === 'next' ? [...library.edges, ...page.edges] : [...page.edges, ...library.edges];
  const ids = edges.map(({ node }) => node.id);
  const isKept = (id: string, index: number) =>
    (order === 'ASC' ? ids.lastIndexOf(id) : ids.indexOf(id)) === index;
  const { hasNextPage, endCursor, hasPreviousPage, startCursor } = page.pageInfo;
  const end = side === 'next' ? { hasNextPage, endCursor } : { hasPreviousPage, startCursor };
  return {
    edges: edges.filter(({ node }, index) => isKept(node.id, index)),
    pageInfo: { ...library.pageInfo, ...end },
  };
}
