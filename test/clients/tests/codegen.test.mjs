// GraphQL Code Generator with the running gateway, and the TypeScript compiler
// with the generated code.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient } from 'graphql-sse';
import { cursorOf, rename, removeFromLibrary } from '../changes.mjs';
import { generate } from '../codegen/generate.mjs';
import { createItem, createGroup, endpoint, post, token } from '../gateway.mjs';

let made;
before(async () => {
  made = await generate();
  await made.build(['app.ts']);
});
after(() => made.remove());

const events = createClient({ url: endpoint, headers: { authorization: `Bearer ${token}` }, retryAttempts: 0 });
after(() => events.dispose());
const send = async (request) => (await post(request, { authorization: `Bearer ${token}` })).body;

test('a typed application pages both ways and mutates', async () => {
  const { Application } = made.require('./built/app.js');
  const { id, items } = await createGroup('codegen', ['a', 'b', 'c', 'd', 'e']);
  const app = new Application(send, (request) => events.iterate(request));
  const titles = async (...how) => (await app.walk(id, 2, ...how)).map((item) => item.title);
  assert.deepEqual(await titles(), ['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(await titles(true), ['a', 'b', 'c', 'd', 'e']);
  assert.equal(await app.rename(items[0], 'A', 1), 'A');
  assert.equal(await app.rename(items[0], 'B', 1), 'conflict in expectedVersion');
  assert.deepEqual(await titles(), ['b', 'c', 'd', 'e', 'A']);
  const [item] = await app.walk(id, 1);
  assert.equal(item.createdBy.displayName, 'Ann Archer');
  assert.match(item.lastModified, /^2.*\.\d{6}Z$/);
});

test('a typed application receives changes', async () => {
  const { Application } = made.require('./built/app.js');
  const { id, items } = await createGroup('codegen-changes', ['a']);
  const changes = new Application(send, (request) => events.iterate(request)).changes(id, await cursorOf(id));
  const until = async (words) => {
    const others = [];
    for (let n = 0; n < 100; n++) {
      const { value, done } = await changes.next();
      if (value === words) return;
      if (done) break;
      others.push(value);
    }
    assert.fail(`"${words}" was not received, but ${others.join(', ')}`);
  };
  const b = await createItem('b', id);
  await until('placed b');
  await rename(items[0], 'A');
  await until('placed A');
  await removeFromLibrary(b, id);
  await until(`removed ${b}`);
  await changes.return();
});

test('the types have the nullable fields, names and enum values of the schema', async () => {
  const right = made.read('app.ts');
  const wrong = {
    'forgets-null.ts': ['if (!principal) return items;', ''],
    'forgets-null-in-a-payload.ts': ["item?.kind === 'NOTE' ? item.title : ''", 'item.title'],
    'misspells-an-input.ts': ['{ id, title, expectedVersion }', '{ id, titel: title, expectedVersion }'],
    'misspells-a-value.ts': ["fault.code === 'CONFLICT'", "fault.code === 'CONFLCT'"],
  };
  for (const [name, [is, would]] of Object.entries(wrong)) {
    assert.ok(right.includes(is), is);
    writeFileSync(join(made.folder, name), right.replace(is, would));
  }
  const fault = await made.build(Object.keys(wrong)).then(() => assert.fail('it compiles'), (e) => e.message);
  for (const name of Object.keys(wrong)) assert.match(fault, new RegExp(`^${name}.*error TS`, 'm'));
});

test('documents are answered by the ids of the generated manifest', async () => {
  const manifest = JSON.parse(made.read('made/persisted-documents.json'));
  const [documentId, query] = Object.entries(manifest).find(([, text]) => text.includes('query Library'));
  assert.match(documentId, /^sha256:[0-9a-f]{64}$/);
  const variables = { id: 'g:demo:standard-library', first: 1 };
  const known = await post({ query, documentId, variables });
  assert.equal(known.body.data.principal.library.edges.length, 1);
  assert.deepEqual((await post({ documentId, variables })).body, known.body);
});
