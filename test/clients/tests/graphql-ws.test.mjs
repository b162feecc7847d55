// graphql-ws, with its token in the init payload.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { socketEndpoint, token, viewerQuery } from '../gateway.mjs';

function client(connectionParams) {
  return createClient({ url: socketEndpoint, webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 });
}

async function results(iterable) {
  const all = [];
  for await (const result of iterable) all.push(result);
  return all;
}

test('several operations over one connection are all answered', async () => {
  const c = client({ authorization: `Bearer ${token}` });
  const answers = await Promise.all([1, 2, 3].map(() => results(c.iterate({ query: viewerQuery }))));
  for (const [result, ...more] of answers) {
    assert.equal(result.errors, undefined);
    assert.equal(result.data.viewer.id, 'u:demo:ann');
    assert.equal(more.length, 0);
  }
  await c.dispose();
});

test('without a token the viewer is null', async () => {
  const c = client();
  assert.deepEqual(await results(c.iterate({ query: '{ viewer { id } }' })), [{ data: { viewer: null } }]);
  await c.dispose();
});

test('an invalid document ends with its errors', async () => {
  const c = client();
  await assert.rejects(results(c.iterate({ query: '{ nothing }' })), (errors) => errors[0].extensions.code === 'GRAPHQL_VALIDATION_FAILED');
  await c.dispose();
});

test('a bad token closes the connection', async () => {
  const c = client({ authorization: 'Bearer x' });
  await assert.rejects(results(c.iterate({ query: viewerQuery })), (event) => event.code === 4403);
  await c.dispose();
});
