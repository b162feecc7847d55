import { test } from 'node:test';
import assert from 'node:assert/strict';
import { addFound, type FoundItem } from '../src/data/find-items.ts';
import type { EntryFragment } from '../src/generated/operations.ts';

const item = (id: string, minute: number): EntryFragment => ({
  __typename: 'Content',
  id,
  tenant: 'demo',
  kind: 'NOTE',
  title: id,
  description: null,
  link: null,
  visibility: 'PRIVATE',
  lastModified: `2026-11-21T09:${String(minute).padStart(2, '0')}:00.000000Z`,
  version: 1,
  createdBy: null,
  shares: { __typename: 'ContentMemberConnection', nodes: [] },
});
const mine = { id: 'u:demo:ann', name: 'My library' };
const team = { id: 'g:demo:team', name: 'Team' };
const shown = (found: readonly FoundItem[]) => found.map(({ item: { id }, library: { name } }) => `${id} in ${name}`);

test('an item that is in several libraries is found once, in the first of them', () => {
  const first = addFound([], mine, [item('b', 5), item('a', 1)]);
  assert.deepEqual(shown(addFound(first, team, [item('c', 9), item('b', 5), item('d', 3)])),
    ['c in Team', 'b in My library', 'd in Team', 'a in My library']);
});

test('items of the same time are ordered by id, like in a library', () => {
  assert.deepEqual(shown(addFound(addFound([], mine, [item('a', 1)]), team, [item('b', 1)])), ['b in Team', 'a in My library']);
});
