import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { buildASTSchema, parse, validate } from 'graphql';
import { graphiqlAddress, pageQueries } from '../src/data/graphiql.ts';
import type { Destination } from '../src/data/routes.ts';

// The schema's link to the definitions of federation is not followed here: their directives do
// not matter for client queries.
const text = readFileSync(new URL('../../../schema.graphqls', import.meta.url), 'utf8');
const schema = buildASTSchema(parse(text), { assumeValidSDL: true });

test('the queries that links take to GraphiQL fit the schema', () => {
  for (const query of pageQueries) assert.deepEqual(validate(schema, parse(query)), []);
});

test('links to GraphiQL contain the query of a page and its variables', () => {
  const linked = (place: Destination) => Object.fromEntries(new URL(graphiqlAddress(place), 'http://h').searchParams);
  assert.deepEqual(linked({ name: 'find', q: 'x' }), {});
  const library = linked({ name: 'library', id: 'g:demo:a&b', order: 'a-z' });
  assert.match(library.query, /^query Library/);
  assert.deepEqual(JSON.parse(library.variables), { id: 'g:demo:a&b', orderBy: { field: 'TITLE', direction: 'ASC' } });
  const beside = linked({ name: 'library', id: 'g:demo:x', item: 'c:demo:y' });
  assert.match(beside.query, /^query Item/);
  assert.deepEqual(JSON.parse(beside.variables), { id: 'c:demo:y' });
});
