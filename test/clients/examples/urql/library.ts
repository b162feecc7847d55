import { gql, type Client } from '@urql/core';
import * as operations from '../operations.ts';
import type {
  ChangedData,
  LibraryData,
  LibraryVariables,
  UpdateData,
  UpdateVariables,
} from '../operations.ts';
import type { LibraryConnection, Order } from '../order.ts';
import { repeat } from '../retry.ts';

const LIBRARY = gql<LibraryData, LibraryVariables>(operations.LIBRARY);
const LIBRARY_CHANGED = gql<ChangedData, { id: string; after: string | null }>(
  operations.LIBRARY_CHANGED,
);
const UPDATE = gql<UpdateData, UpdateVariables>(operations.UPDATE);

//#region library
// LibraryView is a library as a component shows it: `show` gets the joined pages.
export class LibraryView {
  readonly #client: Client;
  readonly #first: LibraryVariables;
  readonly #order: Order;
  #library: LibraryConnection | undefined;
  #after: string | null = null;

  constructor(client: Client, id: string, order: Order, pageSize = 20) {
    this.#client = client;
    this.#order = order;
    this.#first = { id, orderBy: { field: 'LAST_MODIFIED', direction: order }, first: pageSize };
  }

  open(show: (library: LibraryConnection) => void): () => void {
    const { unsubscribe } = this.#client.query(LIBRARY, this.#first).subscribe(({ data }) => {
      this.#library = data?.principal?.library;
      this.#after ??= this.#library?.pageInfo.endCursor ?? null; // of the page that was read first
      if (this.#library) show(this.#library);
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
    for (;;) {
      const { first, ...variables } = this.#first;
      const pageInfo = this.#library?.pageInfo;
      const part =
        side === 'next'
          ? { first, after: pageInfo?.endCursor ?? null }
          : { last: first, before: pageInfo?.startCursor ?? null };
      const loaded = this.#library?.edges.length ?? 0;
      await repeat(() =>
        this.#client.query(LIBRARY, { ...variables, ...part } as LibraryVariables).toPromise(),
      );
      // The walk to the newest end leaves out what moved there since it began: read on until a
      // page is empty.
      const more =
        side === 'next'
          ? this.#library?.pageInfo.hasNextPage
          : this.#library?.pageInfo.hasPreviousPage;
      if (!isNewestSide || more || (this.#library?.edges.length ?? 0) <= loaded) return;
    }
  }
}
//#endregion

//#region save
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
//#endregion
