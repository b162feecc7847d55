// The loaded part of a library. Pages extend it at both ends, and changes move entries within it.
// This module sends nothing.
import { CarrelError } from './errors.ts';
import type { LibraryOrderField } from './generated/operations.ts';
import type { Cursor } from './scalars.ts';

// Order is the direction of an order: oldest or newest first; A to Z or Z to A.
export type Order = 'ASC' | 'DESC';

// Side is an end of the loaded part, at which a page can be added.
export type Side = 'next' | 'previous';

// Entry is what this module reads of an edge: sortKey in the order of the last change, and in that of
// titles titleKey, which is sortKey(field: TITLE).
export interface Entry {
  readonly cursor: Cursor;
  readonly sortKey?: string;
  readonly titleKey?: string;
  readonly node: { readonly id: string; readonly version: number };
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

// End is one end of a range: whether the library continues there, and from which cursor. key is the
// sort key of that position, null if it is not known.
export interface End {
  readonly more: boolean;
  readonly cursor: Cursor | null;
  readonly key: string | null;
}

// LoadedRange is the loaded part of a library: entries without gaps, in the order of the connection.
export interface LoadedRange<E extends Entry> {
  readonly field: LibraryOrderField;
  readonly order: Order;
  readonly entries: readonly E[];
  readonly previous: End;
  readonly next: End;
  // Only in the order of the last change: whether an entry was left out at the newest end because pages
  // before it are not loaded. Cursors from before that lead to pages without this entry, so one more page
  // is read after the last one.
  readonly hasOmitted: boolean;
  // Only in the order of titles: the ids of entries that were placed by an event, whose cursor is no
  // position in this order. They have the cursor of a neighbour, and no page is read from it.
  readonly placed: ReadonlySet<string>;
}

const newestSide = (order: Order): Side => (order === 'ASC' ? 'next' : 'previous');
const oldestSide = (order: Order): Side => (order === 'ASC' ? 'previous' : 'next');

// startRange returns the range of one page. A page that continues a walk towards the newest end, after
// a cursor, lacks the entries that moved there since the walk began; they follow the last page.
export function startRange<E extends Entry>(page: Page<E>, field: LibraryOrderField, order: Order, continues = false): LoadedRange<E> {
  const { edges, pageInfo } = page;
  const isNewerOmitted = continues && order === 'ASC' && field === 'LAST_MODIFIED';
  return {
    field,
    order,
    entries: edges,
    previous: endOf(page, 'previous', field, pageInfo.hasPreviousPage),
    next: endOf(page, 'next', field, pageInfo.hasNextPage || isNewerOmitted),
    hasOmitted: isNewerOmitted && pageInfo.hasNextPage,
    placed: new Set(),
  };
}

// endOf returns the end of a page. A page that passes hidden entries ends at a position of which only the
// cursor is known.
function endOf<E extends Entry>({ edges, pageInfo }: Page<E>, side: Side, field: LibraryOrderField, more: boolean): End {
  const outermost = side === 'next' ? edges.at(-1) : edges[0];
  const cursor = side === 'next' ? pageInfo.endCursor : pageInfo.startCursor;
  return { more, cursor, key: outermost?.cursor === cursor && outermost ? keyOf(outermost, field) : null };
}

// joinPage adds the page that follows a range on one side. If there are more than `limit`
// entries it drops those at the other side, which are read again when they are needed.
export function joinPage<E extends Entry>(range: LoadedRange<E>, page: Page<E>, side: Side, limit: number): LoadedRange<E> {
  const { field, order } = range;
  const { edges, pageInfo } = page;
  const entries = withoutDuplicates(range, edges, side);
  const atNewest = side === newestSide(order);
  const more = side === 'next' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
  const found = endOf(page, side, field, more || (atNewest && range.hasOmitted));
  const end = found.cursor === null ? { ...range[side], more: found.more } : found;
  const hasOmitted = range.hasOmitted && !(atNewest && !more);
  const placed = new Set([...range.placed].filter((id) => !edges.some((edge) => edge.node.id === id && entries.includes(edge))));
  return cut({ ...range, entries, [side]: end, hasOmitted, placed }, side === 'next' ? 'previous' : 'next', limit);
}

// withoutDuplicates adds the edges of a page, and keeps one entry of each item: that of the later version.
// For equal versions it is, in the order of the last change, the one nearer the newest end, because items
// only move in that direction; in the order of titles, that of the page.
function withoutDuplicates<E extends Entry>(range: LoadedRange<E>, edges: readonly E[], side: Side): readonly E[] {
  const all = side === 'next' ? [...range.entries, ...edges] : [...edges, ...range.entries];
  const lastWins = range.field === 'TITLE' ? side === 'next' : range.order === 'ASC';
  const kept = new Map<string, E>();
  for (const entry of all) {
    const other = kept.get(entry.node.id);
    const newer = other ? entry.node.version - other.node.version || (lastWins ? 1 : -1) : 1;
    if (newer > 0) kept.set(entry.node.id, entry);
  }
  return all.filter((entry) => kept.get(entry.node.id) === entry);
}

// placeEntry moves an entry to its position, or returns null if the library has to be read again
// to know the position. An entry that belongs beyond an end with more pages is left out: it is
// read when that end is extended.
export function placeEntry<E extends Entry>(range: LoadedRange<E>, entry: E, limit: number): LoadedRange<E> | null {
  const { field, order } = range;
  const held = range.entries.find(({ node }) => node.id === entry.node.id);
  if (held && held.node.version > entry.node.version) return range;
  if (held && keyOf(held, field) === keyOf(entry, field)) { // it has not moved
    const same = field === 'TITLE' ? { ...entry, cursor: held.cursor } : entry;
    return { ...range, entries: range.entries.map((other) => (other === held ? same : other)) };
  }
  const { entries } = removeEntry(range, entry.node.id);
  const key = keyOf(entry, field);
  const after = entries.findIndex((other) => keyOf(other, field) > key === (order === 'ASC'));
  const index = after < 0 ? entries.length : after;
  if (field === 'TITLE') return placeByTitle({ ...range, entries }, entry, index, limit);

  if (entries.length === 0 && (range.previous.more || range.next.more)) return null;
  for (const side of ['previous', 'next'] as const) {
    const outermost = side === 'previous' ? entries[0] : entries.at(-1);
    if (!outermost || !range[side].more || index !== (side === 'previous' ? 0 : entries.length)) continue;
    const hasOmitted = range.hasOmitted || side === newestSide(order);
    return { ...range, entries, [side]: { more: true, cursor: outermost.cursor, key: keyOf(outermost, field) }, hasOmitted };
  }
  const placed = [...entries.slice(0, index), entry, ...entries.slice(index)];
  return cut({ ...range, entries: placed }, oldestSide(order), limit);
}

// placeByTitle places an entry at an index of the other entries. The cursor of an event is no position
// in the order of titles, so the ends keep theirs, and the entry gets the cursor of the one before it, or
// else after it: a page after that cursor begins near the entry.
function placeByTitle<E extends Entry>(range: LoadedRange<E>, entry: E, index: number, limit: number): LoadedRange<E> | null {
  const { field, order, entries } = range;
  const key = keyOf(entry, field);
  for (const side of ['previous', 'next'] as const) {
    const end = range[side];
    if (!end.more || index !== (side === 'previous' ? 0 : entries.length)) continue;
    if (end.key === null) {
      const outermost = side === 'previous' ? entries[0] : entries.at(-1);
      if (!outermost || range.placed.has(outermost.node.id)) return null;
      return { ...range, [side]: { more: true, cursor: outermost.cursor, key: keyOf(outermost, field) } };
    }
    const isBeyond = key !== end.key && key > end.key === ((side === 'next') === (order === 'ASC'));
    if (isBeyond) return range;
  }
  const neighbour = entries[index - 1] ?? entries[index];
  if (!neighbour) return null;
  const placed = [...entries.slice(0, index), { ...entry, cursor: neighbour.cursor }, ...entries.slice(index)];
  const next = { ...range, entries: placed, placed: new Set(range.placed).add(entry.node.id) };
  return cut(next, index < entries.length / 2 ? 'next' : 'previous', limit);
}

// keyOf returns the sort key of an entry, by which entries compare character by character.
function keyOf({ sortKey, titleKey }: Entry, field: LibraryOrderField): string {
  const key = field === 'TITLE' ? titleKey : sortKey;
  if (key === undefined) throw new CarrelError('NO_SORT_KEY', `The documents do not select the key of ${field}.`);
  return key;
}

// removeEntry removes an item. The cursors at the ends stay, because a cursor is valid even after
// its item was removed.
export function removeEntry<E extends Entry>(range: LoadedRange<E>, id: string): LoadedRange<E> {
  const entries = range.entries.filter(({ node }) => node.id !== id);
  return entries.length === range.entries.length ? range : { ...range, entries };
}

// cut drops entries at one side, so that at most `limit` are left, and the outermost has a cursor from which
// a page can be read.
function cut<E extends Entry>(range: LoadedRange<E>, side: Side, limit: number): LoadedRange<E> {
  if (range.entries.length <= limit) return range;
  const most = side === 'previous' ? range.entries.slice(-limit) : range.entries.slice(0, limit);
  const hasCursor = ({ node }: E) => !range.placed.has(node.id);
  const entries = side === 'previous' ? most.slice(most.findIndex(hasCursor)) : most.slice(0, most.findLastIndex(hasCursor) + 1);
  const outermost = side === 'previous' ? entries[0] : entries.at(-1);
  if (!outermost || !hasCursor(outermost)) return range;
  const hasOmitted = range.field === 'LAST_MODIFIED' && (range.hasOmitted || side === newestSide(range.order));
  return { ...range, entries, [side]: { more: true, cursor: outermost.cursor, key: keyOf(outermost, range.field) }, hasOmitted };
}
