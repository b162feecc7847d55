// fetch/titles.ts
// A library by title that stays up to date, from its beginning as far as it was loaded.
import { resume } from '../resume.ts';
import { failureOf, outdated, repeat } from '../retry.ts';
import type { Order } from '../order.ts';
import type { Session } from '../session.ts';
import { GatewayError, overFetch, post } from './gateway.ts';

const EDGE = `cursor sortKey(field: TITLE) node { id title version }`;

const BY_TITLE = `
  query ByTitle($id: ID!, $first: Int!, $after: Cursor, $direction: OrderDirection!) {
    principal(id: $id) {
      library(first: $first, after: $after, orderBy: { field: TITLE, direction: $direction }) {
        edges { ${EDGE} }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`;

const TITLES_CHANGED = `
  subscription TitlesChanged($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      ... on LibraryEntryPlaced { edge { ${EDGE} } }
      ... on LibraryEntryRemoved { contentId }
    }
  }
`;

export interface TitleEdge {
  cursor: string;
  sortKey: string;
  node: { id: string; title: string; version: number };
}

export type TitleChange =
  { edge: TitleEdge; contentId?: undefined } | { contentId: string; edge?: undefined };

interface Page {
  edges: TitleEdge[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

// Titles is the loaded part. If the library continues, the next page begins after endCursor, and
// endKey is the sort key there. Both are of a page: the cursor of an event is no position by title.
export interface Titles {
  order: Order;
  edges: TitleEdge[];
  hasNextPage: boolean;
  endCursor: string | null;
  endKey: string;
}

// withPage adds the next page. An item that was renamed meanwhile may be in two pages.
export function withPage(titles: Titles, { edges, pageInfo }: Page): Titles {
  const all = [...titles.edges, ...edges];
  const newest = new Map<string, TitleEdge>();
  for (const edge of all)
    if (edge.node.version >= (newest.get(edge.node.id)?.node.version ?? 0))
      newest.set(edge.node.id, edge);
  return {
    order: titles.order,
    edges: all.filter((edge) => newest.get(edge.node.id) === edge),
    hasNextPage: pageInfo.hasNextPage,
    endCursor: edges.at(-1)?.cursor ?? pageInfo.endCursor,
    endKey: edges.at(-1)?.sortKey ?? titles.endKey,
  };
}

// withTitle places a changed item by its sort key, or leaves it out if it belongs on a page that is
// not loaded yet.
export function withTitle(titles: Titles, change: TitleChange): Titles {
  const id = change.edge?.node.id ?? change.contentId;
  const edges = titles.edges.filter(({ node }) => node.id !== id);
  const { edge } = change;
  if (!edge) return { ...titles, edges };

  const isAfter = (a: string, b: string) => (titles.order === 'ASC' ? a > b : a < b);
  if (titles.hasNextPage && isAfter(edge.sortKey, titles.endKey)) return { ...titles, edges };
  const found = edges.findIndex((other) => isAfter(other.sortKey, edge.sortKey));
  const index = found < 0 ? edges.length : found;
  return { ...titles, edges: [...edges.slice(0, index), edge, ...edges.slice(index)] };
}

const missing = {
  message: 'There is no such library, or you may not see it.',
  extensions: { code: 'NOT_FOUND' },
};

function nothingOf(order: Order): Titles {
  return { order, edges: [], hasNextPage: true, endCursor: null, endKey: '' };
}

// TitleView is a library as a component shows it, from A to Z (ASC) or from Z to A (DESC).
export class TitleView {
  readonly #url: string;
  readonly #session: Session;
  readonly #id: string;
  readonly #show: (titles: Titles) => void;
  readonly #pageSize: number;
  #titles: Titles;
  #meanwhile: TitleChange[] = [];

  constructor(
    url: string,
    session: Session,
    id: string,
    order: Order,
    show: (titles: Titles) => void,
    pageSize = 20,
  ) {
    this.#url = url;
    this.#session = session;
    this.#id = id;
    this.#show = show;
    this.#pageSize = pageSize;
    this.#titles = nothingOf(order);
  }

  // load reads the next page; the first time, the first one. Changes that arrive meanwhile are
  // applied once more. It begins again if the gateway says that the cursor is outdated.
  load(): Promise<void> {
    return this.#loadAfter().catch((error) => {
      if (!outdated.has(failureOf(error).code)) throw error;
      return this.#loadAfter(nothingOf(this.#titles.order));
    });
  }

  async #loadAfter(start?: Titles): Promise<void> {
    const { order: direction, endCursor: after } = start ?? this.#titles;
    const first = this.#pageSize;
    this.#meanwhile = [];
    const request = { query: BY_TITLE, variables: { id: this.#id, first, after, direction } };
    const { principal } = await repeat(() =>
      post<{ principal: { library: Page } | null }>(this.#url, this.#session, request),
    );
    if (!principal) throw new GatewayError([missing]);
    if (!start && after !== this.#titles.endCursor) return; // the first page was read again
    this.#set(this.#meanwhile.reduce(withTitle, withPage(start ?? this.#titles, principal.library)));
  }

  // follow applies changes, from the page that was read first. It returns a function that ends it.
  follow(onError: (error: unknown) => void): () => void {
    const variables = { id: this.#id, after: this.#titles.endCursor };
    const request = { query: TITLES_CHANGED, variables };
    return resume(overFetch(this.#url, this.#session), this.#session, request, {
      next: ({ data }) => {
        const { libraryChanged } = data as unknown as { libraryChanged: TitleChange };
        this.#meanwhile.push(libraryChanged);
        this.#set(withTitle(this.#titles, libraryChanged));
      },
      error: onError,
      complete: () => {},
      opened: () => void this.#loadAfter(nothingOf(this.#titles.order)).catch(onError),
      reread: async () => {
        await this.#loadAfter(nothingOf(this.#titles.order));
        return this.#titles.endCursor;
      },
    });
  }

  #set(titles: Titles): void {
    this.#titles = titles;
    this.#show(titles);
  }
}
