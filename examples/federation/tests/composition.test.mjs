// The three composers accept Carrel together with a second subgraph.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildSchema, isObjectType, parse } from 'graphql';
import { serveBookmarks } from '../bookmarks.mjs';
import { describe as describeSubgraph, forApollo, forCosmo, forHive } from '../compose.mjs';

const carrel = `${process.env.BASE_URL}/graphql`;
const folder = mkdtempSync(join(tmpdir(), 'federation-'));
let bookmarks;
let subgraphs;

before(async () => {
  bookmarks = await serveBookmarks({ carrel, file: join(folder, 'bookmarks.jsonl') });
  subgraphs = [await describeSubgraph('carrel', carrel), await describeSubgraph('bookmarks', bookmarks.url)];
});

after(async () => {
  await bookmarks.close();
  rmSync(folder, { recursive: true });
});

// fieldsOf are the fields of an object type of a composed schema.
function fieldsOf(schema, type) {
  const found = schema.getType(type);
  assert.ok(isObjectType(found), `${type} is missing`);
  return Object.keys(found.getFields());
}

function check(schema) {
  assert.ok(fieldsOf(schema, 'User').includes('library') && fieldsOf(schema, 'User').includes('bookmarks'));
  assert.ok(fieldsOf(schema, 'Content').includes('title') && fieldsOf(schema, 'Content').includes('bookmark'));
  assert.ok(fieldsOf(schema, 'Mutation').includes('shareContent') && fieldsOf(schema, 'Mutation').includes('bookmark'));
  const query = fieldsOf(schema, 'Query');
  assert.ok(query.includes('viewer') && query.includes('bookmarks'));
  for (const hidden of ['node', 'nodes', '_entities', '_service']) assert.ok(!query.includes(hidden), hidden);
  assert.equal(schema.getType('Content').getFields().title.description, 'Its title, 1 to 1000 characters.');
}

test('@apollo/composition accepts both subgraphs', () => check(buildSchema(forApollo(subgraphs), { assumeValidSDL: true })));

test('@theguild/federation-composition accepts both subgraphs', () => check(buildSchema(forHive(subgraphs), { assumeValidSDL: true })));

test('wgc accepts both subgraphs', async () => {
  const { engineConfig, subgraphs: routed } = await forCosmo(subgraphs, folder);
  check(buildSchema(engineConfig.graphqlSchema, { assumeValidSDL: true }));
  assert.deepEqual(routed.map((s) => [s.name, s.routingUrl]), subgraphs.map((s) => [s.name, s.url]));
  const keys = engineConfig.datasourceConfigurations[0].keys.map((key) => `${key.typeName} ${key.selectionSet}`);
  assert.deepEqual(keys.sort(), ['Content id', 'Group id', 'User id']);
});

// If Carrel's description contained node and nodes, the composers would refuse
// another subgraph with these fields.
test('a second subgraph may have node and nodes of its own', () => {
  const sdl = 'type Query { node(id: ID!): Node nodes(ids: [ID!]!): [Node]! } interface Node { id: ID! } type Shelf implements Node { id: ID! }';
  const other = { name: 'other', url: 'http://127.0.0.1/', sdl, typeDefs: parse(sdl) };
  for (const composed of [forApollo([...subgraphs, other]), forHive([...subgraphs, other])]) {
    assert.ok(fieldsOf(buildSchema(composed, { assumeValidSDL: true }), 'Query').includes('node'));
  }
});
