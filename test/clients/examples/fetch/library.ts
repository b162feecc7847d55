import {
  LIBRARY,
  LIBRARY_CHANGED,
  UPDATE,
  type ChangedData,
  type LibraryData,
  type UpdateData,
  type UpdateVariables,
} from '../operations.ts';
import { withChange, type LibraryChange, type LibraryConnection, type Order } from '../order.ts';
import { resume } from '../resume.ts';
import { repeat } from '../retry.ts';
import type { Session } from '../session.ts';
import { overFetch, post } from './gateway.ts';

//#region library
// LibraryView is a library as a component shows it: `show` gets all loaded entries.
export class LibraryView {
  #library: LibraryConnection | undefined;
  #meanwhile: LibraryChange[] = [];

  constructor(
    readonly url: string,
    readonly session: Session,
    readonly id: string,
    readonly order: Order,
    readonly show: (library: LibraryConnection) => void,
    readonly pageSize = 20,
  ) {}

  async open(): Promise<void> {
    this.#set(await this.#read({ first: this.pageSize }));
  }

  follow(onError: (error: unknown) => void): () => void {
    const request = {
      query: LIBRARY_CHANGED,
      variables: { id: this.id, after: this.#library?.pageInfo.endCursor ?? null },
    };
    return resume(overFetch(this.url, this.session), this.session, request, {
      next: ({ data }) => {
        const { libraryChanged } = data as unknown as ChangedData;
        this.#meanwhile.push(libraryChanged);
        if (this.#library) this.#set(withChange(this.#library, libraryChanged, this.order));
      },
      error: onError,
      complete: () => {},
    });
  }

  // load reads one more page. Changes that arrive while it is on its way are applied once more:
  // the page may be older than they are.
  async load(side: 'next' | 'previous'): Promise<void> {
    const isNewestSide = (side === 'next') === (this.order === 'ASC');
    for (;;) {
      const pageInfo = this.#library?.pageInfo;
      this.#meanwhile = [];
      const part =
        side === 'next'
          ? { first: this.pageSize, after: pageInfo?.endCursor }
          : { last: this.pageSize, before: pageInfo?.startCursor };
      const page = await this.#read(part);
      const joined = join(this.#library ?? page, page, side, this.order);
      this.#set(
        this.#meanwhile.reduce(
          (library, change) => withChange(library, change, this.order),
          joined,
        ),
      );
      // A walk to the newest end omits entries that moved there since it began: read on until a
      // page is empty.
      const more = side === 'next' ? page.pageInfo.hasNextPage : page.pageInfo.hasPreviousPage;
      if (!isNewestSide || more || page.edges.length === 0) return;
    }
  }

  async #read(part: object): Promise<LibraryConnection> {
    const variables = {
      id: this.id,
      orderBy: { field: 'LAST_MODIFIED', direction: this.order },
      ...part,
    };
    const { principal } = await repeat(() =>
      post<LibraryData>(this.url, this.session, { query: LIBRARY, variables }),
    );
    if (!principal) throw new Error('There is no such library, or you may not see it.');
    return principal.library;
  }

  #set(library: LibraryConnection): void {
    this.#library = library;
    this.show(library);
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
//#endregion

//#region save
export async function save(
  url: string,
  session: Session,
  input: UpdateVariables['input'],
): Promise<UpdateData['updateContent']['userErrors']> {
  const { updateContent } = await repeat(() =>
    post<UpdateData>(url, session, { query: UPDATE, variables: { input } }),
  );
  return updateContent.userErrors;
}
//#endregion
