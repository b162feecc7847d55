import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { InMemoryCache } from '@apollo/client';
import { applyChange, createCache, forgetItem, heldRange, takeOut, type LibraryChange, type View } from '../src/data/cache.ts';
import { ItemDocument, LibraryHeadDocument, LibraryPageDocument, type EntryFragment, type ItemQuery, type LibraryPageQuery, type LibraryPageQueryVariables } from '../src/generated/operations.ts';

const id = 'g:demo:reading';
const view: View = { id, direction: 'DESC', shared: false };

function node(name: string, minute: number, more: Partial<EntryFragment> = {}): EntryFragment {
  return {
    __typename: 'Content',
    id: `c:demo:${name}`,
    tenant: 'demo',
    kind: 'LINK',
    title: name,
    description: null,
    link: 'https://example.org/',
    visibility: 'PUBLIC',
    lastModified: `2026-11-21T09:${String(minute).padStart(2, '0')}:00.000000Z`,
    version: 1,
    createdBy: null,
    ...more,
  };
}
type Library = NonNullable<LibraryPageQuery['principal']>['library'];
type Edge = Library['edges'][number];

const edge = (name: string, minute: number, more?: Partial<EntryFragment>): Edge => ({ __typename: 'LibraryEdge', cursor: `${name}@${minute}`, node: node(name, minute, more) });
const placed = (...args: Parameters<typeof edge>): LibraryChange => ({ __typename: 'LibraryEntryPlaced', edge: edge(...args) });

interface Ends {
  next?: boolean;
  previous?: boolean;
}

function write(cache: InMemoryCache, edges: Edge[], { next = false, previous = false, ...args }: Ends & Partial<LibraryPageQueryVariables> = {}) {
  const variables: LibraryPageQueryVariables = { id, direction: 'DESC', shared: false, ...args };
  cache.writeQuery({
    query: LibraryPageDocument,
    variables,
    data: {
      principal: {
        __typename: variables.id.startsWith('g:') ? 'Group' : 'User',
        id: variables.id,
        library: {
          __typename: 'LibraryConnection',
          edges,
          pageInfo: {
            __typename: 'PageInfo',
            hasNextPage: next,
            hasPreviousPage: previous,
            startCursor: edges[0]?.cursor ?? null,
            endCursor: edges.at(-1)?.cursor ?? null,
          },
        },
      },
    },
  });
}

function read(cache: InMemoryCache, args: Partial<LibraryPageQueryVariables> = {}): Library | undefined {
  const variables: LibraryPageQueryVariables = { id, direction: 'DESC', shared: false, ...args };
  return cache.readQuery({ query: LibraryPageDocument, variables })?.principal?.library;
}
const titles = (library: Library | undefined) => library?.edges.map((e) => e.node.title);

test('pages join at both ends, whatever their arguments', () => {
  const cache = createCache();
  write(cache, [edge('d', 4), edge('c', 3)], { first: 2, after: 'e@5', next: true, previous: true });
  write(cache, [edge('b', 2)], { first: 2, after: 'c@3', previous: true });
  write(cache, [edge('e', 5)], { last: 2, before: 'd@4', next: true });
  write(cache, [], { last: 2, before: 'e@5', next: true });
  const library = read(cache, { first: 7 });
  assert.deepEqual(titles(library), ['e', 'd', 'c', 'b']);
  assert.deepEqual([library?.pageInfo.hasPreviousPage, library?.pageInfo.hasNextPage], [false, false]);
});

test('each order and each filter of private items has a range of its own', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  write(cache, [edge('a', 1), edge('b', 2)], { direction: 'ASC' });
  write(cache, [edge('c', 3), edge('b', 2)], { shared: true });
  assert.deepEqual(titles(read(cache)), ['b', 'a']);
  assert.deepEqual(titles(read(cache, { direction: 'ASC' })), ['a', 'b']);
  assert.deepEqual(titles(read(cache, { shared: true })), ['c', 'b']);
});

test('reading the number of entries replaces no entries', () => {
  const cache = createCache();
  write(cache, [edge('b', 2)]);
  cache.writeQuery({
    query: LibraryHeadDocument,
    variables: { id },
    data: {
      principal: {
        __typename: 'Group',
        id,
        tenant: 'demo',
        displayName: 'Reading',
        visibility: 'PUBLIC',
        library: { __typename: 'LibraryConnection', bucket: 'PUBLIC', count: { __typename: 'Count', value: 1, precision: 'EXACT' } },
        viewerRole: null,
      },
    },
  });
  assert.deepEqual(titles(read(cache)), ['b']);
});

test('a change moves the entry, updates the item, and continues from the new cursor', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  const change = placed('a', 9, { title: 'A, again', version: 2 });
  assert.deepEqual(applyChange(cache, view, change), { id: 'c:demo:a', moved: true, shown: true, newest: true });
  assert.equal(applyChange(cache, view, change).moved, false);
  assert.deepEqual(titles(read(cache)), ['A, again', 'b']);
  assert.equal(heldRange(cache, view)?.newest, 'a@9');
});

test('a library whose owner created the items stays in order, too', () => {
  const cache = createCache();
  const ann = { id: 'u:demo:ann' };
  const by: Partial<EntryFragment> = { createdBy: { __typename: 'User', ...ann, displayName: 'Ann' } };
  write(cache, [edge('c', 3, by), edge('b', 2, by), edge('a', 1, by)], { ...ann, next: true });
  applyChange(cache, { ...view, ...ann }, placed('x', 9, by));
  applyChange(cache, { ...view, ...ann }, placed('b', 10, { ...by, version: 2 }));
  assert.deepEqual(titles(read(cache, ann)), ['b', 'x', 'c', 'a']);
});

test('a change updates the item in other views, and keeps their order', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  write(cache, [edge('a', 1), edge('b', 2)], { direction: 'ASC' });
  applyChange(cache, view, placed('a', 9, { title: 'A, again', version: 2 }));
  assert.deepEqual(titles(read(cache, { direction: 'ASC' })), ['A, again', 'b']);
  assert.equal(heldRange(cache, { ...view, direction: 'ASC' })?.newest, 'b@2');
});

test('a change beyond the loaded entries is not shown', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)], { after: 'z@8', previous: true });
  assert.deepEqual(applyChange(cache, view, placed('x', 9)), { id: 'c:demo:x', moved: true, shown: false, newest: true });
  assert.deepEqual(titles(read(cache)), ['b', 'a']);
});

test('an older record never replaces a newer one', () => {
  const cache = createCache();
  write(cache, [edge('a', 5, { title: 'new', version: 3 })]);
  assert.equal(applyChange(cache, view, placed('a', 5, { title: 'old', version: 2 })).moved, false);
  assert.deepEqual(titles(read(cache)), ['new']);
});

test('an answer that was read before a change does not undo it', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  applyChange(cache, view, placed('a', 9, { title: 'new', version: 2 }));
  const older: NonNullable<ItemQuery['content']> = {
    ...node('a', 1, { createdBy: { __typename: 'User', id: 'u:demo:ann', displayName: 'Ann' } }),
    url: '/demo/a',
    createdAt: '2026-11-21T08:00:00.000000Z',
    expiresAt: null,
    viewerRole: 'MANAGER',
    viewerCanShare: true,
    viewerCanEdit: true,
    viewerCanManage: true,
    members: { __typename: 'ContentMemberConnection', edges: [], pageInfo: { __typename: 'PageInfo', hasNextPage: false, endCursor: null } },
  };
  cache.writeQuery({ query: ItemDocument, variables: { id: 'c:demo:a' }, data: { content: older } });
  const found = cache.readQuery({ query: ItemDocument, variables: { id: 'c:demo:a' } })?.content;
  assert.deepEqual([found?.title, found?.version, found?.lastModified], ['new', 2, node('a', 9).lastModified]);
  assert.deepEqual([found?.url, found?.createdBy?.displayName], ['/demo/a', 'Ann'], 'what only the answer has');
  assert.deepEqual(titles(read(cache)), ['new', 'b']);
});

test('an entry that was read before its item changed moves with the event', () => {
  const cache = createCache();
  write(cache, [edge('a', 9, { title: 'new', version: 2 })], { direction: 'ASC' });
  write(cache, [edge('b', 2), edge('a', 1)]);
  assert.deepEqual(titles(read(cache)), ['b', 'new']);
  assert.equal(applyChange(cache, view, placed('a', 9, { title: 'new', version: 2 })).moved, true);
  assert.deepEqual(titles(read(cache)), ['new', 'b']);
});

test('a removal removes the entry from the view of its event only', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  write(cache, [edge('a', 1), edge('b', 2)], { direction: 'ASC' });
  assert.equal(applyChange(cache, view, { __typename: 'LibraryEntryRemoved', contentId: 'c:demo:b' }).shown, false);
  assert.deepEqual(titles(read(cache)), ['a']);
  assert.deepEqual(titles(read(cache, { direction: 'ASC' })), ['a', 'b']);
  takeOut(cache, { ...view, direction: 'ASC' }, 'c:demo:a');
  assert.deepEqual(titles(read(cache, { direction: 'ASC' })), ['b']);
});

test('a deleted item is in no list', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  write(cache, [edge('a', 1), edge('b', 2)], { direction: 'ASC' });
  forgetItem(cache, 'c:demo:b');
  assert.deepEqual(titles(read(cache)), ['a']);
  assert.deepEqual(titles(read(cache, { direction: 'ASC' })), ['a']);
});

test('an entry whose item the reader changed moves with the event', () => {
  const cache = createCache();
  write(cache, [edge('b', 2), edge('a', 1)]);
  // The answer to a mutation updates the item, and moves no entry.
  write(cache, [edge('a', 9, { version: 2 })], { direction: 'ASC' });
  assert.deepEqual(titles(read(cache)), ['b', 'a']);
  applyChange(cache, view, placed('a', 9, { version: 2 }));
  assert.deepEqual(titles(read(cache)), ['a', 'b']);
});

test('a view that was never read does not exist', () => {
  const cache = createCache();
  assert.equal(heldRange(cache, view), undefined);
  assert.equal(applyChange(cache, view, placed('a', 9)).shown, false);
});

test('an item of a list is found by its id', () => {
  const cache = createCache();
  write(cache, [edge('a', 1)]);
  const found = cache.readQuery({ query: ItemDocument, variables: { id: 'c:demo:a' }, returnPartialData: true });
  assert.equal(found?.content?.title, 'a');
});
