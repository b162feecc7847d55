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

// mostHeld is how many entries a stretch keeps: a page far down stays quick,
// and what was left behind is read again on the way back.
export const mostHeld = 300;

// joinPage adds a page that was read after the stretch's end or before its
// start. A page from anywhere else, or asked for with neither, begins a new one.
// An item met twice is held once.
export function joinPage(held, page, { direction, after = null, before = null }) {
  const { edges, pageInfo } = page;
  const incoming = { direction, edges, pageInfo, newest: pageInfo.endCursor };
  if (!held || held.direction !== direction || (!after && !before)) return incoming;
  if (after && after === held.pageInfo.endCursor) return { ...join(held, incoming, 'start'), newest: held.newest };
  if (before && before === held.pageInfo.startCursor) return { ...join(incoming, held, 'end'), newest: held.newest };
  return incoming;
}

// join puts two stretches together and cuts what is too much from one side. A
// page that joins later does not make the stretch as a whole any newer.
function join(first, second, cutAt) {
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
function isOpen(page, towardsNewest) {
  return towardsNewest && page.edges.length > 0;
}

// withoutTwins keeps, of an item met twice, the entry nearer the newest end:
// entries move that way only.
function withoutTwins(edges, direction) {
  const kept = new Map();
  for (const edge of edges) {
    if (direction === 'ASC' || !kept.has(edge.key)) kept.set(edge.key, edge);
  }
  return edges.filter((edge) => kept.get(edge.key) === edge);
}

function cut(held, side) {
  if (held.edges.length <= mostHeld) return held;
  if (side === 'start') {
    const edges = held.edges.slice(-mostHeld);
    return { ...held, edges, pageInfo: { ...held.pageInfo, hasPreviousPage: true, startCursor: edges[0].cursor } };
  }
  const edges = held.edges.slice(0, mostHeld);
  return { ...held, edges, pageInfo: { ...held.pageInfo, hasNextPage: true, endCursor: edges.at(-1).cursor } };
}

// placeEntry takes an entry to where it stands now. One that belongs beyond an
// end that is not the library's own is left out, and the stretch ends before it:
// whoever scrolls there reads it. Where nothing else is left, the stretch stays
// at the place where it was: what lies between is read from there. Old news, and
// news of an entry that has not moved, move nothing.
export function placeEntry(held, edge) {
  const told = { ...held, newest: edge.cursor };
  const before = held.edges.find(({ key }) => key === edge.key);
  if (before && before.time >= edge.time) return told;
  const rest = dropEntry(told, edge.key);
  const { edges } = rest;
  const index = indexFor(rest, edge);
  const pageInfo = { ...rest.pageInfo };
  const newerUnread = rest.direction === 'ASC' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
  if (edges.length === 0 && newerUnread) return { ...rest, pageInfo };
  if (edges.length > 0 && index === 0 && pageInfo.hasPreviousPage) {
    return { ...rest, pageInfo: { ...pageInfo, startCursor: edges[0].cursor } };
  }
  if (edges.length > 0 && index === edges.length && pageInfo.hasNextPage) {
    return { ...rest, pageInfo: { ...pageInfo, endCursor: edges.at(-1).cursor } };
  }
  if (index === 0) pageInfo.startCursor = edge.cursor;
  if (index === edges.length) pageInfo.endCursor = edge.cursor;
  return { ...rest, edges: edges.toSpliced(index, 0, edge), pageInfo };
}

// indexFor is where an entry belongs, in the order of the gateway: by time, then
// by key.
function indexFor({ direction, edges }, edge) {
  const sign = direction === 'DESC' ? -1 : 1;
  const index = edges.findIndex((other) => sign * (compare(edge.time, other.time) || compare(edge.key, other.key)) < 0);
  return index < 0 ? edges.length : index;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// settle writes down the times of edges that have none yet.
export function settle(held, timeOf) {
  if (held.edges.every(({ time }) => time)) return held;
  return { ...held, edges: held.edges.map((edge) => (edge.time ? edge : { ...edge, time: timeOf(edge.key) })) };
}

// dropEntry takes an item out. The cursors at the ends stay: the place of an
// item that is gone is still a place.
export function dropEntry(held, key) {
  const edges = held.edges.filter((edge) => edge.key !== key);
  return edges.length === held.edges.length ? held : { ...held, edges };
}

// holdsPlace tells whether a stretch can be shown from the place after a cursor
// on; without one, from the beginning of the library.
export function holdsPlace(held, after) {
  if (!held) return false;
  if (!after) return !held.pageInfo.hasPreviousPage;
  return held.edges.some((edge) => edge.cursor === after);
}

// byDay parts edges into the days on which their items were changed, in the
// order they come. dayOf gives the day of an item's time.
export function byDay(edges, dayOf) {
  const days = [];
  for (const edge of edges) {
    const day = dayOf(edge.node.lastModified);
    if (days.at(-1)?.day !== day) days.push({ day, edges: [] });
    days.at(-1).edges.push(edge);
  }
  return days;
}
