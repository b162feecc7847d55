// apollo/library.ts
import {
  gql,
  type ApolloClient,
  type ObservableQuery,
  type TypedDocumentNode,
} from '@apollo/client';
import * as operations from '../operations.ts';
import type {
  ChangedData,
  LibraryData,
  LibraryVariables,
  UpdateData,
  UpdateVariables,
} from '../operations.ts';
import {
  withChange,
  type LibraryChange,
  type LibraryConnection,
  type LibraryState,
  type Order,
} from '../order.ts';
import { repeat } from '../retry.ts';

const LIBRARY: TypedDocumentNode<LibraryData, LibraryVariables> = gql(operations.LIBRARY);
const LIBRARY_CHANGED: TypedDocumentNode<ChangedData, { id: string; after: string | null }> = gql(
  operations.LIBRARY_CHANGED,
);
const UPDATE: TypedDocumentNode<UpdateData, UpdateVariables> = gql(operations.UPDATE);

// LibraryView is a library as a component shows it: `query` tells the component when to show the
// state again.
export class LibraryView {
  readonly query: ObservableQuery<LibraryData, LibraryVariables>;
  readonly #id: string;
  readonly #order: Order;
  readonly #pageSize: number;
  #meanwhile: LibraryChange[] = [];

  constructor(client: ApolloClient, id: string, order: Order, pageSize = 20) {
    this.#id = id;
    this.#order = order;
    this.#pageSize = pageSize;
    this.query = client.watchQuery({
      query: LIBRARY,
      variables: { id, orderBy: { field: 'LAST_MODIFIED', direction: order }, first: pageSize },
    });
  }

  state(): LibraryState {
    const { data, error } = this.query.getCurrentResult();
    const library = data && ((data.principal?.library ?? null) as LibraryConnection | null);
    return { library, error };
  }

  // follow applies the changes since the first page was read. It returns a function that stops it.
  follow(onError: (error: unknown) => void): () => void {
    return this.query.subscribeToMore({
      document: LIBRARY_CHANGED,
      variables: { id: this.#id, after: this.state().library?.pageInfo.endCursor ?? null },
      updateQuery: (_, { complete, previousData, subscriptionData }) => {
        if (!complete) return undefined;
        const { libraryChanged } = subscriptionData.data as ChangedData;
        this.#meanwhile.push(libraryChanged);
        return this.#changed(previousData as LibraryData, [libraryChanged]);
      },
      onError,
    });
  }

  // load reads one more page. Changes that arrive while it is on its way are applied once more:
  // the page may be older than they are.
  async load(side: 'next' | 'previous'): Promise<void> {
    const isNewestSide = (side === 'next') === (this.#order === 'ASC');
    let pageInfo = this.state().library?.pageInfo;
    this.#meanwhile = [];
    for (;;) {
      const isNewWalk = side === 'next' ? !pageInfo?.hasNextPage : !pageInfo?.hasPreviousPage;
      const variables =
        side === 'next'
          ? { first: this.#pageSize, after: pageInfo?.endCursor ?? null }
          : { first: null, last: this.#pageSize, before: pageInfo?.startCursor ?? null };
      const { data } = await repeat(() => this.query.fetchMore({ variables }));
      const page = data?.principal?.library as LibraryConnection | undefined;
      this.query.updateQuery((_, { complete, previousData }) =>
        complete ? this.#changed(previousData as LibraryData, this.#meanwhile) : undefined,
      );
      // A walk to the newest end omits entries that moved there since it began. They follow its last
      // page, in new walks: read on until one of these is empty.
      const more = side === 'next' ? page?.pageInfo.hasNextPage : page?.pageInfo.hasPreviousPage;
      if (!page || !isNewestSide || more || (isNewWalk && page.edges.length === 0)) return;
      pageInfo = page.pageInfo;
    }
  }

  #changed({ principal }: LibraryData, changes: readonly LibraryChange[]): LibraryData {
    if (!principal) return { principal };
    const library = changes.reduce(
      (loaded, change) => withChange(loaded, change, this.#order),
      principal.library,
    );
    return { principal: { ...principal, library } };
  }
}

// save returns the userErrors of an update. The idempotencyKey of the input stays the same while the
// user repeats the action.
export async function save(
  client: ApolloClient,
  input: UpdateVariables['input'],
): Promise<UpdateData['updateContent']['userErrors']> {
  const { data } = await repeat(() => client.mutate({ mutation: UPDATE, variables: { input } }));
  return data?.updateContent.userErrors ?? [];
}
