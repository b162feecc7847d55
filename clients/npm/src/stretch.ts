// A stretch is the loaded part of a library: entries without gaps, in the order of the connection.
// Pages extend it at both ends, and changes move entries within it. This module sends nothing.
import { compareDateTimes, type Cursor, type DateTime } from './scalars.ts';

export type Order = 'ASC' | 'DESC';
export type Side = 'next' | 'previous';

export interface Entry {
  readonly cursor: Cursor;
  readonly node: { readonly id: string; readonly lastModified: DateTime; readonly version: number };
}

export interface Page<E extends Entry> {
  readonly edges: readonly E[];
  readonly pageInfo: {
    readonly hasPreviousPage: boolean;
    readonly hasNextPage: boolean;
    readonly startCursor: Cursor | null;
    readonly endCursor: Cursor | null;
  };
}

// End is one end of a stretch: whether the library continues there, and from which cursor.
export interface End {
  readonly more: boolean;
  readonly cursor: Cursor | null;
}

export interface Stretch<E extends Entry> {
  readonly order: Order;
  readonly entries: readonly E[];
  readonly previous: End;
  readonly next: End;
  // Whether an entry was left out at the newest end because pages before it are not loaded. Pages
  // of a walk that began earlier do not contain it, so the walk is continued once more at its end.
  readonly leftOut: boolean;
}

const newestSide = (order: Order): Side => (order === 'ASC' ? 'next' : 'previous');
const oldestSide = (order: Order): Side => (order === 'ASC' ? 'previous' : 'next');

// startStretch returns a stretch of one page.
export function startStretch<E extends Entry>(page: Page<E>, order: Order): Stretch<E> {
  const { edges, pageInfo } = page;
  return {
    order,
    entries: edges,
    previous: { more: pageInfo.hasPreviousPage, cursor: pageInfo.startCursor },
    next: { more: pageInfo.hasNextPage, cursor: pageInfo.endCursor },
    leftOut: false,
  };
}

// joinPage adds the page that follows a stretch on one side. If there are more than `limit`
// entries it drops those at the other side, which are read again when they are needed.
export function joinPage<E extends Entry>(stretch: Stretch<E>, page: Page<E>, side: Side, limit: number): Stretch<E> {
  const { edges, pageInfo } = page;
  const entries = withoutRepetitions(side === 'next' ? [...stretch.entries, ...edges] : [...edges, ...stretch.entries], stretch.order);
  const atNewest = side === newestSide(stretch.order);
  const more = side === 'next' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
  const end: End = {
    more: more || (atNewest && stretch.leftOut),
    cursor: (side === 'next' ? pageInfo.endCursor : pageInfo.startCursor) ?? stretch[side].cursor,
  };
  const leftOut = stretch.leftOut && !(atNewest && !more);
  return cut({ ...stretch, entries, [side]: end, leftOut }, side === 'next' ? 'previous' : 'next', limit);
}

// withoutRepetitions keeps one entry of each item: that of the later version or, for equal
// versions, the one nearer the newest end, because items only move in that direction.
function withoutRepetitions<E extends Entry>(entries: readonly E[], order: Order): readonly E[] {
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
export function placeEntry<E extends Entry>(stretch: Stretch<E>, entry: E, limit: number): Stretch<E> | null {
  const held = stretch.entries.find(({ node }) => node.id === entry.node.id);
  if (held && held.node.version > entry.node.version) return stretch;
  if (held?.node.lastModified === entry.node.lastModified) {
    return { ...stretch, entries: stretch.entries.map((other) => (other === held ? entry : other)) }; // it has not moved
  }
  const { entries } = removeEntry(stretch, entry.node.id);
  if (entries.length === 0 && (stretch.previous.more || stretch.next.more)) return null;
  const index = indexOf(entries, entry, stretch.order);
  for (const side of ['previous', 'next'] as const) {
    const outermost = side === 'previous' ? entries[0] : entries.at(-1);
    if (!outermost || !stretch[side].more || index !== (side === 'previous' ? 0 : entries.length)) continue;
    const leftOut = stretch.leftOut || side === newestSide(stretch.order);
    return { ...stretch, entries, [side]: { more: true, cursor: outermost.cursor }, leftOut };
  }
  const placed = [...entries.slice(0, index), entry, ...entries.slice(index)];
  return cut({ ...stretch, entries: placed }, oldestSide(stretch.order), limit);
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
export function removeEntry<E extends Entry>(stretch: Stretch<E>, id: string): Stretch<E> {
  const entries = stretch.entries.filter(({ node }) => node.id !== id);
  return entries.length === stretch.entries.length ? stretch : { ...stretch, entries };
}

function cut<E extends Entry>(stretch: Stretch<E>, side: Side, limit: number): Stretch<E> {
  if (stretch.entries.length <= limit) return stretch;
  const entries = side === 'previous' ? stretch.entries.slice(-limit) : stretch.entries.slice(0, limit);
  const outermost = side === 'previous' ? entries[0] : entries.at(-1);
  const leftOut = stretch.leftOut || side === newestSide(stretch.order);
  return { ...stretch, entries, [side]: { more: true, cursor: outermost?.cursor ?? null }, leftOut };
}
