// Tests of each rule by which pages and changes are joined to the loaded part of a library.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinPage, placeEntry, removeEntry, startRange } from '../dist/range.js';

// entry('b2') is the item b in version 2, whose cursor and time are 2.
const entry = (name, time = name[1]) => ({ cursor: `at ${time}`, node: { id: name[0], version: Number(name[1]), lastModified: `2026-01-01T00:00:00.00000${time}Z` } });
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

test('removing an entry does not change the cursors', () => {
  const range = startRange(page('a1 b2'), 'ASC');
  assert.deepEqual(removeEntry(range, 'b').next, range.next);
  assert.equal(removeEntry(range, 'z'), range);
});
