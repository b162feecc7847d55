// Items that are found in several libraries, as one list.
import type { EntryFragment } from '../generated/operations.ts';

// Library is a library that is searched: its owner's id, and the name that the page shows.
export interface Library {
  id: string;
  name: string;
}

// FoundItem is an item, and the first of the libraries in which it was found.
export interface FoundItem {
  item: EntryFragment;
  library: Library;
}

// addFound adds what was found in a library. The items are ordered like a library, the newest first,
// and each is there once.
export function addFound(held: readonly FoundItem[], library: Library, items: readonly EntryFragment[]): FoundItem[] {
  const known = new Set(held.map(({ item }) => item.id));
  const added = items.filter(({ id }) => !known.has(id)).map((item) => ({ item, library }));
  return [...held, ...added].sort((a, b) => compare(b.item.lastModified, a.item.lastModified) || compare(b.item.id, a.item.id));
}

// Times have a fixed number of digits, so they compare as text.
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
