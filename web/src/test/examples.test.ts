// Checks of the examples that need no gateway. e2e/examples.mjs runs the examples.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildSchema, parse, validate } from 'graphql';
import { examples, exampleTabs, firstVariables, tasks } from '../examples.ts';
import { nameOf } from '../examples/task.ts';

const schema = buildSchema(readFileSync(new URL('../../../clients/schema.graphql', import.meta.url), 'utf8'));
const viewers = ['Anonymous', 'Ann', 'Ben', 'Cleo', 'Dora', 'Zed'];

test('each example has a unique name and a comment, and fits the schema', () => {
  const names = new Set<string>();
  for (const example of examples) {
    const name = nameOf(example);
    assert.match(name, /^[A-Z]/);
    assert.ok(!names.has(name), `there are two examples ${name}`);
    names.add(name);
    assert.match(example.query, /^# /, name);
    assert.deepEqual(validate(schema, parse(example.query)), [], name);
    assert.ok(viewers.includes(example.as), `${name}: ${example.as}`);
  }
  assert.ok(names.size >= 25, `${names.size} examples`);
});

test('variables come from examples above', () => {
  const above = new Set<string>();
  for (const example of examples) {
    const variables = JSON.parse(example.variables ?? '{}');
    for (const [variable, [source]] of Object.entries(example.from ?? {})) {
      assert.ok(above.has(source), `${nameOf(example)} takes ${variable} from ${source}`);
      assert.ok(variable in variables, `${nameOf(example)} shows no ${variable}`);
    }
    above.add(nameOf(example));
  }
});

test('every task has examples, and the first tabs are some of them', () => {
  assert.equal(tasks.length, 7);
  for (const { title, examples: some } of tasks) assert.ok(some.length > 0, title);
  assert.equal(exampleTabs.length, 7);
  assert.equal(nameOf(exampleTabs[0]!), 'LibraryPage');
  assert.equal(JSON.parse(firstVariables!).first, 20);
});
