// What a client holds of one library: a stretch of it, without gaps, in the
// order of its connection. Pages join it at either end; changes that the
// gateway tells of move entries within it. Nothing here knows GraphQL or
// Apollo, so that every rule can be tried without them.
//
// A stretch is { direction, edges, pageInfo, newest } and is never changed in
// place. newest is the cursor that was made last, from which the gateway tells
// what has happened since.
// An edge has, beside what the gateway answered, its place: { id, time } of the
// item when the edge was made. The item itself may have been read again since,
// and must not disturb the order.

// mostHeld is how many entries a stretch keeps: a page far down stays quick,
// and what was left behind is read again on the way back.
export const mostHeld = 300;

// byPlace orders as the gateway does: by the time of the last change, then by
// id. Times are RFC 3339 in UTC with microseconds, so that text compares right.
export function byPlace(direction) {
  const sign = direction === 'DESC' ? -1 : 1;
  return (a, b) => sign * (compare(a.time, b.time) || compare(a.id, b.id));
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// joinPage adds a page that was read after the stretch's end or before its
// start. A page from anywhere else, or asked for with neither, begins a new one.
// An item met twice is held once, where it was changed last.
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
  const edges = withoutOlderTwins([...first.edges, ...second.edges]);
  const pageInfo = {
    ...first.pageInfo,
    hasPreviousPage: first.pageInfo.hasPreviousPage,
    startCursor: first.pageInfo.startCursor ?? second.pageInfo.startCursor,
    hasNextPage: second.pageInfo.hasNextPage,
    endCursor: second.pageInfo.endCursor ?? first.pageInfo.endCursor,
  };
  return cut({ direction: first.direction, edges, pageInfo }, cutAt);
}

function withoutOlderTwins(edges) {
  const newest = new Map();
  for (const edge of edges) {
    const other = newest.get(edge.place.id);
    if (!other || other.place.time <= edge.place.time) newest.set(edge.place.id, edge);
  }
  return edges.filter((edge) => newest.get(edge.place.id) === edge);
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
// end that is not the library's own is left out: whoever scrolls there reads it.
// An edge older than the one held is old news and moves nothing.
export function placeEntry(held, edge) {
  const before = held.edges.find((other) => other.place.id === edge.place.id);
  if (before && before.place.time > edge.place.time) return { ...held, newest: edge.cursor };
  const rest = { ...dropEntry(held, edge.place.id), newest: edge.cursor };
  const order = byPlace(held.direction);
  const at = rest.edges.findIndex((other) => order(edge.place, other.place) < 0);
  const index = at < 0 ? rest.edges.length : at;
  if (index === 0 && rest.pageInfo.hasPreviousPage) return rest;
  if (index === rest.edges.length && rest.pageInfo.hasNextPage) return rest;
  const pageInfo = { ...rest.pageInfo };
  if (index === 0) pageInfo.startCursor = edge.cursor;
  if (index === rest.edges.length) pageInfo.endCursor = edge.cursor;
  return { ...rest, edges: rest.edges.toSpliced(index, 0, edge), pageInfo };
}

// dropEntry takes an item out. The cursors at the ends stay: the place of an
// item that is gone is still a place.
export function dropEntry(held, id) {
  const edges = held.edges.filter((edge) => edge.place.id !== id);
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
