// graphql-sse in its default mode: one connection for each operation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from 'graphql-sse';
import { endpoint, token, viewerQuery } from '../gateway.mjs';

function client(authorization) {
  return createClient({ url: endpoint, retryAttempts: 0, headers: authorization ? { authorization } : {} });
}

async function results(iterable) {
  const all = [];
  for await (const result of iterable) all.push(result);
  return all;
}

test('a query is answered as the viewer, with one result', async () => {
  const [result, ...more] = await results(client(`Bearer ${token}`).iterate({ query: viewerQuery }));
  assert.equal(result.errors, undefined);
  assert.equal(result.data.viewer.id, 'u:demo:ann');
  assert.equal(result.data.viewer.library.edges.length, 2);
  assert.equal(more.length, 0);
});

test('a mutation returns its payload', async () => {
  const query = 'mutation($in: CreateContentInput!) { createContent(input: $in) { content { title } userErrors { code } } }';
  const variables = { in: { kind: 'LINK', title: 'By events', link: 'https://example.org/' } };
  const [result] = await results(client(`Bearer ${token}`).iterate({ query, variables }));
  assert.deepEqual(result, { data: { createContent: { content: { title: 'By events' }, userErrors: [] } } });
});

test('an invalid document ends with its errors, and is not retried', async () => {
  const [result] = await results(client().iterate({ query: '{ nothing }' }));
  assert.equal(result.errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
});

test('a bad token is refused', async () => {
  await assert.rejects(results(client('Bearer x').iterate({ query: viewerQuery })), (fault) => fault.response.status === 401);
});
