// The entries of a view of a library, as the pages show them.
import type { LibraryChange, LibrarySnapshot } from 'carrel-client';
import type { LibraryPageQuery } from '../generated/operations.ts';
import type { Order } from './order.ts';

// View is one way to look at one library: in one order, with or without the private items that are
// shared with the viewer.
export interface View {
  id: string;
  order: Order;
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
  const { id, lastModified, version } = change.edge.node;
  const former = before.find(({ node }) => node.id === id);
  return {
    id,
    moved: !former || former.node.lastModified < lastModified,
    shown: after.some(({ node }) => node.id === id && node.version === version),
    newest: after.every(({ node }) => node.lastModified <= lastModified),
  };
}

// grouped separates edges under the headings of a list, in their order. headingOf returns the heading of an
// item: the day of its last change, or the first letter of its title.
export function grouped<E extends { node: object }>(edges: readonly E[], headingOf: (item: E['node']) => string): {
  heading: string; edges: E[] }[] {
  const groups: { heading: string; edges: E[] }[] = [];
  for (const edge of edges) {
    const heading = headingOf(edge.node);
    const last = groups.at(-1);
    if (last?.heading === heading) last.edges.push(edge);
    else groups.push({ heading, edges: [edge] });
  }
  return groups;
}

// letterOf returns the letter under which a title is listed: without accents and in upper case, 0–9 for a
// digit, and # for a title that begins with another character.
export function letterOf(title: string): string {
  const [first = ''] = title.trim().normalize('NFKD');
  if (/\p{N}/u.test(first)) return '0–9';
  const [letter = '#'] = /\p{L}/u.test(first) ? first.toLocaleUpperCase('en') : '#';
  return letter;
}
