// The entries of a view of a library, as the pages show them.
import type { LibraryChange, LibrarySnapshot } from 'carrel-client';
import type { LibraryPageQuery, OrderDirection } from '../generated/operations.ts';

// View is one way to look at one library: in one order, with or without the private items that are
// shared with the viewer.
export interface View {
  id: string;
  direction: OrderDirection;
  shared: boolean;
}

// LibraryEdge is an entry of a library.
export type LibraryEdge = NonNullable<LibraryPageQuery['principal']>['library']['edges'][number];

// Listed is a list of entries without gaps, and whether there are more on either side.
export interface Listed {
  entries: readonly LibraryEdge[];
  hasPrevious: boolean;
  hasNext: boolean;
}

// holdsPosition reports whether entries contain the position after a cursor, or for null the
// beginning of the library.
export function holdsPosition({ isLoaded, entries, hasPrevious }: LibrarySnapshot<LibraryEdge>, after: string | null): boolean {
  if (!after) return isLoaded && !hasPrevious;
  return entries.some(({ cursor }) => cursor === after);
}

// Outcome is what a change has changed: in moved whether an entry was added or moved, which is false
// if the change contains nothing new; in shown whether the entry is in the list now; and in newest
// whether it is at the newest end of the library.
export interface Outcome {
  id: string;
  moved: boolean;
  shown: boolean;
  newest: boolean;
}

// outcomeOf compares the entries before and after a change.
export function outcomeOf(change: LibraryChange<LibraryEdge>, before: readonly LibraryEdge[], after: readonly LibraryEdge[]): Outcome {
  if (change.__typename === 'LibraryEntryRemoved') return { id: change.contentId, moved: false, shown: false, newest: false };
  const { id, lastModified } = change.edge.node;
  const former = before.find(({ node }) => node.id === id);
  return {
    id,
    moved: !former || former.node.lastModified < lastModified,
    shown: after.includes(change.edge),
    newest: after.every(({ node }) => node.lastModified <= lastModified),
  };
}

// byDay groups edges by the days on which their items were changed, in their order. dayOf
// returns the day of an item's time.
export function byDay<E extends { node: { lastModified: string } }>(edges: readonly E[], dayOf: (time: string) =>
  string): { day: string; edges: E[] }[] {
  const days: { day: string; edges: E[] }[] = [];
  for (const edge of edges) {
    const day = dayOf(edge.node.lastModified);
    const last = days.at(-1);
    if (last?.day === day) last.edges.push(edge);
    else days.push({ day, edges: [edge] });
  }
  return days;
}
