// Tests of each rule by which pages and changes are joined to the loaded part of a library.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinPage, placeEntry, removeEntry, startRange } from '../dist/range.js';

// entry('b2') is the item b in version 2, whose cursor and time are 2.
const entry = (name, time = name[1]) => ({ cursor: `at ${time}`, node: { id: name[0], version: Number(name[1]),
  lastModified: `2026-01-01T00:00:00.00000${time}Z` } });
const page = (names, pageInfo = {}) => ({
  edges: names.split(' ').filter(Boolean).map((name) => entry(name)),
  pageInfo: { hasPreviousPage: false, hasNextPage: false, startCursor: 'start', endCursor: 'end', ...pageInfo },
});
const shown = ({ entries }) => entries.map(({ node }) => `${node.id}${node.version}`).join(' ');
const limit = 100;

test('an older state of an item changes nothing', () => {
  const range = startRange(page('a1 b5'), 'ASC');
  assert.equal(placeEntry(range, entry('b3'), limit), range);
});

test('if an item is in two pages, the later version is kept', () => {
  const walk = joinPage(startRange(page('b7 a3', { hasNextPage: true }), 'DESC'), page('b2 c1'), 'next', limit);
  assert.equal(shown(walk), 'b7 a3 c1');
  const late = joinPage(startRange(page('a2 b1', { hasNextPage: true }), 'DESC'), page('b3'), 'next', limit);
  assert.equal(shown(late), 'a2 b3');
});

test('if an item is in two pages in the same version, the entry nearer the newest end is kept', () => {
  for (const order of ['ASC', 'DESC']) {
    const first = startRange(page('a1 b2', { hasNextPage: true }), order);
    const joined = joinPage(first, { ...page(''), edges: [{ ...entry('a1'), cursor: 'other' }] }, 'next', limit);
    assert.deepEqual(joined.entries.map(({ cursor }) => cursor), order === 'ASC' ? ['at 2', 'other'] : ['at 1', 'at 2']);
  }
});

test('an empty page without a cursor does not change the cursor of the end', () => {
  const first = startRange(page('b2 a1', { hasNextPage: true }), 'DESC');
  const joined = joinPage(first, page('', { endCursor: null, startCursor: null }), 'next', limit);
  assert.deepEqual(joined.next, { more: false, cursor: 'end' });
});

test('a change beyond the limit drops the oldest entry, which is read again later', () => {
  const newestFirst = placeEntry(startRange(page('c3 b2 a1'), 'DESC'), entry('d4'), 3);
  assert.equal(shown(newestFirst), 'd4 c3 b2');
  assert.deepEqual([newestFirst.next, newestFirst.hasOmitted], [{ more: true, cursor: 'at 2' }, false]);
  const oldestFirst = placeEntry(startRange(page('a1 b2 c3'), 'ASC'), entry('d4'), 3);
  assert.equal(shown(oldestFirst), 'b2 c3 d4');
  assert.deepEqual(oldestFirst.previous, { more: true, cursor: 'at 2' });
});

test('newest entries that a page drops are read again at the end of a walk', () => {
  const cut = joinPage(startRange(page('d4 c3', { hasNextPage: true }), 'DESC'), page('b2 a1'), 'next', 3);
  assert.equal(shown(cut), 'c3 b2 a1');
  assert.deepEqual([cut.previous, cut.hasOmitted], [{ more: true, cursor: 'at 3' }, true]);
  const back = joinPage(cut, page('d4'), 'previous', 3);
  assert.deepEqual([shown(back), back.previous.more, back.hasOmitted], ['d4 c3 b2', true, false]);
  assert.equal(joinPage(back, page(''), 'previous', 3).previous.more, false);
});

test('an entry that has not moved keeps its place, even at the ends, in its new state', () => {
  const range = startRange(page('c5 b3 a1', { hasPreviousPage: true, hasNextPage: true }), 'DESC');
  for (const name of ['c5', 'b3', 'a1']) {
    const same = placeEntry(range, { ...entry(name), cursor: 'made later' }, limit);
    assert.deepEqual([shown(same), same.previous, same.next], ['c5 b3 a1', range.previous, range.next]);
    assert.equal(same.entries.filter(({ cursor }) => cursor === 'made later').length, 1);
  }
});

test('equal times are in the order of ids', () => {
  const at1 = (id) => ({ ...entry('a1'), node: { ...entry('a1').node, id } });
  for (const [order, ids] of [['ASC', 'abc'], ['DESC', 'cba']]) {
    const range = startRange({ ...page(''), edges: [at1(ids[0]), at1(ids[2])] }, order);
    assert.equal(placeEntry(range, at1('b'), limit).entries.map(({ node }) => node.id).join(''), ids);
  }
});

test('an entry beyond an end that is not loaded is left out, and the range ends before it', () => {
  const ends = { hasPreviousPage: true, hasNextPage: true };
  const middle = startRange(page('b2 c3', ends), 'ASC');
  for (const [name, left] of [['b9', 'c3'], ['x1', 'b2 c3'], ['x9', 'b2 c3']]) assert.equal(shown(placeEntry(middle, entry(name), limit)),
    left);
  // The last entry moves to the other end; its old position still ends the range.
  const moved = placeEntry(startRange(page('c5 b3 a1', { hasNextPage: true, endCursor: 'at 1' }), 'DESC'), entry('a9'), limit);
  assert.deepEqual([shown(moved), moved.next.cursor], ['a9 c5 b3', 'at 1']);
  // Another one is shared between the remaining entries and that position.
  const shared = placeEntry(moved, entry('x2'), limit);
  assert.deepEqual([shown(shared), shared.next], ['a9 c5 b3', { more: true, cursor: 'at 3' }]);
});

test('a range that became empty is read again to know where an entry belongs, unless it is the whole library', () => {
  for (const order of ['ASC', 'DESC']) {
    for (const side of ['hasPreviousPage', 'hasNextPage']) {
      const range = startRange(page('c5', { [side]: true }), order);
      assert.equal(placeEntry(removeEntry(range, 'c'), entry('x9'), limit), null);
      assert.equal(placeEntry(range, entry('c9'), limit), null);
    }
    assert.equal(shown(placeEntry(startRange(page(''), order), entry('x9'), limit)), 'x9');
  }
});

test('a walk that begins after a cursor goes on to the newest end after its last page', () => {
  const last = startRange(page('b2'), 'ASC', true);
  assert.deepEqual([last.next.more, last.hasOmitted], [true, false]);
  assert.equal(joinPage(last, page(''), 'next', limit).next.more, false);
  const walk = startRange(page('b2', { hasNextPage: true }), 'ASC', true);
  const end = joinPage(walk, page('c3'), 'next', limit);
  assert.equal(end.next.more, true);
  assert.equal(joinPage(end, page('d4'), 'next', limit).next.more, false);
  const newestFirst = startRange(page('b2'), 'DESC', true);
  assert.deepEqual([newestFirst.previous.more, newestFirst.next.more, newestFirst.hasOmitted], [false, false, false]);
});

test('removing an entry does not change the cursors', () => {
  const range = startRange(page('a1 b2'), 'ASC');
  assert.deepEqual(removeEntry(range, 'b').next, range.next);
  assert.equal(removeEntry(range, 'z'), range);
});
