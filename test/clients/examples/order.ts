// order.ts
// Where an entry belongs in the loaded part of a library.

export type Order = 'ASC' | 'DESC';

export interface Item {
  id: string;
  title: string;
  version: number;
  lastModified: string;
}

export interface LibraryEdge {
  cursor: string;
  node: Item;
}

export interface LibraryConnection {
  edges: LibraryEdge[];
  pageInfo: PageInfo;
}

export interface PageInfo {
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  startCursor: string | null;
  endCursor: string | null;
}

export type LibraryChange =
  { edge: LibraryEdge; contentId?: undefined } | { contentId: string; edge?: undefined };

// LibraryState is what a component shows of a library.
export interface LibraryState {
  // The loaded entries: undefined until they were read, null if there is no such library or the
  // viewer may not see it.
  library: LibraryConnection | null | undefined;
  // Why the library could not be read; undefined if it could.
  error?: unknown;
}

export interface UserError {
  code: string;
  // What is wrong, if the code is INVALID: EMPTY, TOO_LONG, ...
  reason?: string | null;
  field: string[] | null;
  message: string;
  currentVersion?: number | null;
}

type Position = Pick<Item, 'id' | 'lastModified'>;

function isNewer(a: Position, b: Position): boolean {
  return a.lastModified > b.lastModified || (a.lastModified === b.lastModified && a.id > b.id);
}

export interface Place {
  index: number;
  // If the entry may belong on a page that is not loaded: the end of the list where that page is.
  beyond: 'newest' | 'oldest' | null;
}

// placeFor returns where an entry belongs among the other loaded entries; if there are none, no page
// may follow. It searches from the newest end: an item that changes very often may still be listed at
// an older place.
export function placeFor(
  others: readonly Position[],
  entry: Position,
  order: Order,
  { hasNextPage, hasPreviousPage }: Pick<PageInfo, 'hasNextPage' | 'hasPreviousPage'>,
): Place {
  let index = others.length;
  if (order === 'ASC')
    while (index > 0 && isNewer(others[index - 1] as Position, entry)) index -= 1;
  else if (others.some((other) => isNewer(entry, other)))
    index = others.findIndex((other) => isNewer(entry, other));

  if (index === 0 && hasPreviousPage)
    return { index, beyond: order === 'ASC' ? 'oldest' : 'newest' };
  if (index === others.length && hasNextPage)
    return { index, beyond: order === 'ASC' ? 'newest' : 'oldest' };
  return { index, beyond: null };
}

// withChange returns the loaded part of a library after a change. An entry that may belong beyond
// an end is left out, and that end moves to the last entry before it: the next load at that end
// returns it. A loaded entry that still is the oldest one stays: entries do not move to the oldest end.
export function withChange(
  library: LibraryConnection,
  { edge, contentId }: LibraryChange,
  order: Order,
): LibraryConnection {
  const id = edge?.node.id ?? contentId;
  const held = library.edges.find(({ node }) => node.id === id);
  const edges = library.edges.filter((other) => other !== held);
  if (!edge) return { ...library, edges };

  const { pageInfo } = library;
  if (edges.length === 0 && (pageInfo.hasNextPage || pageInfo.hasPreviousPage)) {
    // There is no loaded entry to compare it with: the next load reads the first page again.
    const more = { hasNextPage: true, hasPreviousPage: false };
    return { edges, pageInfo: { ...pageInfo, ...more, startCursor: null, endCursor: null } };
  }
  const others = edges.map(({ node }) => node);
  const { index, beyond } = placeFor(others, edge.node, order, pageInfo);
  if (!beyond || (held && beyond === 'oldest')) {
    // The newest entry ends the walk that has read all entries: another one begins after it.
    const isNewest = index === (order === 'ASC' ? edges.length : 0);
    const end = order === 'ASC' ? { endCursor: edge.cursor } : { startCursor: edge.cursor };
    return {
      edges: [...edges.slice(0, index), edge, ...edges.slice(index)],
      pageInfo: isNewest ? { ...pageInfo, ...end } : pageInfo,
    };
  }
  const isAtStart = (beyond === 'oldest') === (order === 'ASC');
  const end = isAtStart
    ? { startCursor: edges[0]?.cursor ?? null }
    : { endCursor: edges.at(-1)?.cursor ?? null };
  return { ...library, edges, pageInfo: { ...pageInfo, ...end } };
}
