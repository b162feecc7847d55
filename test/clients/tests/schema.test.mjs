// The schema file for client tools is the schema that the gateway serves, without
// the parts for federation.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildClientSchema, buildSchema, getIntrospectionQuery, isSpecifiedScalarType, printType, validateSchema } from 'graphql';
import { ask } from '../gateway.mjs';

const file = new URL('../../../clients/schema.graphql', import.meta.url);
const introspected = await ask(getIntrospectionQuery({ specifiedByUrl: true, directiveIsRepeatable: true,
  inputValueDeprecation: true, oneOf: true }));
const served = buildClientSchema(introspected);
const shipped = buildSchema(readFileSync(file, 'utf8'));

const ofFederation = ['FieldSet', 'link__Import', 'link__Purpose', '_Any', '_Entity', '_Service'];

const typesOf = (schema) =>
  Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__') && !isSpecifiedScalarType({ name }));

test('the shipped schema is complete', () => {
  assert.deepEqual(validateSchema(shipped), []);
});

test('the shipped schema has the types of the gateway, with descriptions', () => {
  const texts = (schema) => Object.fromEntries(typesOf(schema).map((type) => [type.name, printType(type)]));
  const all = texts(served);
  for (const name of ofFederation) {
    assert.ok(all[name], `${name} is not served`);
    delete all[name];
  }
  const own = texts(shipped);
  assert.ok(served.getQueryType().getFields()._entities);
  delete served.getQueryType().getFields()._entities;
  delete served.getQueryType().getFields()._service;
  all.Query = printType(served.getQueryType());
  assert.deepEqual(own, all);
});

test('the shipped schema has no fields that the gateway refuses', () => {
  const names = served.getDirectives().map(({ name }) => name).sort();
  assert.deepEqual(names, ['deprecated', 'inaccessible', 'include', 'key', 'link', 'oneOf', 'shareable', 'skip', 'specifiedBy', 'tag']);
});
