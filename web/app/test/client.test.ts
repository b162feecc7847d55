import { test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';
import { CombinedGraphQLErrors } from '@apollo/client';
import { connect } from '../src/data/client.ts';
import { explain } from '../src/data/faults.ts';
import { EntryFragmentDoc, RemoveFromLibraryDocument, ViewerDocument } from '../src/generated/operations.ts';

// A browser has these. No test subscribes, so no socket is opened.
const NoSocket = Object.assign(class {}, { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 });
Object.assign(globalThis, { location: { origin: 'http://gateway' }, WebSocket: NoSocket });

const item = { __typename: 'Content', id: 'c:demo:a', tenant: 'demo', kind: 'NOTE', title: 'A', description: null,
  link: null, visibility: 'PUBLIC', lastModified: '2026-11-21T09:00:00.000000Z', version: 1, createdBy: null,
    shares: { __typename: 'ContentMemberConnection', nodes: [] } };
const pageInfo = { __typename: 'PageInfo', hasNextPage: false, hasPreviousPage: false, startCursor: 'a', endCursor: 'a' };
const edge = { __typename: 'LibraryEdge', cursor: 'a', sortKey: 'a', node: item };
const library = { __typename: 'LibraryConnection', edges: [edge], pageInfo };
const page = { data: { principal: { __typename: 'User', id: 'u:demo:ann', library } } };
const refused = { errors: [{ message: 'expired', extensions: { code: 'UNAUTHENTICATED' } }] };

// connected returns a connection, and the tokens of its requests. answer returns the answer to one.
function connected(t: TestContext, answer: (token: string) => { status?: number; body: unknown }, fresh = '') {
  const tokens: string[] = [];
  let token = 'old';
  let expired = 0;
  t.mock.method(globalThis, 'fetch', async (_: unknown, { headers }: { headers: Record<string, string> }) => {
    tokens.push(headers['authorization'] ?? '');
    const { status = 200, body } = answer(tokens.at(-1) ?? '');
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });
  });
  const renew = async () => {
    if (fresh) token = fresh;
    return fresh;
  };
  const connection = connect({ token: () => token, renew, expired: () => (expired += 1) });
  t.after(() => connection.close());
  return { connection, tokens, expired: () => expired };
}

test('a library is kept until the store is cleared, and its items are in the cache', async (t) => {
  const { connection } = connected(t, () => ({ body: page }));
  const view = { id: 'u:demo:ann', order: 'newest', shared: false } as const;
  const first = connection.library(view, null);
  await first.reload();
  assert.deepEqual(first.snapshot().entries.map(({ node }) => node.title), ['A']);
  assert.equal(connection.client.cache.readFragment({ id: 'Content:c:demo:a', fragment: EntryFragmentDoc })?.title, 'A');
  assert.equal(connection.library(view, null), first);
  assert.equal(connection.library(view, 'a'), first);
  for (const [other, at] of [[view, 'elsewhere'], [{ ...view, shared: true }, null],
    [{ ...view, order: 'oldest' }, null]] as const) assert.notEqual(connection.library(other, at), first);
  const again = connection.library(view, null);
  await again.reload();
  for (const order of ['oldest', 'a-z', 'z-a'] as const) assert.notEqual(connection.library({ ...view, order }, null), again);
  assert.equal(connection.library(view, null), again);
  await connection.client.clearStore();
  assert.notEqual(connection.library(view, null), again);
});

test('a refused token is renewed once, and is expired if there is no other', async (t) => {
  const answer = (token: string) => (token === 'Bearer new' ? { body: { data: { viewer: null } } } : { status: 401, body: refused });
  const renewed = connected(t, answer, 'new');
  await renewed.connection.client.query({ query: ViewerDocument });
  assert.deepEqual([renewed.tokens, renewed.expired()], [['Bearer old', 'Bearer new'], 0]);
  const gone = connected(t, answer);
  await assert.rejects(gone.connection.client.query({ query: ViewerDocument }), (error) => CombinedGraphQLErrors.is(error) &&
    explain(error).kind === 'signedOut');
  assert.deepEqual([gone.tokens, gone.expired()], [['Bearer old'], 1]);
});

test('an answer that is not from the gateway is explained by its status', async (t) => {
  const { connection } = connected(t, () => ({ status: 500, body: 'down' }));
  await assert.rejects(connection.client.query({ query: ViewerDocument }), (error) => explain(error)
    .text === 'The server failed (HTTP 500).');
});

test('a request is aborted by the signal of its context', async (t) => {
  const ending = new AbortController();
  t.mock.method(globalThis, 'fetch', (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))));
  const connection = connect({ token: () => '', renew: async () => '', expired: () => {} });
  t.after(() => connection.close());
  const asked = connection.client.query({ query: ViewerDocument, context: { fetchOptions: { signal: ending.signal } } });
  const aborted = assert.rejects(asked, /left/);
  await new Promise((resolve) => setImmediate(resolve));
  ending.abort(new Error('left'));
  await aborted;
});

test('a query without an answer fails like a lost connection, and a mutation waits', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const signals: AbortSignal[] = [];
  t.mock.method(globalThis, 'fetch', (_: unknown, { signal }: { signal: AbortSignal }) => {
    signals.push(signal);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const connection = connect({ token: () => '', renew: async () => '', expired: () => {} });
  t.after(() => connection.close());
  const lost = (error: unknown) => explain(error).kind === 'temporary' && explain(error).text === 'The server could not be reached.';
  const asked = assert.rejects(connection.client.query({ query: ViewerDocument }), lost);
  const read = assert.rejects(connection.library({ id: 'u:demo:ann', order: 'newest', shared: false }, null).reload(), lost);
  const input = { principalId: 'u:demo:ann', contentId: 'c:demo:a' };
  connection.client.mutate({ mutation: RemoveFromLibraryDocument, variables: { input } }).catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(29_999);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false, false]);
  t.mock.timers.tick(1);
  await Promise.all([asked, read]);
  assert.equal(signals.filter(({ aborted }) => aborted).length, 2);
});
