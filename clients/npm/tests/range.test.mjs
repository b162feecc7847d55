// Tests of each rule by which pages and changes are joined to the loaded part of a library.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinPage, placeEntry, removeEntry, startRange as startOf } from '../dist/range.js';

// entry('b2') is the item b in version 2, whose cursor and time are 2.
const entry = (name, time = name[1]) => ({ cursor: `at ${time}`, sortKey: `${time}-${name[0]}`, node: { id: name[0],
  version: Number(name[1]) } });
const page = (names, pageInfo = {}) => ({
  edges: names.split(' ').filter(Boolean).map((name) => entry(name)),
  pageInfo: { hasPreviousPage: false, hasNextPage: false, startCursor: 'start', endCursor: 'end', ...pageInfo },
});
const startRange = (page, order, continues) => startOf(page, 'LAST_MODIFIED', order, continues);
const shown = ({ entries }) => entries.map(({ node }) => `${node.id}${node.version}`).join(' ');
const end = ({ more, cursor }) => ({ more, cursor });
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
  assert.deepEqual(end(joined.next), { more: false, cursor: 'end' });
});

test('a change beyond the limit drops the oldest entry, which is read again later', () => {
  const newestFirst = placeEntry(startRange(page('c3 b2 a1'), 'DESC'), entry('d4'), 3);
  assert.equal(shown(newestFirst), 'd4 c3 b2');
  assert.deepEqual([end(newestFirst.next), newestFirst.hasOmitted], [{ more: true, cursor: 'at 2' }, false]);
  const oldestFirst = placeEntry(startRange(page('a1 b2 c3'), 'ASC'), entry('d4'), 3);
  assert.equal(shown(oldestFirst), 'b2 c3 d4');
  assert.deepEqual(end(oldestFirst.previous), { more: true, cursor: 'at 2' });
});

test('newest entries that a page drops are read again at the end of a walk', () => {
  const cut = joinPage(startRange(page('d4 c3', { hasNextPage: true }), 'DESC'), page('b2 a1'), 'next', 3);
  assert.equal(shown(cut), 'c3 b2 a1');
  assert.deepEqual([end(cut.previous), cut.hasOmitted], [{ more: true, cursor: 'at 3' }, true]);
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
  const at1 = (id) => ({ ...entry(`${id}1`), node: { id, version: 1 } });
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
  assert.deepEqual([shown(shared), end(shared.next)], ['a9 c5 b3', { more: true, cursor: 'at 3' }]);
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

// titled('b2', 'm') is the item b in version 2 with the title m. An event has another cursor than a page.
const titled = (name, title = name[0], cursor = `at ${title}`) => ({ cursor, titleKey: `${title}-${name[0]}`,
  node: { id: name[0], version: Number(name[1]) } });
const renamed = (name, title) => titled(name, title, 'of an event');
const titlePage = (names, { hasPreviousPage = false, hasNextPage = false, ...cursors } = {}) => {
  const edges = names.split(' ').filter(Boolean).map((name) => titled(name));
  return { edges, pageInfo: { hasPreviousPage, hasNextPage, startCursor: edges[0]?.cursor ?? null,
    endCursor: edges.at(-1)?.cursor ?? null, ...cursors } };
};
const byTitle = (names, order = 'ASC', pageInfo = {}) => startOf(titlePage(names, pageInfo), 'TITLE', order);
const both = { hasPreviousPage: true, hasNextPage: true };

test('by title, a renamed item moves in either direction, in both orders', () => {
  const cases = [['ASC', 'b1 d1 f1', 'd1 b2 f1', 'd3 b1 f1'], ['DESC', 'f1 d1 b1', 'f1 b2 d1', 'f1 b1 d3']];
  for (const [order, names, later, earlier] of cases) {
    assert.equal(shown(placeEntry(byTitle(names, order), renamed('b2', 'e'), limit)), later);
    assert.equal(shown(placeEntry(byTitle(names, order), renamed('d3', 'a'), limit)), earlier);
  }
});

test('by title, an entry that keeps its title keeps its place and its cursor', () => {
  const range = placeEntry(byTitle('b1 d1', 'ASC', both), renamed('d2', 'd'), limit);
  assert.deepEqual([shown(range), range.entries[1].cursor, end(range.next)], ['b1 d2', 'at d', { more: true, cursor: 'at d' }]);
});

test('by title, an entry beyond an end with more pages is left out, and the end stays where it is', () => {
  for (const [order, names] of [['ASC', 'd1 f1 h1'], ['DESC', 'h1 f1 d1']]) {
    const range = byTitle(names, order, both);
    for (const [name, title] of [['f2', 'a'], ['f2', 'z'], ['x1', 'a'], ['x1', 'z']]) {
      const next = placeEntry(range, renamed(name, title), limit);
      assert.equal(shown(next), name === 'f2' ? names.replace(' f1', '') : names);
      assert.deepEqual([next.previous, next.next], [range.previous, range.next]);
    }
    const whole = byTitle(names, order);
    assert.equal(shown(placeEntry(whole, renamed('x1', 'z'), limit)), order === 'ASC' ? `${names} x1` : `x1 ${names}`);
  }
});

test('by title, an entry between the last one and an end that has moved away is placed', () => {
  const range = placeEntry(byTitle('d1 f1 h1', 'ASC', both), renamed('h2', 'e'), limit);
  assert.equal(shown(range), 'd1 h2 f1');
  const within = placeEntry(range, renamed('x1', 'g'), limit);
  assert.deepEqual([shown(within), end(within.next)], ['d1 h2 f1 x1', { more: true, cursor: 'at h' }]);
  assert.equal(shown(placeEntry(range, renamed('x1', 'i'), limit)), 'd1 h2 f1');
});

test('by title, an item whose title comes back is at the end that it has defined', () => {
  for (const [order, names] of [['ASC', 'd1 f1 h1'], ['DESC', 'h1 f1 d1']]) {
    for (const id of ['d', 'h']) {
      const away = placeEntry(byTitle(names, order, both), renamed(`${id}2`, 'e'), limit);
      assert.equal(shown(placeEntry(away, renamed(`${id}3`, id), limit)), names.replace(`${id}1`, `${id}3`));
    }
  }
});

test('by title, a placed entry has the cursor of a neighbour, and no page is read from it', () => {
  const middle = placeEntry(byTitle('b1 d1 f1'), renamed('x1', 'c'), limit);
  assert.deepEqual(middle.entries.map(({ cursor }) => cursor), ['at b', 'at b', 'at d', 'at f']);
  const first = placeEntry(byTitle('b1 d1 f1'), renamed('x1', 'a'), limit);
  assert.deepEqual(first.entries.map(({ cursor }) => cursor), ['at b', 'at b', 'at d', 'at f']);
  assert.equal(placeEntry(byTitle(''), renamed('x1', 'a'), limit), null);

  // A range is cut at an entry of a page, however many others are dropped with it.
  const cutAtEnd = placeEntry(placeEntry(byTitle('b1 d1 f1'), renamed('x1', 'e'), 4), renamed('y1', 'a'), 4);
  assert.deepEqual([shown(cutAtEnd), end(cutAtEnd.next), cutAtEnd.hasOmitted], ['y1 b1 d1', { more: true, cursor: 'at d' }, false]);
  const cutAtStart = placeEntry(placeEntry(byTitle('b1 d1 f1'), renamed('x1', 'c'), 4), renamed('y1', 'g'), 3);
  assert.deepEqual([shown(cutAtStart), end(cutAtStart.previous)], ['d1 f1 y1', { more: true, cursor: 'at d' }]);
  // Once a page has read the entry, it has a cursor.
  const read = joinPage(placeEntry(byTitle('b1 d1', 'ASC', { hasNextPage: true }), renamed('x1', 'c'), limit),
    { ...titlePage('f1'), edges: [titled('x1', 'c'), titled('f1')] }, 'next', limit);
  assert.equal(read.placed.size, 0);
});

test('by title, an end of which only the cursor is known moves to the last entry, or the library is read again', () => {
  const passed = { hasNextPage: true, endCursor: 'after hidden entries' };
  const range = byTitle('b1 d1', 'ASC', passed);
  const next = placeEntry(range, renamed('x1', 'e'), limit);
  assert.deepEqual([shown(next), next.next], ['b1 d1', { more: true, cursor: 'at d', key: 'd-d' }]);
  const placedLast = removeEntry(placeEntry(range, renamed('x1', 'c'), limit), 'd');
  assert.equal(placeEntry(placedLast, renamed('y1', 'e'), limit), null);
  assert.equal(placeEntry(byTitle('', 'ASC', passed), renamed('y1', 'e'), limit), null);
});

test('by title, a walk that begins after a cursor ends with its last page, and an item in two pages is kept once', () => {
  for (const order of ['ASC', 'DESC']) {
    const walk = startOf(titlePage('b1'), 'TITLE', order, true);
    assert.deepEqual([walk.next.more, walk.hasOmitted], [false, false]);
  }
  const first = byTitle('b1 d1', 'ASC', { hasNextPage: true });
  const twice = joinPage(first, { ...titlePage('f1'), edges: [titled('b2', 'e'), titled('f1')] }, 'next', limit);
  assert.equal(shown(twice), 'd1 b2 f1');
  for (const [order, names, last] of [['ASC', 'b1 d1', 'f1'], ['DESC', 'f1 d1', 'b1']]) {
    const edges = [titled('d1', 'd', 'read again'), titled(last)];
    const again = joinPage(byTitle(names, order, { hasNextPage: true }), { ...titlePage(last), edges }, 'next', limit);
    assert.deepEqual(again.entries.map(({ cursor }) => cursor).slice(1), ['read again', `at ${last[0]}`]);
  }
});

test('documents that do not select the key of the order are an error', () => {
  assert.throws(() => placeEntry(byTitle('b1 d1'), entry('x1'), limit), { code: 'NO_SORT_KEY' });
});
