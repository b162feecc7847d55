// What a client holds of one library: a stretch of it, without gaps, in the
// order of its connection. Pages join it at either end; changes that the
// gateway tells of move entries within it. Nothing here knows GraphQL or
// Apollo, so that every rule can be tried without them.
//
// A stretch is { direction, edges, pageInfo, newest } and is never changed in
// place. newest is the cursor that was made last, from which the gateway tells
// what has happened since.
//
// An edge has, beside what the gateway answered, the key of its item, and the
// time of the item's last change when the edge was made. The item is a record
// that others read and change too; it may be newer than its place here, until
// the gateway tells where it has moved to. Times are RFC 3339 in UTC with
// microseconds, so that text compares right.

export type Direction = 'ASC' | 'DESC';

export type Edge = {
  cursor: string;
  key: string;
  time?: string | undefined;
};

interface PageInfo {
  hasPreviousPage: boolean;
  hasNextPage: boolean;
  startCursor: string | null;
  endCursor: string | null;
}

// Page is what the gateway answers of a library.
export interface Page<E extends Edge> {
  edges: readonly E[];
  pageInfo: PageInfo;
}

export interface Stretch<E extends Edge> extends Page<E> {
  direction: Direction;
  newest: string | null;
}

// Asked is where a page was asked for: after a cursor, before one, or with neither.
export interface Asked {
  direction: Direction;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

// mostHeld is how many entries a stretch keeps: a page far down stays quick,
// and what was left behind is read again on the way back.
export const mostHeld = 300;

// joinPage adds a page that was read after the stretch's end or before its
// start. A page from anywhere else, or asked for with neither, begins a new one.
// An item met twice is held once.
export function joinPage<E extends Edge>(held: Stretch<E> | undefined, page: Page<E>, { direction, after = null, before = null }: Asked): Stretch<E> {
  const { edges, pageInfo } = page;
  const incoming = { direction, edges, pageInfo, newest: pageInfo.endCursor };
  if (!held || held.direction !== direction || (!after && !before)) return incoming;
  if (after && after === held.pageInfo.endCursor) return { ...join(held, incoming, 'start'), newest: held.newest };
  if (before && before === held.pageInfo.startCursor) return { ...join(incoming, held, 'end'), newest: held.newest };
  return incoming;
}

type Side = 'start' | 'end';

// join puts two stretches together and cuts what is too much from one side. A
// page that joins later does not make the stretch as a whole any newer.
function join<E extends Edge>(first: Stretch<E>, second: Stretch<E>, cutAt: Side): Omit<Stretch<E>, 'newest'> {
  const { direction } = first;
  const edges = withoutTwins([...first.edges, ...second.edges], direction);
  const pageInfo = {
    ...first.pageInfo,
    hasPreviousPage: first.pageInfo.hasPreviousPage || (cutAt === 'end' && isOpen(first, direction === 'DESC')),
    startCursor: first.pageInfo.startCursor ?? second.pageInfo.startCursor,
    hasNextPage: second.pageInfo.hasNextPage || (cutAt === 'start' && isOpen(second, direction === 'ASC')),
    endCursor: second.pageInfo.endCursor ?? first.pageInfo.endCursor,
  };
  return cut({ direction, edges, pageInfo }, cutAt);
}

// isOpen tells whether there may be more beyond a page that says it is the last
// one. A walk towards the newest end leaves out what has moved there since it
// began; from its last page on that can be read, until a page is empty.
function isOpen(page: Page<Edge>, towardsNewest: boolean): boolean {
  return towardsNewest && page.edges.length > 0;
}

// withoutTwins keeps, of an item met twice, the entry nearer the newest end:
// entries move that way only.
function withoutTwins<E extends Edge>(edges: readonly E[], direction: Direction): readonly E[] {
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

// placeEntry takes an entry to where it stands now. One that belongs beyond an
// end that is not the library's own is left out, and the stretch ends before it:
// whoever scrolls there reads it. Where nothing else is left, the stretch stays
// at the place where it was: what lies between is read from there. Old news, and
// news of an entry that has not moved, move nothing.
export function placeEntry<E extends Edge, Held extends Stretch<E>>(held: Held, edge: E & { time: string }): Held {
  const told = { ...held, newest: edge.cursor };
  const before = held.edges.find(({ key }) => key === edge.key);
  if (before?.time && before.time >= edge.time) return told;
  const rest = dropEntry(told, edge.key);
  const { edges } = rest;
  const index = indexFor(rest, edge);
  const pageInfo = { ...rest.pageInfo };
  const newerUnread = rest.direction === 'ASC' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
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

// indexFor is where an entry belongs, in the order of the gateway: by time, then
// by key.
function indexFor({ direction, edges }: Stretch<Edge>, edge: Edge & { time: string }): number {
  const sign = direction === 'DESC' ? -1 : 1;
  const index = edges.findIndex((other) => sign * (compare(edge.time, other.time ?? edge.time) || compare(edge.key, other.key)) < 0);
  return index < 0 ? edges.length : index;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// settle writes down the times of edges that have none yet.
export function settle<Held extends Page<Edge>>(held: Held, timeOf: (key: string) => string | undefined): Held {
  if (held.edges.every(({ time }) => time)) return held;
  return { ...held, edges: held.edges.map((edge) => (edge.time ? edge : { ...edge, time: timeOf(edge.key) })) };
}

// dropEntry takes an item out. The cursors at the ends stay: the place of an
// item that is gone is still a place.
export function dropEntry<Held extends Page<Edge>>(held: Held, key: string): Held {
  const edges = held.edges.filter((edge) => edge.key !== key);
  return edges.length === held.edges.length ? held : { ...held, edges };
}

// holdsPlace tells whether a stretch can be shown from the place after a cursor
// on; without one, from the beginning of the library.
export function holdsPlace(held: Page<Edge> | undefined, after: string | null): boolean {
  if (!held) return false;
  if (!after) return !held.pageInfo.hasPreviousPage;
  return held.edges.some((edge) => edge.cursor === after);
}

// byDay parts edges into the days on which their items were changed, in the
// order they come. dayOf gives the day of an item's time.
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
