import { test } from 'node:test';
import assert from 'node:assert/strict';
import { byDay, dropEntry, holdsPosition, joinPage, mostHeld, placeEntry, type Edge, type Page, type PageArguments } from '../src/data/entries.ts';

type Entry = Edge & { node: { lastModified: string } };

const time = (n: number) => `2026-11-21T09:${String(Math.trunc(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}.000000Z`;
const edge = (key: string, at: number): Entry & { time: string } => ({ cursor: `${key}@${at}`, key, time: time(at), node: { lastModified: time(at) } });
const ids = (held: Page<Entry>) => held.edges.map((e) => e.key);
interface Ends {
  previous?: boolean;
  next?: boolean;
}

// page returns a page of edges. By default no others come before or after them.
function page(edges: Entry[], { previous = false, next = false }: Ends = {}): Page<Entry> {
  return {
    edges,
    pageInfo: {
      hasPreviousPage: previous,
      hasNextPage: next,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
const asc: PageArguments = { direction: 'ASC' };
const desc: PageArguments = { direction: 'DESC' };

test('the first page is the whole range', () => {
  const held = joinPage(undefined, page([edge('a', 1), edge('b', 2)], { next: true }), asc);
  assert.deepEqual(ids(held), ['a', 'b']);
  assert.equal(held.newest, 'b@2');
  assert.equal(held.pageInfo.hasNextPage, true);
});

test('a page after the end joins it', () => {
  const first = joinPage(undefined, page([edge('d', 4), edge('c', 3)], { previous: true, next: true }), desc);
  const held = joinPage(first, page([edge('b', 2)], { previous: true }), { ...desc, after: 'c@3' });
  assert.deepEqual(ids(held), ['d', 'c', 'b']);
  assert.deepEqual(held.pageInfo, { hasPreviousPage: true, hasNextPage: false, startCursor: 'd@4', endCursor: 'b@2' });
});

test('a page before the start joins it', () => {
  const first = joinPage(undefined, page([edge('c', 3), edge('d', 4)], { previous: true, next: true }), asc);
  const held = joinPage(first, page([edge('b', 2)], { next: true }), { ...asc, before: 'c@3' });
  assert.deepEqual(ids(held), ['b', 'c', 'd']);
  assert.deepEqual(held.pageInfo, { hasPreviousPage: false, hasNextPage: true, startCursor: 'b@2', endCursor: 'd@4' });
});

test('joining a page does not make the range newer: changes missed before are still requested', () => {
  const first = joinPage(undefined, page([edge('c', 3)], { previous: true, next: true }), asc);
  assert.equal(joinPage(first, page([edge('d', 4)]), { ...asc, after: 'c@3' }).newest, 'c@3');
  assert.equal(joinPage(first, page([edge('b', 2)]), { ...asc, before: 'c@3' }).newest, 'c@3');
});

test('a page from another position, or in the other order, starts a new range', () => {
  const first = joinPage(undefined, page([edge('c', 3)], { next: true }), asc);
  for (const asked of [asc, { ...asc, after: 'x@9' }, { ...asc, before: 'x@9' }, { ...desc, after: 'c@3' }]) {
    assert.deepEqual(ids(joinPage(first, page([edge('z', 9)]), asked)), ['z']);
  }
});

test('an empty page ends the walk and keeps the cursors', () => {
  const first = joinPage(undefined, page([edge('c', 3)], { next: true }), asc);
  const held = joinPage(first, page([]), { ...asc, after: 'c@3' });
  assert.deepEqual(ids(held), ['c']);
  assert.deepEqual(held.pageInfo, { hasPreviousPage: false, hasNextPage: false, startCursor: 'c@3', endCursor: 'c@3' });
});

test('an empty page of a read that was cut short continues where it ended', () => {
  const first = joinPage(undefined, page([edge('c', 3)], { next: true }), asc);
  const short = { edges: [], pageInfo: { hasPreviousPage: true, hasNextPage: true, startCursor: null, endCursor: 'scanned' } };
  const held = joinPage(first, short, { ...asc, after: 'c@3' });
  assert.equal(held.pageInfo.endCursor, 'scanned');
  assert.equal(held.pageInfo.hasNextPage, true);
});

test('an item that is read twice appears once, nearer the newest end', () => {
  const first = joinPage(undefined, page([edge('a', 1), edge('b', 2)], { next: true }), asc);
  assert.deepEqual(ids(joinPage(first, page([edge('c', 3), edge('a', 4)]), { ...asc, after: 'b@2' })), ['b', 'c', 'a']);
  const newest = joinPage(undefined, page([edge('a', 9), edge('b', 2)], { next: true }), desc);
  assert.deepEqual(ids(joinPage(newest, page([edge('a', 1)]), { ...desc, after: 'b@2' })), ['a', 'b']);
});

test('a long walk drops entries far behind it', () => {
  const many = Array.from({ length: mostHeld }, (_, i) => edge(`i${i}`, i));
  const full = joinPage(undefined, page(many, { next: true }), asc);
  const down = joinPage(full, page([edge('x', 400), edge('y', 401)]), { ...asc, after: full.pageInfo.endCursor });
  assert.equal(down.edges.length, mostHeld);
  assert.equal(down.pageInfo.hasPreviousPage, true);
  assert.equal(down.pageInfo.startCursor, 'i2@2');
  const up = joinPage(down, page([edge('i0', 0), edge('i1', 1)], { next: true }), { ...asc, before: 'i2@2' });
  assert.deepEqual([ids(up)[0], up.edges.length, up.pageInfo.hasNextPage, up.pageInfo.hasPreviousPage], ['i0', mostHeld, true, false]);
  assert.equal(up.pageInfo.endCursor, `i${mostHeld - 1}@${mostHeld - 1}`);
});

test('an entry moves to its current position, in either order', () => {
  const up = joinPage(undefined, page([edge('a', 1), edge('b', 2), edge('c', 3)]), asc);
  assert.deepEqual(ids(placeEntry(up, edge('a', 9))), ['b', 'c', 'a']);
  const down = joinPage(undefined, page([edge('c', 3), edge('b', 2), edge('a', 1)]), desc);
  const moved = placeEntry(down, edge('a', 9));
  assert.deepEqual(ids(moved), ['a', 'c', 'b']);
  assert.equal(moved.pageInfo.startCursor, 'a@9');
  assert.equal(moved.newest, 'a@9');
});

test('an item shared later is at its own time', () => {
  const held = joinPage(undefined, page([edge('c', 5), edge('a', 1)], { next: true }), desc);
  assert.deepEqual(ids(placeEntry(held, edge('b', 3))), ['c', 'b', 'a']);
});

test('equal times are in the order of ids', () => {
  const up = joinPage(undefined, page([edge('a', 1), edge('c', 1)]), asc);
  assert.deepEqual(ids(placeEntry(up, edge('b', 1))), ['a', 'b', 'c']);
  const down = joinPage(undefined, page([edge('c', 1), edge('a', 1)]), desc);
  assert.deepEqual(ids(placeEntry(down, edge('b', 1))), ['c', 'b', 'a']);
});

test('an entry that moves beyond the loaded entries is removed', () => {
  const middle = joinPage(undefined, page([edge('b', 2), edge('c', 3)], { previous: true, next: true }), asc);
  assert.deepEqual(ids(placeEntry(middle, edge('b', 9))), ['c']);
  assert.deepEqual(ids(placeEntry(middle, edge('x', 1))), ['b', 'c']);
  assert.deepEqual(ids(placeEntry(middle, edge('x', 9))), ['b', 'c']);
  assert.equal(placeEntry(middle, edge('x', 9)).newest, 'x@9');
});

test('an older change moves nothing', () => {
  const held = joinPage(undefined, page([edge('b', 2), edge('a', 5)]), asc);
  const placed = placeEntry(held, edge('a', 1));
  assert.deepEqual(ids(placed), ['b', 'a']);
  assert.equal(placed.newest, 'a@1');
});

test('a change of an entry that has not moved moves nothing, even at the ends', () => {
  const held = joinPage(undefined, page([edge('c', 5), edge('b', 3), edge('a', 1)], { previous: true, next: true }), desc);
  for (const same of held.edges) {
    const placed = placeEntry<Entry, typeof held>(held, { ...same, time: same.time ?? '', cursor: 'made later' });
    assert.deepEqual({ ...placed, newest: held.newest }, held);
    assert.equal(placed.newest, 'made later');
  }
});

test('nothing is skipped when an entry is removed: the range ends before it', () => {
  // The last entry moves to the other end; its old position still ends the range.
  let held = joinPage(undefined, page([edge('c', 5), edge('b', 3), edge('a', 1)], { next: true }), desc);
  held = placeEntry(held, edge('a', 9));
  assert.equal(held.pageInfo.endCursor, 'a@1');
  // Another one is shared between the remaining entries and that position.
  held = placeEntry(held, edge('x', 2));
  assert.deepEqual(ids(held), ['a', 'c', 'b']);
  assert.equal(held.pageInfo.endCursor, 'b@3');
  // The same before the start.
  let up = joinPage(undefined, page([edge('c', 5), edge('d', 6)], { previous: true }), asc);
  up = placeEntry(placeEntry(up, edge('c', 9)), edge('x', 5));
  assert.deepEqual(ids(up), ['d', 'c']);
  assert.equal(up.pageInfo.startCursor, 'd@6');
});

test('a range that became empty starts again at the next entry, from which both ends are read', () => {
  const cases: [way: PageArguments, ends: Ends, at: number][] = [
    [desc, { next: true }, 9],
    [desc, { next: true }, 2], // shared later, and older than what is not read yet
    [desc, { previous: true }, 9],
    [desc, { previous: true }, 2],
    [asc, { next: true }, 2],
    [asc, { previous: true }, 9],
  ];
  for (const [way, ends, at] of cases) {
    const emptied = dropEntry(joinPage(undefined, page([edge('c', 5)], ends), way), 'c');
    const held = placeEntry(emptied, edge('x', at));
    assert.deepEqual(ids(held), ['x']);
    assert.deepEqual(held.pageInfo, { hasPreviousPage: true, hasNextPage: true, startCursor: `x@${at}`, endCursor: `x@${at}` });
  }
});

test('the only entry stays if it moves to a newest end that is loaded', () => {
  const held = joinPage(undefined, page([edge('c', 5)], { next: true }), desc);
  const moved = placeEntry(held, edge('c', 9));
  assert.deepEqual(ids(moved), ['c']);
  assert.deepEqual(moved.pageInfo, { hasPreviousPage: false, hasNextPage: true, startCursor: 'c@9', endCursor: 'c@9' });
});

test('if the only loaded entry moves, the entries in between are still read', () => {
  const cases: [way: PageArguments, ends: Ends][] = [
    [asc, { next: true }],
    [asc, { previous: true, next: true }],
    [desc, { previous: true }],
  ];
  for (const [way, ends] of cases) {
    const held = joinPage(undefined, page([edge('a', 1)], ends), way);
    const left = placeEntry(held, edge('a', 9));
    assert.deepEqual(ids(left), []);
    assert.deepEqual(left.pageInfo, held.pageInfo);
    assert.equal(left.newest, 'a@9');
    // It has moved all the same; the new pageInfo shows it.
    assert.notEqual(left.pageInfo, held.pageInfo);
    const between = way === asc ? ['b', 'a'] : ['a', 'b'];
    const asked = way === asc ? { after: 'a@1' } : { before: 'a@1' };
    const read = between.map((key) => edge(key, key === 'a' ? 9 : 2));
    assert.deepEqual(ids(joinPage(left, page(read), { ...way, ...asked })), between);
  }
});

test('a walk towards the newest end continues until a page is empty', () => {
  // Entries that moved after the walk began are not part of it, and are read after it.
  const first = joinPage(undefined, page([edge('a', 1)], { next: true }), asc);
  const last = joinPage(first, page([edge('b', 2)], { previous: true }), { ...asc, after: 'a@1' });
  assert.equal(last.pageInfo.hasNextPage, true);
  const over = joinPage(last, page([]), { ...asc, after: 'b@2' });
  assert.equal(over.pageInfo.hasNextPage, false);
  const middle = joinPage(undefined, page([edge('b', 2)], { previous: true, next: true }), desc);
  const up = joinPage(middle, page([edge('c', 3)], { next: true }), { ...desc, before: 'b@2' });
  assert.equal(up.pageInfo.hasPreviousPage, true);
  assert.equal(joinPage(up, page([]), { ...desc, before: 'c@3' }).pageInfo.hasPreviousPage, false);
});

test('the same event twice changes nothing more', () => {
  const held = joinPage(undefined, page([edge('a', 1), edge('b', 2)]), asc);
  const once = placeEntry(held, edge('a', 3));
  assert.deepEqual(placeEntry(once, edge('a', 3)), once);
});

test('the first entry of an empty library is both of its ends', () => {
  const held = placeEntry(joinPage(undefined, page([]), asc), edge('a', 1));
  assert.deepEqual(ids(held), ['a']);
  assert.deepEqual(held.pageInfo, { hasPreviousPage: false, hasNextPage: false, startCursor: 'a@1', endCursor: 'a@1' });
});

test('a removed entry is gone, and its cursor is still valid', () => {
  const held = dropEntry(joinPage(undefined, page([edge('a', 1), edge('b', 2)], { next: true }), asc), 'b');
  assert.deepEqual(ids(held), ['a']);
  assert.equal(held.pageInfo.endCursor, 'b@2');
  assert.equal(dropEntry(held, 'b'), held);
});

test('a position is shown if it is among the loaded entries', () => {
  const start = joinPage(undefined, page([edge('a', 1)], { next: true }), asc);
  const middle = joinPage(undefined, page([edge('b', 2)], { previous: true }), asc);
  assert.equal(holdsPosition(undefined, null), false);
  assert.equal(holdsPosition(start, null), true);
  assert.equal(holdsPosition(middle, null), false);
  assert.equal(holdsPosition(middle, 'b@2'), true);
  assert.equal(holdsPosition(middle, 'c@3'), false);
});

test('days are separated in the order of the entries', () => {
  const days = byDay([edge('a', 1), edge('b', 61), edge('c', 62), edge('d', 3)], (t) => t.slice(14, 16));
  assert.deepEqual(days.map(({ day, edges }) => [day, edges.length]), [['00', 1], ['01', 2], ['00', 1]]);
});
