// urql/library.ts
import { gql, type Client } from '@urql/core';
import * as operations from '../operations.ts';
import type {
  ChangedData,
  LibraryData,
  LibraryVariables,
  UpdateData,
  UpdateVariables,
} from '../operations.ts';
import type { LibraryConnection, LibraryState, Order } from '../order.ts';
import { repeat } from '../retry.ts';

const LIBRARY = gql<LibraryData, LibraryVariables>(operations.LIBRARY);
const LIBRARY_CHANGED = gql<ChangedData, { id: string; after: string | null }>(
  operations.LIBRARY_CHANGED,
);
const UPDATE = gql<UpdateData, UpdateVariables>(operations.UPDATE);

// LibraryView is a library as a component shows it: `show` gets the joined pages, null for a
// library that is missing, or why it cannot be read.
export class LibraryView {
  readonly #client: Client;
  readonly #first: LibraryVariables;
  readonly #order: Order;
  #after: string | null = null;

  constructor(client: Client, id: string, order: Order, pageSize = 20) {
    this.#client = client;
    this.#order = order;
    this.#first = { id, orderBy: { field: 'LAST_MODIFIED', direction: order }, first: pageSize };
  }

  // open returns a function that stops showing. After a failure, another open is another attempt.
  open(show: (state: LibraryState) => void): () => void {
    show({ library: undefined });
    const results = this.#client.query(LIBRARY, this.#first);
    const { unsubscribe } = results.subscribe(({ data, error }) => {
      if (error) return show({ library: data?.principal?.library, error });
      const library = data?.principal?.library ?? null;
      this.#after ??= library?.pageInfo.endCursor ?? null; // of the page that was read first
      show({ library });
    });
    return unsubscribe;
  }

  follow(onError: (error: unknown) => void): () => void {
    const variables = { id: this.#first.id, after: this.#after };
    const { unsubscribe } = this.#client
      .subscription(LIBRARY_CHANGED, variables)
      .subscribe(({ error }) => error && onError(error));
    return unsubscribe;
  }

  // load reads one more page. The cache adds it to what open shows.
  async load(side: 'next' | 'previous'): Promise<void> {
    const isNewestSide = (side === 'next') === (this.#order === 'ASC');
    const { first, ...variables } = this.#first;
    let library = await this.#read(this.#first);
    for (;;) {
      const { edges, pageInfo } = library;
      const part =
        side === 'next'
          ? { first, after: pageInfo.endCursor }
          : { last: first, before: pageInfo.startCursor };
      await this.#read({ ...variables, ...part } as LibraryVariables);
      library = await this.#read(this.#first);
      // A walk to the newest end omits entries that moved there since it began: read on until a
      // page is empty.
      const more =
        side === 'next' ? library.pageInfo.hasNextPage : library.pageInfo.hasPreviousPage;
      if (!isNewestSide || more || library.edges.length <= edges.length) return;
    }
  }

  // read reads a page and returns it joined with the other pages. If that page is already being
  // read, read waits for the response: a change that invalidates the first page makes urql read it
  // again, and until that response arrives, the joined pages are outdated.
  async #read(variables: LibraryVariables): Promise<LibraryConnection> {
    const { principal } = await repeat(async () => {
      const { data, error } = await this.#client.query(LIBRARY, variables).toPromise();
      if (error || !data) throw error;
      return data;
    });
    if (!principal) throw new Error('The library does not exist, or you do not have access to it.');
    return principal.library;
  }
}

export async function save(
  client: Client,
  input: UpdateVariables['input'],
): Promise<UpdateData['updateContent']['userErrors']> {
  const { updateContent } = await repeat(async () => {
    const { data, error } = await client.mutation(UPDATE, { input }).toPromise();
    if (!data) throw error;
    return data;
  });
  return updateContent.userErrors;
}
