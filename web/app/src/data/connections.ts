// What can be asked of any connection: those of people and groups, which unlike
// libraries are read in one direction only.

interface Connection<Edge> {
  edges: readonly Edge[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

// hasNone tells whether a connection is known to hold nothing. A page that was
// cut short by the read budget may be empty while more follows.
export function hasNone({ edges, pageInfo }: Connection<unknown>): boolean {
  return edges.length === 0 && !pageInfo.hasNextPage;
}

// someEdge walks a connection, page by page, until an edge is the one that is
// looked for. read(after) is a promise of the page behind a cursor, and of the
// first one for null; what breaks it breaks the walk.
export async function someEdge<Edge>(read: (after: string | null) => Promise<Connection<Edge>>, isWanted: (edge: Edge) => boolean): Promise<boolean> {
  let after: string | null = null;
  do {
    const { edges, pageInfo }: Connection<Edge> = await read(after);
    if (edges.some(isWanted)) return true;
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after);
  return false;
}
