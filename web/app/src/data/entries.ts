// A range of a library: the entries that a client has read, without gaps, in the order of the
// library. Pages are added at either end; events from the gateway move entries within it. This
// module uses neither GraphQL nor Apollo, so that every rule can be tested without them.
//
// A range is { direction, edges, pageInfo, newest } and is never modified in place. newest is the
// cursor that the gateway made last; a subscription resumes from it.
//
// In addition to the fields from the gateway, an edge has the key of its item, and the time of
// the item's last change when the edge was made. The item is a record that is shared with other
// views; it may be newer than its position here, until the gateway reports where it has moved.
// Times are RFC 3339 in UTC with microseconds, so that they compare as text.

// Direction is the order of a library by the time of the last change.
export type Direction = 'ASC' | 'DESC';

// Edge is an entry of a range.
export type Edge = {
  cursor: string;
  key: string;
  time: string;
};

interface PageInfo {
  hasPreviousPage: boolean;
  hasNextPage: boolean;
  startCursor: string | null;
  endCursor: string | null;
}

// Page is a page of a library from the gateway.
export interface Page<E extends Edge> {
  edges: readonly E[];
  pageInfo: PageInfo;
}

// EntryRange is a range of a library.
export interface EntryRange<E extends Edge> extends Page<E> {
  direction: Direction;
  newest: string | null;
}

// PageArguments are the arguments of a requested page: its order, and the cursor after or before
// which it lies, if any.
export interface PageArguments {
  direction: Direction;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

// mostHeld is the number of entries that a range keeps, so that a long list stays fast.
// Entries that were dropped are read again when the reader scrolls back.
export const mostHeld = 300;

// joinPage adds a page that was read after the end of a range or before its start. Any other
// page, also one without a cursor, starts a new range. An item that is in both appears once.
export function joinPage<E extends Edge>(held: EntryRange<E> | undefined, page: Page<E>, { direction, after = null, before = null }: PageArguments): EntryRange<E> {
  const { edges, pageInfo } = page;
  const incoming = { direction, edges, pageInfo, newest: pageInfo.endCursor };
  if (!held || held.direction !== direction || (!after && !before)) return incoming;
  if (after && after === held.pageInfo.endCursor) return { ...join(held, incoming, 'start'), newest: held.newest };
  if (before && before === held.pageInfo.startCursor) return { ...join(incoming, held, 'end'), newest: held.newest };
  return incoming;
}

type Side = 'start' | 'end';

// join joins two ranges and cuts the excess from one side. It leaves newest to the caller,
// because one newer page does not make the whole range newer.
function join<E extends Edge>(first: EntryRange<E>, second: EntryRange<E>, cutAt: Side): Omit<EntryRange<E>, 'newest'> {
  const { direction } = first;
  const edges = withoutDuplicates([...first.edges, ...second.edges], direction);
  const pageInfo = {
    ...first.pageInfo,
    hasPreviousPage: first.pageInfo.hasPreviousPage || (cutAt === 'end' && isOpen(first, direction === 'DESC')),
    startCursor: first.pageInfo.startCursor ?? second.pageInfo.startCursor,
    hasNextPage: second.pageInfo.hasNextPage || (cutAt === 'start' && isOpen(second, direction === 'ASC')),
    endCursor: second.pageInfo.endCursor ?? first.pageInfo.endCursor,
  };
  return cut({ direction, edges, pageInfo }, cutAt);
}

// isOpen reports whether more entries may follow a page that is the last one. Entries that move
// to the newest end while it is being read are not in its pages; they follow the last page,
// until a page is empty.
function isOpen(page: Page<Edge>, towardsNewest: boolean): boolean {
  return towardsNewest && page.edges.length > 0;
}

// withoutDuplicates keeps one entry of each item: the one nearer the newest end,
// because entries only move in that direction.
function withoutDuplicates<E extends Edge>(edges: readonly E[], direction: Direction): readonly E[] {
  const kept = new Map<string, E>();
  for (const edge of edges) {
    if (direction === 'ASC' || !kept.has(edge.key)) kept.set(edge.key, edge);
  }
  return edges.filter((edge) => kept.get(edge.key) === edge);
}

function cut<E extends Edge, Held extends Page<E>>(held: Held, side: Side): Held {
  if (held.edges.length <= mostHeld) return held;
  if (side === 'start') {
    const edges = held.edges.slice(-mostHeld);
    return { ...held, edges, pageInfo: { ...held.pageInfo, hasPreviousPage: true, startCursor: startOf(edges) } };
  }
  const edges = held.edges.slice(0, mostHeld);
  return { ...held, edges, pageInfo: { ...held.pageInfo, hasNextPage: true, endCursor: endOf(edges) } };
}

// startOf and endOf are the cursors of the first and the last edge.
const startOf = (edges: readonly Edge[]) => edges[0]?.cursor ?? null;
const endOf = (edges: readonly Edge[]) => edges.at(-1)?.cursor ?? null;

// placeEntry moves an entry to its present position. If the entry belongs beyond an end of the
// range, and the library continues there, it is removed, and read when the reader scrolls there.
// If it was the only entry, the range keeps its position, and is read from there. Old events, and
// events of entries that have not moved, change nothing but newest.
export function placeEntry<E extends Edge, Held extends EntryRange<E>>(held: Held, edge: E): Held {
  const current = { ...held, newest: edge.cursor };
  const before = held.edges.find(({ key }) => key === edge.key);
  if (before && before.time >= edge.time) return current;
  const rest = dropEntry(current, edge.key);
  const { edges } = rest;
  const index = indexFor(rest, edge);
  const pageInfo = { ...rest.pageInfo };
  const newerUnread = rest.direction === 'ASC' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
  // The cursors of an emptied range do not show on which side of them the entry belongs, so
  // the range starts again at the entry, and everything else is read from there.
  if (edges.length === 0 && !before && (pageInfo.hasPreviousPage || pageInfo.hasNextPage)) {
    return { ...rest, edges: [edge], pageInfo: { ...pageInfo, hasPreviousPage: true, hasNextPage: true, startCursor: edge.cursor, endCursor: edge.cursor } };
  }
  if (edges.length === 0 && newerUnread) return { ...rest, pageInfo };
  if (edges.length > 0 && index === 0 && pageInfo.hasPreviousPage) {
    return { ...rest, pageInfo: { ...pageInfo, startCursor: startOf(edges) } };
  }
  if (edges.length > 0 && index === edges.length && pageInfo.hasNextPage) {
    return { ...rest, pageInfo: { ...pageInfo, endCursor: endOf(edges) } };
  }
  if (index === 0) pageInfo.startCursor = edge.cursor;
  if (index === edges.length) pageInfo.endCursor = edge.cursor;
  return { ...rest, edges: edges.toSpliced(index, 0, edge), pageInfo };
}

// indexFor returns the index at which an entry belongs, in the order of the gateway: by time,
// then by key.
function indexFor({ direction, edges }: EntryRange<Edge>, edge: Edge): number {
  const sign = direction === 'DESC' ? -1 : 1;
  const index = edges.findIndex((other) => sign * (compare(edge.time, other.time) || compare(edge.key, other.key)) < 0);
  return index < 0 ? edges.length : index;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// dropEntry removes an item. The cursors at the ends stay, because a cursor is valid even after
// its item was removed.
export function dropEntry<Held extends Page<Edge>>(held: Held, key: string): Held {
  const edges = held.edges.filter((edge) => edge.key !== key);
  return edges.length === held.edges.length ? held : { ...held, edges };
}

// holdsPosition reports whether a range contains the position after a cursor, or for null whether
// it contains the beginning of the library.
export function holdsPosition(held: Page<Edge> | undefined, after: string | null): boolean {
  if (!held) return false;
  if (!after) return !held.pageInfo.hasPreviousPage;
  return held.edges.some((edge) => edge.cursor === after);
}

// byDay groups edges by the days on which their items were changed, in their order. dayOf
// returns the day of an item's time.
export function byDay<E extends { node: { lastModified: string } }>(edges: readonly E[], dayOf: (time: string) => string): { day: string; edges: E[] }[] {
  const days: { day: string; edges: E[] }[] = [];
  for (const edge of edges) {
    const day = dayOf(edge.node.lastModified);
    const last = days.at(-1);
    if (last?.day === day) last.edges.push(edge);
    else days.push({ day, edges: [edge] });
  }
  return days;
}
