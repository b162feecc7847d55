import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { LibraryChange, LibrarySnapshot } from 'carrel-client';
import { grouped, holdsPosition, letterOf, outcomeOf, type LibraryEdge } from '../src/data/entries.ts';

const time = (n: number) => `2026-11-21T09:${String(Math.trunc(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}.000000Z`;

const shares = { __typename: 'ContentMemberConnection', nodes: [] } as const;

function edge(id: string, at: number): LibraryEdge {
  const node = { __typename: 'Content', id, tenant: 'demo', kind: 'NOTE', title: id, description: null, link: null,
    visibility: 'PUBLIC', lastModified: time(at), version: at, createdBy: null, shares } as const;
  return { __typename: 'LibraryEdge', cursor: `${id}@${at}`, node };
}

function snapshot(entries: LibraryEdge[], hasPrevious = false): LibrarySnapshot<LibraryEdge> {
  return { status: 'live', isLoaded: true, entries, hasPrevious, hasNext: false, lostPosition: false, error: null };
}

test('a position is shown if it is among the loaded entries', () => {
  assert.equal(holdsPosition({ ...snapshot([]), isLoaded: false }, null), false);
  assert.equal(holdsPosition(snapshot([edge('a', 1)]), null), true);
  const middle = snapshot([edge('b', 2)], true);
  assert.equal(holdsPosition(middle, null), false);
  assert.equal(holdsPosition(middle, 'b@2'), true);
  assert.equal(holdsPosition(middle, 'c@3'), false);
});

test('the outcome of a change says whether the entry has moved, is shown, and is the newest', () => {
  const [a, b] = [edge('a', 1), edge('b', 2)];
  const moved = edge('a', 9);
  const placed = (placed: LibraryEdge): LibraryChange<LibraryEdge> => ({ __typename: 'LibraryEntryPlaced', edge: placed });
  assert.deepEqual(outcomeOf(placed(moved), [b, a], [moved, b]), { id: 'a', moved: true, shown: true, newest: true });
  assert.deepEqual(outcomeOf(placed(moved), [moved, b], [moved, b]), { id: 'a', moved: false, shown: true, newest: true });
  assert.deepEqual(outcomeOf(placed(a), [moved, b], [moved, b]), { id: 'a', moved: false, shown: false, newest: false });
  // By title, the entry in the list has another cursor than the one of the event.
  assert.equal(outcomeOf(placed(moved), [b, a], [{ ...moved, cursor: 'of the entry before it' }, b]).shown, true);
  assert.deepEqual(outcomeOf(placed(moved), [b], [b]), { id: 'a', moved: true, shown: false, newest: true });
  assert.deepEqual(outcomeOf(placed(a), [b], [b, a]), { id: 'a', moved: true, shown: true, newest: false });
  assert.deepEqual(outcomeOf({ __typename: 'LibraryEntryRemoved', contentId: 'b' }, [b, a], [a]),
    { id: 'b', moved: false, shown: false, newest: false });
});

test('entries are separated under headings, in their order', () => {
  const groups = grouped([edge('a', 1), edge('b', 61), edge('c', 62), edge('d', 3)], ({ lastModified }) => lastModified.slice(14, 16));
  assert.deepEqual(groups.map(({ heading, edges }) => [heading, edges.length]), [['00', 1], ['01', 2], ['00', 1]]);
});

test('a title is listed under its first letter, as titles are ordered', () => {
  const titles = ['"Quoted"', '9 lives', '10 things', '٣', 'apple', 'Äpfel', ' B-side', 'éclair', 'ß',
    'Zebra', 'Ω', 'Россия', '中文', '𝔸lpha', '😀', ''];
  assert.equal(titles.map(letterOf).join(' '), '# 0–9 0–9 0–9 A A B E S Z Ω Р 中 A # #');
});
