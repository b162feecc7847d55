import { test } from 'node:test';
import assert from 'node:assert/strict';
import { hasNone, someEdge } from '../src/data/connections.ts';

const page = (ids: string[], endCursor: string | null = null) =>
  ({ edges: ids.map((id) => ({ node: { id } })), pageInfo: { hasNextPage: endCursor !== null, endCursor } });

test('a connection is empty if it has no edge and none follows', () => {
  assert.equal(hasNone(page([])), true);
  assert.equal(hasNone(page([], 'scanned')), false);
  assert.equal(hasNone(page(['a'])), false);
});

test('a walk continues, even after an empty page, until it finds the edge', async () => {
  const pages: Record<string, ReturnType<typeof page>> = { null: page(['a'], 'a@'), 'a@': page([], 'scanned'),
    scanned: page(['b'], 'b@'), 'b@': page(['c']) };
  const asked: (string | null)[] = [];
  const read = async (after: string | null) => (asked.push(after), pages[String(after)]);
  assert.equal(await someEdge(read, ({ node }) => node.id === 'b'), true);
  assert.deepEqual(asked, [null, 'a@', 'scanned']);
  assert.equal(await someEdge(read, ({ node }) => node.id === 'z'), false);
  assert.deepEqual(asked.slice(3), [null, 'a@', 'scanned', 'b@']);
});

test('a walk fails if a page cannot be read', async () => {
  await assert.rejects(someEdge(() => Promise.reject(new Error('away')), () => true), /away/);
});
