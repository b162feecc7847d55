// A search in a library. The gateway reads a limited number of entries for each page, so a
// search is a series of requests, until enough is found, the library ends, or the reader stops
// it.

// scanned is the most entries that the gateway reads for one page.
export const scanned = 2000;

// SearchPage is one answer of the gateway.
export interface SearchPage<Edge> {
  edges: readonly Edge[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

// Found is the result of a search so far. endCursor is where it continues. full is the number of
// full pages, and cut the number of pages that the gateway cut short.
export interface Found<Edge> {
  edges: readonly Edge[];
  endCursor: string | null;
  more: boolean;
  full: number;
  cut: number;
}

// nothingFound is the state of a search at its start.
export const nothingFound: Found<never> = { edges: [], endCursor: null, more: true, full: 0, cut: 0 };

interface Search<Edge> {
  from: Found<Edge>;
  // wanted is how many more edges are enough; pageSize how many are requested at once.
  wanted: number;
  pageSize: number;
  read: (after: string | null, first: number) => Promise<SearchPage<Edge>>;
  // isGone reports whether an item was removed after its page was read.
  isGone: (edge: Edge) => boolean;
  onFound: (found: Found<Edge>) => void;
  stopped: () => boolean;
}

// searchOn reads pages until it has found enough, and calls onFound after each. If a request
// fails, the search can continue from what was reported last.
export async function searchOn<Edge>({ from, wanted, pageSize, read, isGone, onFound, stopped }: Search<Edge>): Promise<void> {
  let found = from;
  const enough = from.edges.length + wanted;
  while (found.more && found.edges.length < enough && !stopped()) {
    const page = await read(found.endCursor, pageSize);
    if (stopped()) return;
    const { hasNextPage, endCursor } = page.pageInfo;
    // A page that ends where it started would be read again and again.
    const stuck = hasNextPage && endCursor === found.endCursor;
    if (stuck) throw new Error('the search does not advance');
    const isFull = page.edges.length >= pageSize;
    found = {
      edges: [...found.edges, ...page.edges].filter((edge) => !isGone(edge)),
      endCursor,
      more: hasNextPage,
      full: found.full + (isFull ? 1 : 0),
      cut: found.cut + (isFull || !hasNextPage ? 0 : 1),
    };
    onFound(found);
  }
}

// progressOf returns a lower bound of the part of a library that was searched, from 0 to 1; null
// if it is not known yet.
export function progressOf({ cut, edges, more }: Found<unknown>, count: number): number | null {
  if (!more) return 1;
  const least = cut * scanned + edges.length;
  return cut === 0 || count <= 0 ? null : Math.min(least / count, 0.99);
}
