// Functions on connections of people and groups, which unlike libraries are read in one
// direction only.

interface Connection<Edge> {
  edges: readonly Edge[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

// hasNone reports whether a connection is empty. An empty page alone does not show that: the
// gateway may have used up its read budget before it found an edge.
export function hasNone({ edges, pageInfo }: Connection<unknown>): boolean {
  return edges.length === 0 && !pageInfo.hasNextPage;
}

// someEdge walks through a connection, page by page, until isWanted accepts an edge.
// read(after) returns a promise of the page after a cursor, and of the first one for null; its
// errors end the walk.
export async function someEdge<Edge>(read: (after: string | null) => Promise<Connection<Edge>>, isWanted: (edge: Edge) =>
  boolean): Promise<boolean> {
  let after: string | null = null;
  do {
    const { edges, pageInfo }: Connection<Edge> = await read(after);
    if (edges.some(isWanted)) return true;
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after);
  return false;
}

// abortedBy returns the context of a query that a signal aborts. Such a query is always sent: a
// request in flight with the same variables may have been sent before a change.
export function abortedBy(signal?: AbortSignal) {
  return { fetchOptions: { signal }, queryDeduplication: false };
}
