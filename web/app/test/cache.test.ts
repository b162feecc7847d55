import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createCache, forgetItem, keepItems } from '../src/data/cache.ts';
import { EntryFragmentDoc, ItemDocument, type EntryFragment, type ItemQuery } from '../src/generated/operations.ts';

const id = 'c:demo:a';

function node(minute: number, more: Partial<EntryFragment> = {}): EntryFragment {
  return {
    __typename: 'Content',
    id,
    tenant: 'demo',
    kind: 'LINK',
    title: 'A',
    description: null,
    link: 'https://example.org/',
    visibility: 'PUBLIC',
    lastModified: `2026-11-21T09:${String(minute).padStart(2, '0')}:00.000000Z`,
    version: 1,
    createdBy: null,
    shares: { __typename: 'ContentMemberConnection', nodes: [] },
    ...more,
  };
}

// kept returns a cache with states of one item, and what it has of the item.
function kept(...states: EntryFragment[]) {
  const cache = createCache();
  for (const state of states) keepItems(cache, [{ node: state }]);
  return { cache, read: () => cache.readFragment({ id: `Content:${id}`, fragment: EntryFragmentDoc }) };
}

test('an older record never replaces a newer one', () => {
  const { read } = kept(node(5, { title: 'new', version: 3 }), node(4, { title: 'old', version: 2 }));
  assert.deepEqual([read()?.title, read()?.version], ['new', 3]);
});

test('an answer that was read before a change does not undo it', () => {
  const { cache, read } = kept(node(1), node(9, { title: 'new', version: 2 }));
  const older: NonNullable<ItemQuery['content']> = {
    ...node(1, { createdBy: { __typename: 'User', id: 'u:demo:ann', displayName: 'Ann' } }),
    url: '/demo/a',
    createdAt: '2026-11-21T08:00:00.000000Z',
    expiresAt: null,
    viewerRole: 'MANAGER',
    viewerCanShare: true,
    viewerCanEdit: true,
    viewerCanManage: true,
    members: { __typename: 'ContentMemberConnection', edges: [], pageInfo: { __typename: 'PageInfo', hasNextPage: false,
      endCursor: null } },
  };
  cache.writeQuery({ query: ItemDocument, variables: { id }, data: { content: older } });
  const found = cache.readQuery({ query: ItemDocument, variables: { id } })?.content;
  assert.deepEqual([found?.title, found?.version, found?.lastModified], ['new', 2, node(9).lastModified]);
  assert.deepEqual([found?.url, found?.createdBy?.displayName], ['/demo/a', 'Ann'], 'what only the answer has');
  assert.equal(read()?.title, 'new');
});

test('a deleted item is forgotten', () => {
  const { cache, read } = kept(node(1));
  forgetItem(cache, id);
  assert.equal(read(), null);
});

test('an item of a list is found by its id', () => {
  const { cache } = kept(node(1));
  const found = cache.readQuery({ query: ItemDocument, variables: { id }, returnPartialData: true });
  assert.equal(found?.content?.title, 'A');
});
