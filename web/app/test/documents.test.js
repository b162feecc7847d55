import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { buildASTSchema, parse, validate } from 'graphql';
import * as documents from '../src/data/documents.js';

// The schema's link to the definitions of federation is not followed here:
// their directives mean nothing to what a client sends.
const text = readFileSync(new URL('../../../schema.graphqls', import.meta.url), 'utf8');
const schema = buildASTSchema(parse(text), { assumeValidSDL: true });

for (const [name, document] of Object.entries(documents)) {
  if (document?.kind !== 'Document') continue;
  test(`${name} fits the schema`, () => {
    const isFragment = document.definitions.every(({ kind }) => kind === 'FragmentDefinition');
    const faults = validate(schema, document).map(({ message }) => message);
    assert.deepEqual(isFragment ? faults.filter((fault) => !/is never used/.test(fault)) : faults, []);
  });
}
