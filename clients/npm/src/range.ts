// The loaded part of a library. Pages extend it at both ends, and changes move entries within it.
// This module sends nothing.
import { compareDateTimes, type Cursor, type DateTime } from './scalars.ts';

// Order is the order of a library by time: oldest or newest first.
export type Order = 'ASC' | 'DESC';

// Side is an end of the loaded part, at which a page can be added.
export type Side = 'next' | 'previous';

// Entry is what this module reads of an edge.
export interface Entry {
  readonly cursor: Cursor;
  readonly node: { readonly id: string; readonly lastModified: DateTime; readonly version: number };
}

// Page is a page of a library, as the gateway returns it.
export interface Page<E extends Entry> {
  readonly edges: readonly E[];
  readonly pageInfo: {
    readonly hasPreviousPage: boolean;
    readonly hasNextPage: boolean;
    readonly startCursor: Cursor | null;
    readonly endCursor: Cursor | null;
  };
}

// End is one end of a range: whether the library continues there, and from which cursor.
export interface End {
  readonly more: boolean;
  readonly cursor: Cursor | null;
}

// LoadedRange is the loaded part of a library: entries without gaps, in the order of the connection.
export interface LoadedRange<E extends Entry> {
  readonly order: Order;
  readonly entries: readonly E[];
  readonly previous: End;
  readonly next: End;
  // Whether an entry was left out at the newest end because pages before it are not loaded. Cursors
  // from before that lead to pages without this entry, so one more page is read after the last one.
  readonly hasOmitted: boolean;
}

const newestSide = (order: Order): Side => (order === 'ASC' ? 'next' : 'previous');
const oldestSide = (order: Order): Side => (order === 'ASC' ? 'previous' : 'next');

// startRange returns the range of one page. A page that continues a walk towards the newest end, after
// a cursor, lacks the entries that moved there since the walk began; they follow the last page.
export function startRange<E extends Entry>({ edges, pageInfo }: Page<E>, order: Order, continues = false): LoadedRange<E> {
  const isNewerOmitted = continues && order === 'ASC';
  return {
    order,
    entries: edges,
    previous: { more: pageInfo.hasPreviousPage, cursor: pageInfo.startCursor },
    next: { more: pageInfo.hasNextPage || isNewerOmitted, cursor: pageInfo.endCursor },
    hasOmitted: isNewerOmitted && pageInfo.hasNextPage,
  };
}

// joinPage adds the page that follows a range on one side. If there are more than `limit`
// entries it drops those at the other side, which are read again when they are needed.
export function joinPage<E extends Entry>(range: LoadedRange<E>, page: Page<E>, side: Side, limit: number): LoadedRange<E> {
  const { edges, pageInfo } = page;
  const entries = withoutDuplicates(side === 'next' ? [...range.entries, ...edges] : [...edges, ...range.entries], range.order);
  const atNewest = side === newestSide(range.order);
  const more = side === 'next' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
  const end: End = {
    more: more || (atNewest && range.hasOmitted),
    cursor: (side === 'next' ? pageInfo.endCursor : pageInfo.startCursor) ?? range[side].cursor,
  };
  const hasOmitted = range.hasOmitted && !(atNewest && !more);
  return cut({ ...range, entries, [side]: end, hasOmitted }, side === 'next' ? 'previous' : 'next', limit);
}

// withoutDuplicates keeps one entry of each item: that of the later version or, for equal
// versions, the one nearer the newest end, because items only move in that direction.
function withoutDuplicates<E extends Entry>(entries: readonly E[], order: Order): readonly E[] {
  const kept = new Map<string, E>();
  for (const entry of entries) {
    const other = kept.get(entry.node.id);
    const newer = !other || entry.node.version - other.node.version || (order === 'ASC' ? 1 : -1);
    if (newer === true || newer > 0) kept.set(entry.node.id, entry);
  }
  return entries.filter((entry) => kept.get(entry.node.id) === entry);
}

// placeEntry moves an entry to its position, or returns null if the library has to be read again
// to know the position. An entry that belongs beyond an end with more pages is left out: it is
// read when that end is extended.
export function placeEntry<E extends Entry>(range: LoadedRange<E>, entry: E, limit: number): LoadedRange<E> | null {
  const held = range.entries.find(({ node }) => node.id === entry.node.id);
  if (held && held.node.version > entry.node.version) return range;
  if (held?.node.lastModified === entry.node.lastModified) {
    return { ...range, entries: range.entries.map((other) => (other === held ? entry : other)) }; // it has not moved
  }
  const { entries } = removeEntry(range, entry.node.id);
  if (entries.length === 0 && (range.previous.more || range.next.more)) return null;
  const index = indexOf(entries, entry, range.order);
  for (const side of ['previous', 'next'] as const) {
    const outermost = side === 'previous' ? entries[0] : entries.at(-1);
    if (!outermost || !range[side].more || index !== (side === 'previous' ? 0 : entries.length)) continue;
    const hasOmitted = range.hasOmitted || side === newestSide(range.order);
    return { ...range, entries, [side]: { more: true, cursor: outermost.cursor }, hasOmitted };
  }
  const placed = [...entries.slice(0, index), entry, ...entries.slice(index)];
  return cut({ ...range, entries: placed }, oldestSide(range.order), limit);
}

// indexOf returns where an entry belongs, by lastModified and then by id. It searches from the
// newest end: an item that changes very often may still be listed at an older place.
function indexOf(entries: readonly Entry[], entry: Entry, order: Order): number {
  if (order === 'ASC') return entries.findLastIndex((other) => compare(other, entry) < 0) + 1;
  const index = entries.findIndex((other) => compare(other, entry) < 0);
  return index < 0 ? entries.length : index;
}

function compare({ node: a }: Entry, { node: b }: Entry): number {
  return compareDateTimes(a.lastModified, b.lastModified) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

// removeEntry removes an item. The cursors at the ends stay, because a cursor is valid even after
// its item was removed.
export function removeEntry<E extends Entry>(range: LoadedRange<E>, id: string): LoadedRange<E> {
  const entries = range.entries.filter(({ node }) => node.id !== id);
  return entries.length === range.entries.length ? range : { ...range, entries };
}

function cut<E extends Entry>(range: LoadedRange<E>, side: Side, limit: number): LoadedRange<E> {
  if (range.entries.length <= limit) return range;
  const entries = side === 'previous' ? range.entries.slice(-limit) : range.entries.slice(0, limit);
  const outermost = side === 'previous' ? entries[0] : entries.at(-1);
  const hasOmitted = range.hasOmitted || side === newestSide(range.order);
  return { ...range, entries, [side]: { more: true, cursor: outermost?.cursor ?? null }, hasOmitted };
}
