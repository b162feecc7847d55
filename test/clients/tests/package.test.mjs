// Tests of the packed carrel-client: it is installed into an empty folder, compiled and run.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, createItem, createGroup, endpoint, otherToken, post, token } from '../gateway.mjs';
import { rename, removeFromLibrary } from '../changes.mjs';
import { installPacked } from '../packed.mjs';
import { startProxy } from '../proxy.mjs';

let packed;
let app;
let carrel;
let proxy;
before(async () => {
  packed = await installPacked();
  await packed.build('reader.ts', 'apollo.ts');
  app = await packed.load('built/reader.js');
  carrel = await packed.load('node_modules/carrel-client/dist/index.js');
  proxy = await startProxy();
});
after(async () => {
  packed.remove();
  await proxy.close();
});

const groupOf = (titles) => createGroup(`package-${randomUUID()}`, titles);
const session = (url = endpoint) => ({ url, token: () => token, renewToken: async () => null });

// until waits for a library to show something.
function until(library, isShown) {
  return new Promise((resolve) => {
    const look = () => {
      if (!isShown(library.snapshot())) return;
      stop();
      resolve();
    };
    const stop = library.subscribe(look);
    look();
  });
}

const titlesOf = ({ entries }) => entries.map(({ node }) => node.title).join(' ');
const shows = (library, titles) => until(library, (snapshot) => titlesOf(snapshot) === titles);

test('the package contains only the files that it needs', () => {
  const unexpected = packed.files.filter((name) => !/^(dist\/[\w./-]+\.(js|d\.ts)|README\.md|package\.json)$/.test(name));
  assert.deepEqual(unexpected, []);
  const { scripts, dependencies, peerDependencies } =
    JSON.parse(readFileSync(new URL('../../../clients/npm/package.json', import.meta.url)));
  assert.deepEqual(Object.keys(scripts).filter((name) => /install|prepare/.test(name)), []);
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

test('variables and results have types with null', async () => {
  const wrong = {
    'forgets-null.ts': "const { viewer } = await client.execute(ViewerDocument, {});\nviewer.id;",
    'misspells-a-variable.ts': "await client.execute(ItemDocument, { ID: 'c:demo:a' });",
    'misspells-an-input.ts': "await client.execute(UpdateContentDocument, { input: { id: 'c:demo:a', titel: 'A' } });",
    'reads-a-field-that-is-not-selected.ts': "const { paste } = await client.execute(PasteDocument, { id: 'p:1' });\npaste?.secret;",
  };
  for (const [name, text] of Object.entries(wrong)) {
    packed.write(name, `import { CarrelClient, ItemDocument, PasteDocument, UpdateContentDocument, ViewerDocument } from 'carrel-client';\nconst client = new CarrelClient({ url: '/' });\nexport { ItemDocument, PasteDocument, UpdateContentDocument, ViewerDocument };\n${text}\n`);
  }
  const fault = await packed.build(...Object.keys(wrong)).then(() => assert.fail('it compiles'), (error) => error.message);
  for (const name of Object.keys(wrong)) assert.equal(fault.match(new RegExp(`^${name}.*error TS`, 'gm'))?.length, 1, fault);
});

test('a document is a typed document node, once it is parsed', async () => {
  const { LIBRARY_PAGE } = await packed.load('built/apollo.js');
  assert.deepEqual(LIBRARY_PAGE.definitions.map(({ name }) => name.value), ['LibraryPage', 'Entry', 'Item', 'Page']);
});

test('every document is accepted by the gateway', async () => {
  const documents = Object.entries(carrel).filter(([name, { kind }]) => name.endsWith('Document') && kind !== 'subscription');
  assert.ok(documents.length > 30, `${documents.length} documents`);
  for (const [name, { text, name: operationName }] of documents) {
    // Without variables nothing is executed: the gateway has accepted the document by then.
    const { body } = await post({ query: text, operationName }, { authorization: `Bearer ${token}` });
    const codes = (body.errors ?? []).map(({ extensions }) => extensions.code);
    assert.ok(codes.every((code) => code === 'BAD_USER_INPUT'), `${name}: ${JSON.stringify(body.errors)}`);
  }
});

test('the possible types are those of the schema', async () => {
  const { __schema: schema } = await ask('{ __schema { types { kind name possibleTypes { name } } } }');
  const objects = new Set(schema.types.filter(({ kind }) => kind === 'OBJECT').map(({ name }) => name));
  const abstract = schema.types.filter(({ kind, name }) => ['INTERFACE', 'UNION'].includes(kind) && !name.startsWith('_'));
  const served = Object.fromEntries(abstract.map((type) => [type.name, type.possibleTypes.map(({ name }) => name)
    .filter((name) => objects.has(name)).sort()]));
  assert.deepEqual(Object.fromEntries(Object.entries(carrel.possibleTypes).map(([name, types]) => [name, types.toSorted()])), served);
});

test('a refused input has its reason', async () => {
  const { createContent } = await app.connect(session()).execute(carrel.CreateContentDocument, { input: { kind: 'NOTE', title: ' ' } });
  assert.deepEqual(createContent.userErrors.map(({ code, reason, field }) => ({ code, reason, field })),
    [{ code: 'INVALID', reason: 'EMPTY', field: ['title'] }]);
});

test('a subscription has typed results', async () => {
  const client = app.connect(session());
  const { latestPastes } = await client.execute(carrel.LatestPastesDocument, { first: 1 });
  const pastes = client.subscribe(carrel.PasteCreatedDocument, { after: latestPastes.pageInfo.endCursor }, { onOpen: () => create() });
  const create = () => client.execute(carrel.CreatePasteDocument, { input: { title: 'From carrel-client', body: 'a' } });
  const { value } = await pastes.next();
  assert.equal(value.pasteCreated.title, 'From carrel-client');
  await pastes.return();
});

// opened returns a library that is closed at the end of a test.
function opened(t, client, id) {
  const library = app.openLibrary(client, id, () => {}, 2);
  t.after(() => library.close());
  return library;
}

test('a library pages both ways and shows the changes of others', async (t) => {
  const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e']);
  const client = app.connect(session());
  const library = opened(t, client, id);
  await shows(library, 'e d');
  await library.loadNext();
  assert.equal(titlesOf(library.snapshot()), 'e d c b');
  await until(library, ({ status }) => status === 'live');
  await ask('mutation ($in: ShareContentInput!) { shareContent(input: $in) { userErrors { code } } }',
    { in: { contentId: items[0], principalIds: ['u:demo:cleo'], role: 'EDITOR' } });
  const other = await post(
    { query: 'mutation ($in: UpdateContentInput!) { updateContent(input: $in) { content { version } userErrors { code } } }',
      variables: { in: { id: items[0], title: 'A' } } },
    { authorization: `Bearer ${otherToken}` },
  );
  assert.deepEqual(other.body.data.updateContent, { content: { version: 2 }, userErrors: [] });
  await shows(library, 'A e d c b');
  await removeFromLibrary(items[3], id);
  await shows(library, 'A e c b');
  await library.loadNext();
  assert.equal(library.snapshot().hasNext, false);
  assert.equal(titlesOf(library.snapshot()), 'A e c b');
});

test('by title, a rename moves an item in either direction, also beyond what is loaded', async (t) => {
  const { id, items } = await groupOf(['Zebra', 'Äther', 'Chapter 10', 'Chapter 9', 'Chapter 8']);
  for (const [order, shown, other, rest] of [
    ['ASC', 'Äther Chapter-8 Chapter-9 Chapter-10', 'Chapter-8 Chapter-9 Chapter-10', ' Omega Zebra'],
    ['DESC', 'Zebra Omega Chapter-10 Chapter-9', 'Zebra Chapter-10 Chapter-9', ' Chapter-8 Äther'],
  ]) {
    const library = new carrel.LiveLibrary(app.connect(session()), { principalId: id, field: 'TITLE', order, pageSize: 2 });
    t.after(() => library.close());
    const titles = ({ entries }) => entries.map(({ node }) => node.title.replace(' ', '-')).join(' ');
    library.subscribe(() => {});
    await until(library, ({ status, isLoaded }) => isLoaded && status === 'live');
    await library.loadNext();
    if (order === 'DESC') {
      await until(library, (snapshot) => titles(snapshot) === shown);
      await rename(items[1], 'Äther');
      await until(library, (snapshot) => titles(snapshot) === other);
    } else {
      await until(library, (snapshot) => titles(snapshot) === shown);
      await rename(items[1], 'Omega'); // beyond the loaded part
      await until(library, (snapshot) => titles(snapshot) === other);
    }
    for (let n = 0; n < 3 && library.snapshot().hasNext; n += 1) await library.loadNext();
    assert.equal(titles(library.snapshot()), other + rest);
    assert.equal(library.snapshot().lostPosition, false);
    library.close();
  }
  const library = new carrel.LiveLibrary(app.connect(session()), { principalId: id, field: 'TITLE', pageSize: 2, maxEntries: 4 });
  t.after(() => library.close());
  const names = () => library.snapshot().entries.map(({ node }) => node.title);
  library.subscribe(() => {});
  await until(library, ({ status, isLoaded }) => isLoaded && status === 'live');
  await library.loadNext();
  // An entry that an event has placed is dropped with its neighbour, and read again from there.
  await rename(items[3], 'Ant');
  await until(library, () => names()[0] === 'Ant');
  await rename(items[0], 'Bee');
  await until(library, () => names().includes('Bee'));
  for (let n = 0; n < 4 && library.snapshot().hasNext; n += 1) await library.loadNext();
  assert.equal(names().at(-1), 'Chapter 10');
  for (let n = 0; n < 4 && library.snapshot().hasPrevious; n += 1) await library.loadPrevious();
  assert.deepEqual(names(), ['Ant', 'Äther', 'Bee', 'Chapter 8']);
});

test('after a lost connection nothing is missing', async (t) => {
  const { id, items } = await groupOf(['a', 'b']);
  const library = opened(t, app.connect(session(proxy.url)), id);
  await shows(library, 'b a');
  await until(library, ({ status }) => status === 'live');
  proxy.cut();
  await until(library, ({ status }) => status === 'reconnecting');
  await createItem('c', id);
  await rename(items[0], 'A');
  await removeFromLibrary(items[1], id);
  proxy.restore();
  await shows(library, 'A c');
  await until(library, ({ status }) => status === 'live');
});

test('a library that was empty shows new entries', async (t) => {
  const { id } = await groupOf([]);
  const library = opened(t, app.connect(session()), id);
  await until(library, ({ status }) => status === 'live');
  await createItem('a', id);
  await shows(library, 'a');
});

test('a library that the viewer may not see has the status failed', async (t) => {
  const client = app.connect(session());
  const library = opened(t, client, 'u:demo:nobody');
  await until(library, ({ status }) => status === 'failed');
  assert.equal(library.snapshot().error.code, 'NOT_FOUND');
});

test('an edit of an older version is a conflict, and a repetition is not', async (t) => {
  const { id, items } = await groupOf(['a']);
  const client = app.connect(session());
  const library = opened(t, client, id);
  await shows(library, 'a');
  const [entry] = library.snapshot().entries;
  const save = new app.Save(entry, 'A');
  assert.equal(await save.run(client), 'saved');
  assert.equal(await save.run(client), 'saved'); // the same key: the first answer again
  assert.equal(await new app.Save(entry, 'AA').run(client), 'conflict');
  const { content } = await ask('query ($id: ID!) { content(id: $id) { title version } }', { id: items[0] });
  assert.deepEqual(content, { title: 'A', version: 2 });
});

test('a refused token is renewed, even when a stream is opened again', async (t) => {
  const { id } = await groupOf(['a']);
  let current = 'refused';
  let renewals = 0;
  const client = app.connect({
    url: proxy.url,
    token: () => current,
    async renewToken() {
      renewals += 1;
      return (current = token);
    },
  });
  assert.equal(await app.viewerId(client), 'u:demo:ann');
  assert.equal(renewals, 1);
  const library = opened(t, client, id);
  await until(library, ({ status }) => status === 'live');
  current = 'refused';
  proxy.cut();
  await until(library, ({ status }) => status === 'reconnecting');
  await createItem('b', id);
  proxy.restore();
  await shows(library, 'b a');
  assert.equal(renewals, 2);
});
