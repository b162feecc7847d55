// Tests of the examples of docs/clients.md, each with the same tasks.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { format } from 'node:util';
import { gql } from '@apollo/client';
import { __DEV__ } from '@apollo/client/utilities/environment';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { createOperationDescriptor, getSingularSelector } from 'relay-runtime';
import WebSocket, { WebSocketServer } from 'ws';
import { buildExamples } from '../examples.mjs';
import { ask, createItem, createGroup, endpoint, otherToken, token } from '../gateway.mjs';
import { libraryChanged, rename, removeFromLibrary, share, titlesOf, update } from '../changes.mjs';
import { startProxy } from '../proxy.mjs';

assert.ok(__DEV__, 'Apollo Client warns in development only: run node --conditions=development');

// No test may make a client warn. Node warns of its timers for tests.
const expected = /ExperimentalWarning: The MockTimers API/;
const warnings = [];
for (const name of ['warn', 'error']) console[name] = (...args) => warnings.push(format(...args));
afterEach(() => assert.deepEqual(warnings.splice(0).filter((text) => !expected.test(text)), []));

const examples = await buildExamples();
const schema = introspectionFromSchema(buildSchema(readFileSync(new URL('../../../clients/schema.graphql', import.meta.url), 'utf8')));

const pageSize = 2;
const timeout = 60_000; // for a test that would wait forever
const groupOf = (titles) => createGroup(`examples-${randomUUID()}`, titles);
const signedIn = () => ({ token: () => token, renew: async () => null });
const fetchSource = (url = endpoint) => examples.fetch.fetchSource(url, signedIn());
const urqlClient = (url = endpoint) => examples.urql.createUrqlClient(url, signedIn(), transports.events(url, signedIn()), schema);
const urqlSource = (url) => examples.urql.urqlSource(urqlClient(url));
const transports = {
  events: (url, session) => examples.resume.overEvents(url, session),
  socket: (url, session) => examples.resume.overSocket(url, session, WebSocket),
  fetch: (url, session) => examples.fetch.overFetch(url, session),
};

// heard returns a transport of events, and a function that waits until a client has received the change of an item. The
// client for fetch has a transport of its own, and calls onResult.
function heard() {
  const titles = new Set();
  let look = () => {};
  const titleOf = ({ data }) => data?.libraryChanged.edge?.node.title ?? data?.libraryChanged.contentId;
  const onResult = (result) => {
    titles.add(titleOf(result));
    look();
  };
  const transport = (url, session) => (request) => {
    const results = transports.events(url, session)(request)[Symbol.asyncIterator]();
    let title;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      // A client that asks for the next one has received the one before.
      async next() {
        titles.add(title);
        look();
        const result = await results.next();
        title = titleOf(result.value ?? {});
        return result;
      },
      return: () => results.return(),
    };
  };
  const hears = (title) => new Promise((resolve) => {
    look = () => titles.has(title) && resolve();
    look();
  });
  return { transport, hears, onResult };
}

// viewOf opens a library as the functions of clients do, by a source.
async function viewOf(source, { id, order, changed }, save) {
  let library;
  const view = new examples.view.LibraryView(source, id, order, (next) => {
    if (!next.library) return;
    library = next.library;
    changed();
  }, pageSize);
  await view.open();
  return {
    edges: () => library.edges,
    pageInfo: () => library.pageInfo,
    load: (side) => view.load(side),
    follow: (onError) => view.follow(onError),
    save,
    close: () => {},
  };
}

// Each function opens a library and returns it as a component sees it: `edges` returns the loaded
// entries, and `changed` is called when they may have changed.
const clients = {
  async 'Apollo Client'({ url, session, transport, id, order, changed }) {
    const client = examples.apollo.createApolloClient(url, session, transport);
    const view = new examples.apollo.LibraryView(client, id, order, pageSize);
    const shown = new Promise((resolve, reject) => {
      view.query.subscribe({
        next(result) {
          if (result.error) reject(result.error);
          if (!result.loading) resolve();
          changed();
        },
      });
    });
    await shown;
    return {
      edges: () => view.state().library.edges,
      pageInfo: () => view.state().library.pageInfo,
      load: (side) => view.load(side),
      follow: (onError) => view.follow(onError),
      save: (input) => examples.apollo.save(client, input),
      close: () => client.stop(),
    };
  },
  urql({ url, session, transport, ...library }) {
    const client = examples.urql.createUrqlClient(url, session, transport, schema);
    return viewOf(examples.urql.urqlSource(client), library, (input) => examples.urql.save(client, input));
  },
  async Relay({ url, session, transport, id, order, changed }) {
    const { createRelayEnvironment, follow, Item, Library, LibraryQuery, load, open, save } = examples.relay;
    const environment = createRelayEnvironment(url, session, transport);
    const variables = { id, orderBy: { field: 'LAST_MODIFIED', direction: order }, first: pageSize };
    const operation = createOperationDescriptor(LibraryQuery, variables);
    environment.retain(operation);
    await open(environment, id, order, pageSize);
    const read = () => {
      const { data } = environment.lookup(operation.fragment);
      return environment.lookup(getSingularSelector(Library, data.principal)).data.library;
    };
    const store = environment.getStore();
    const notify = store.notify.bind(store);
    store.notify = (...args) => {
      const result = notify(...args);
      changed();
      return result;
    };
    return {
      edges: () => read().edges.map(({ cursor, node }) => ({ cursor, node: environment.lookup(getSingularSelector(Item, node)).data })),
      pageInfo: () => read().pageInfo,
      load: (side) => load(environment, id, order, read, side, pageSize),
      follow: (onError) => follow(environment, id, order, read().pageInfo.endCursor, onError),
      save: (input) => save(environment, input),
      close: () => {},
    };
  },
  fetch({ url, session, onResult = () => {}, ...library }) {
    const source = examples.fetch.fetchSource(url, session);
    const next = (sink) => (result) => {
      sink.next(result);
      onResult(result);
    };
    const follow = (variables, sink) => source.follow(variables, { ...sink, next: next(sink) });
    return viewOf({ ...source, follow }, library, (input) => examples.fetch.save(url, session, input));
  },
};

// Each function opens a view, and calls show with each state that a component would show.
const views = {
  'Apollo Client'(t, id, url, show) {
    const client = examples.apollo.createApolloClient(url, signedIn(), transports.events(url, signedIn()));
    t.after(() => client.stop());
    const view = new examples.apollo.LibraryView(client, id, 'DESC', pageSize);
    view.query.subscribe(() => show(view.state()));
    show(view.state());
  },
  urql: (_, id, url, show) => new examples.view.LibraryView(urqlSource(url), id, 'DESC', show, pageSize).open(),
  fetch: (_, id, url, show) => new examples.view.LibraryView(fetchSource(url), id, 'DESC', show, pageSize).open(),
};

for (const [client, open] of Object.entries(views)) {
  const firstAndLast = (t, id, url = endpoint) => new Promise((resolve) => {
    let first;
    open(t, id, url, (state) => {
      first ??= state;
      if (state.library !== undefined || state.error) resolve([first, state]);
    });
  });

  test(`a view of ${client} tells a library that is missing, empty or cannot be read from one that is loading`, { timeout }, async (t) => {
    const [first, missing] = await firstAndLast(t, 'g:demo:there-is-none');
    assert.deepEqual([first.library, first.error], [undefined, undefined]);
    assert.deepEqual([missing.library, missing.error], [null, undefined]);

    const { id } = await groupOf([]);
    const [, empty] = await firstAndLast(t, id);
    assert.deepEqual([empty.library.edges, empty.error], [[], undefined]);

    const { fetch } = globalThis;
    t.mock.method(globalThis, 'fetch', async (address, options) => {
      const response = await fetch(address, options);
      if (!String(options?.body).includes('query Library(')) return response;
      const errors = [{ message: 'failed', extensions: { code: 'INTERNAL_SERVER_ERROR' } }];
      return new Response(JSON.stringify({ data: { principal: null }, errors }), response);
    });
    const [, failed] = await firstAndLast(t, id);
    assert.equal(failed.library, undefined);
    assert.ok(failed.error);
  });
}

test('a view that could not be read shows the library after another attempt', { timeout }, async (t) => {
  const { id } = await groupOf(['a']);
  const states = [];
  const view = new examples.view.LibraryView(fetchSource(), id, 'DESC', (state) => states.push(state));
  const refused = { errors: [{ message: 'failed', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] };
  t.mock.method(globalThis, 'fetch', async () => new Response(JSON.stringify(refused)));
  await view.open();
  t.mock.restoreAll();
  await view.open();
  assert.deepEqual(states.map(({ library, error }) => [library?.edges.length, error?.message]),
    [[undefined, undefined], [undefined, 'failed'], [undefined, undefined], [1, undefined]]);
});

for (const [client, source] of Object.entries({ urql: urqlSource, fetch: fetchSource }))
  test(`a view of ${client} that is opened again reads the library again`, { timeout }, async () => {
    const { id } = await groupOf(['a']);
    let titles;
    const view = new examples.view.LibraryView(source(), id, 'DESC', ({ library }) => {
      titles = library?.edges.map(({ node }) => node.title).join(' ');
    });
    await view.open();
    await createItem('b', id);
    await view.open();
    assert.equal(titles, 'b a');
  });

test('a first page that is older than a change does not undo it', { timeout }, async (t) => {
  const { id, items } = await groupOf(['a', 'b']);
  const [requested, removed] = [signal(), signal()];
  let titles = '';
  const view = new examples.view.LibraryView(fetchSource(), id, 'DESC', ({ library }) => {
    titles = library?.edges.map(({ node }) => node.title).join(' ');
    if (titles === 'b') removed.send();
  });
  await view.open();
  t.after(view.follow((error) => assert.fail(error)));
  const { fetch } = globalThis;
  t.mock.method(globalThis, 'fetch', async (address, options) => {
    const response = await fetch(address, options);
    if (!String(options?.body).includes('query Library(')) return response;
    requested.send();
    await removed.sent;
    return response;
  });
  const again = view.open();
  await requested.sent;
  await removeFromLibrary(items[0], id);
  await again;
  assert.equal(titles, 'b');
});

test('infinite scroll loads pages while the end is in view, and goes on after a failure', { timeout }, async (t) => {
  const { id } = await groupOf(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  let state;
  const view = new examples.view.LibraryView(fetchSource(), id, 'DESC', (next) => (state = next), pageSize);
  await view.open();
  // The end is in view until five entries are shown.
  let report;
  let isConnected = true;
  globalThis.IntersectionObserver = class {
    constructor(callback) {
      report = () => isConnected && callback([{ isIntersecting: state.library.edges.length < 5 }]);
    }
    observe() {
      setImmediate(report);
    }
    unobserve() {}
    disconnect() {
      isConnected = false;
    }
  };
  t.after(() => delete globalThis.IntersectionObserver);
  let failed = signal();
  let isBroken = true;
  let loads = 0;
  const loaded = signal();
  const broken = {
    async load(side) {
      if (isBroken) throw new Error('broken');
      loads += 1;
      await view.load(side);
      if (state.library.edges.length >= 5) loaded.send();
    },
  };
  const stop = examples.scroll.loadBeforeEnd({}, broken, () => state.library.pageInfo.hasNextPage, () => failed.send());
  await failed.sent;
  assert.equal(loads, 0);
  isBroken = false;
  report();
  report(); // while it is loading
  await loaded.sent;
  assert.equal(state.library.edges.map(({ node }) => node.title).join(' '), 'g f e d c b');
  assert.equal(loads, 2);
  stop();
});

test('sharing says what is wrong with whom, and shares with nobody', { timeout }, async () => {
  const { items: [contentId] } = await groupOf(['a']);
  const share = (...principalIds) => examples.fetch.share(endpoint, signedIn(),
    { contentId, principalIds, role: 'VIEWER', idempotencyKey: examples.retry.newKey() });
  const refused = await share('u:demo:cleo', 'u:demo:there-is-none');
  assert.deepEqual(refused, new Map([['u:demo:there-is-none', 'Unknown, or not visible to you.']]));
  assert.deepEqual(await share(), new Map([['', 'Choose somebody.']]));
  assert.deepEqual(await share(...Array.from({ length: 101 }, (_, n) => `u:demo:${n}`)), new Map([['', 'Choose fewer.']]));
  const members = async () => {
    const { content } = await ask('query ($id: ID!) { content(id: $id) { members { nodes { id } } } }', { id: contentId });
    return content.members.nodes.map(({ id }) => id);
  };
  assert.ok(!(await members()).includes('u:demo:cleo'));
  assert.deepEqual(await share('u:demo:cleo'), new Map());
  assert.ok((await members()).includes('u:demo:cleo'));
});

// opened opens a library and closes it at the end of the test.
async function opened(t, client, { id, order = 'DESC', url = endpoint, session = signedIn(), transport = 'events', onResult }) {
  let look = () => {};
  let failure;
  const create = transports[transport] ?? transport;
  const library = await clients[client]({ url, session, transport: create(url, session), id, order, onResult, changed: () => look() });
  t.after(() => library.close());
  const titles = () => library.edges().map(({ node }) => node.title).join(' ');
  const until = (wanted, isShown) =>
    new Promise((resolve, reject) => {
      const late = () => t.diagnostic(`it shows "${titles()}" and not "${wanted}"`);
      t.signal.addEventListener('abort', late);
      look = () => {
        if (failure) reject(failure);
        if (!isShown(titles())) return;
        t.signal.removeEventListener('abort', late);
        resolve();
      };
      look();
    });
  return {
    ...library,
    titles,
    shows: (wanted) => until(wanted, (shown) => shown === wanted),
    lacks: (title) => until(`without ${title}`, (shown) => !shown.includes(title)),
    has: (title) => until(`with ${title}`, (shown) => shown.includes(title)),
    follow() {
      const stop = library.follow((error) => {
        failure = error;
        look();
      });
      t.after(stop);
    },
  };
}

// signal returns a promise, and a function that resolves it.
function signal() {
  let resolve;
  let isSent = false;
  const sent = new Promise((done) => (resolve = done));
  return { sent, isSent: () => isSent, send: () => resolve((isSent = true)) };
}

let proxy;
before(async () => {
  proxy = await startProxy();
});
after(() => proxy.close());

for (const client of Object.keys(clients)) {
  describe(client, () => {
    for (const [order, all] of [['ASC', 'a b c d e'], ['DESC', 'e d c b a']]) {
      test(`pages to the end, ${order}`, { timeout }, async (t) => {
        const { id } = await groupOf(['a', 'b', 'c', 'd', 'e']);
        const library = await opened(t, client, { id, order });
        await library.shows(all.slice(0, 3));
        for (let n = 0; n < 5 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
        await library.shows(all);
        assert.equal(library.pageInfo().hasNextPage, false);
        assert.equal(library.pageInfo().hasPreviousPage, false);
      });
    }

    test('a load is rejected if its page cannot be read', { timeout }, async (t) => {
      const { id } = await groupOf(['a', 'b', 'c']);
      const library = await opened(t, client, { id });
      await library.shows('c b');
      const errors = [{ message: 'refused', extensions: { code: 'BAD_CURSOR' } }];
      t.mock.method(globalThis, 'fetch', async () => Response.json({ data: { principal: null, node: null }, errors }));
      await assert.rejects(library.load('next'), (error) => examples.retry.failureOf(error).code === 'BAD_CURSOR');
    });

    for (const transport of client === 'fetch' ? ['fetch'] : ['events', 'socket']) {
      test(`what others change moves in the list, by ${transport}`, { timeout }, async (t) => {
        const { id, items } = await groupOf(['a', 'b', 'c', 'd']);
        const library = await opened(t, client, { id, transport });
        await library.shows('d c');
        library.follow();
        await createItem('e', id);
        await library.shows('e d c');
        await library.load('next');
        await library.shows('e d c b a');
        await rename(items[0], 'A');
        await library.shows('A e d c b');
        await removeFromLibrary(items[2], id);
        await library.shows('A e d b');
      });
    }

    for (const [name, order, titles] of [['was always empty', 'ASC', []], ['has become empty', 'DESC', ['a']]])
      test(`a library that ${name} can be loaded and followed`, { timeout }, async (t) => {
        const { id, items } = await groupOf(titles);
        for (const item of items) await removeFromLibrary(item, id);
        const library = await opened(t, client, { id, order, transport: client === 'fetch' ? 'fetch' : 'events' });
        await library.load('next');
        await library.load('previous');
        library.follow();
        let isShown = false;
        const shown = library.has('b').then(() => (isShown = true));
        // Without a cursor, changes before the subscription are not sent.
        for (; !isShown; await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, 200))])) await createItem('b', id);
      });

    test('oldest first: what moves beyond the loaded part is read at the end', { timeout }, async (t) => {
      const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e']);
      const library = await opened(t, client, { id, order: 'ASC', transport: client === 'fetch' ? 'fetch' : 'events' });
      await library.load('next');
      await library.shows('a b c d');
      library.follow();
      await rename(items[1], 'B');
      await library.lacks('b');
      for (let n = 0; n < 5 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
      await library.shows('a c d e B');
      await rename(items[0], 'A');
      await library.shows('c d e B A');
    });

    test('a walk to the newest end gets entries that moved there since it began', { timeout }, async (t) => {
      const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e']);
      const library = await opened(t, client, { id, order: 'ASC' });
      await rename(items[0], 'A');
      for (let n = 0; n < 5 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
      assert.deepEqual(library.titles().split(' ').sort(), ['A', 'b', 'c', 'd', 'e']);
    });

    test('a walk to the newest end whose last page is empty goes on', { timeout }, async (t) => {
      const { id, items } = await groupOf(['a', 'b', 'c']);
      const library = await opened(t, client, { id, order: 'ASC' });
      await rename(items[2], 'C');
      await library.load('next');
      await library.shows('a b C');
      assert.equal(library.pageInfo().hasNextPage, false);
    });

    test('oldest first: the last loaded entry moves, and others after it', { timeout }, async (t) => {
      const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e', 'f']);
      const library = await opened(t, client, { id, order: 'ASC', transport: client === 'fetch' ? 'fetch' : 'events' });
      await library.shows('a b');
      library.follow();
      await rename(items[1], 'B');
      await library.lacks('b');
      await createItem('g', id);
      await rename(items[3], 'D');
      for (let n = 0; n < 9 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
      await library.shows('a c e f B g D');
    });

    for (const order of ['ASC', 'DESC'])
      for (const [name, leave] of [['leaves', removeFromLibrary], ['moves', (item) => rename(item, 'X')]])
        for (const newcomers of [[], ['e']]) {
          const change = newcomers.length > 0 ? 'another is created and an older one shared' : 'an older one is shared';
          test(`the last loaded entry ${name}, then ${change}, ${order}`, { timeout: 20_000 }, async (t) => {
            const hidden = await createItem('z');
            const { id, items } = await groupOf(['a', 'b', 'c', 'd']);
            const { hears, ...hearing } = heard();
            const library = await opened(t, client, { id, order, ...hearing });
            const showsAll = async () => library.shows((await titlesOf(id, order)).join(' '));
            library.follow();
            const [first, last] = order === 'ASC' ? items : items.toReversed();
            await removeFromLibrary(first, id);
            await leave(last, id);
            for (const title of newcomers) await createItem(title, id);
            await share(hidden, id);
            await hears('z');
            await new Promise(setImmediate); // Relay applies it later
            for (let n = 0; n < 9 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
            await showsAll();
            assert.equal(library.pageInfo().hasNextPage, false);
            assert.equal(library.pageInfo().hasPreviousPage, false);
            await library.load('previous');
            await showsAll();
            await createItem('f', id);
            await showsAll();
          });
        }

    test('oldest first: an older entry is shared, and the last loaded one moves', { timeout: 20_000 }, async (t) => {
      const hidden = await createItem('z');
      const { id, items } = await groupOf(['a', 'b', 'c', 'd']);
      const library = await opened(t, client, { id, order: 'ASC', transport: client === 'fetch' ? 'fetch' : 'events' });
      library.follow();
      await share(hidden, id);
      await rename(items[1], 'B');
      await library.shows('z a');
      for (let n = 0; n < 9 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
      await library.shows('z a c d B');
    });

    // Relay may lack it, as the page says.
    if (client !== 'Relay')
      test('a change while the last page of a walk is on its way does not hide what the walk omits', { timeout: 20_000 }, async (t) => {
        const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e']);
        const { hears, ...hearing } = heard();
        const library = await opened(t, client, { id, order: 'ASC', ...hearing });
        library.follow();
        await createItem('f', id);
        await hears('f');
        await library.load('next');
        await rename(items[0], 'A');
        await rename(items[1], 'B');
        await hears('B');
        await library.load('next');
        const [arrived, released] = [signal(), signal()];
        const { fetch } = globalThis;
        t.mock.method(globalThis, 'fetch', async (address, options) => {
          const response = await fetch(address, options);
          if (arrived.isSent() || !String(options?.body).includes('"after"')) return response;
          arrived.send();
          await released.sent;
          return response;
        });
        const load = library.load('next');
        await arrived.sent;
        await createItem('g', id);
        await hears('g');
        released.send();
        await load;
        assert.ok('c d e f A B g'.startsWith(library.titles()), library.titles());
        for (let n = 0; n < 9 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
        await library.shows('c d e f A B g');
        assert.equal(library.pageInfo().hasNextPage, false);
      });

    for (const [order, newest, all, changed] of [['ASC', 'next', 'a b c d', 'd A B C'], ['DESC', 'previous', 'd c b a', 'C B A d']])
      test(`a load at an end that has no more pages keeps the order of what has changed, ${order}`, { timeout }, async (t) => {
        const { id, items } = await groupOf(['a', 'b', 'c', 'd']);
        const library = await opened(t, client, { id, order, transport: client === 'fetch' ? 'fetch' : 'events' });
        await library.load('next');
        await library.shows(all);
        library.follow();
        for (const [index, title] of ['A', 'B', 'C'].entries()) await rename(items[index], title);
        await library.shows(changed);
        await library.load(newest);
        await library.shows(changed);
        await createItem('e', id);
        await library.shows(order === 'ASC' ? `${changed} e` : `e ${changed}`);
      });

    test('a load is repeated after a network error', { timeout }, async (t) => {
      const { id } = await groupOf(['a', 'b', 'c']);
      const library = await opened(t, client, { id });
      const { fetch } = globalThis;
      let failures = 0;
      t.mock.method(globalThis, 'fetch', async (address, options) => {
        if (failures > 0 || !String(options?.body).includes('"after"')) return fetch(address, options);
        failures += 1;
        throw new TypeError('fetch failed');
      });
      await library.load('next');
      await library.shows('c b a');
      assert.equal(failures, 1);
    });

    for (const [order, loaded, rest, all] of [['DESC', 'e d', 'B e d', 'B e d a'], ['ASC', 'a b', 'a b', 'a b e D']])
      test(`a page that is older than changes does not undo them, ${order}`, { timeout }, async (t) => {
        const { id, items } = await groupOf(['a', 'b', 'c', 'd', 'e']);
        const { transport, hears } = heard();
        const library = await opened(t, client, { id, order, transport: client === 'fetch' ? 'fetch' : transport });
        await library.shows(loaded);
        library.follow();
        const [arrived, released] = [signal(), signal()];
        const { fetch } = globalThis;
        t.mock.method(globalThis, 'fetch', async (address, options) => {
          const response = await fetch(address, options);
          const body = String(options?.body);
          if (arrived.isSent() || !body.includes('"after"') || body.includes('subscription')) return response;
          arrived.send();
          await released.sent;
          return response;
        });
        const load = library.load('next');
        await arrived.sent; // the page with c, and b or d
        const changed = order === 'ASC' ? 3 : 1;
        await rename(items[changed], order === 'ASC' ? 'D' : 'B');
        await removeFromLibrary(items[2], id);
        if (client !== 'fetch') await hears(items[2]);
        else if (order === 'DESC') await library.shows(rest);
        released.send();
        await load;
        for (let n = 0; n < 5 && library.pageInfo().hasNextPage; n += 1) await library.load('next');
        await library.shows(all);
        const versions = library.edges().map(({ node }) => node.version);
        assert.deepEqual(versions.filter((version) => version === 2).length, 1);
      });

    test('a lost connection is resumed, with a renewed token', { timeout }, async (t) => {
      const { id, items } = await groupOf(['a', 'b']);
      let current = 'refused';
      let renewals = 0;
      const session = {
        token: () => current,
        async renew() {
          renewals += 1;
          return (current = token);
        },
      };
      const transport = client === 'urql' ? 'socket' : 'events';
      const library = await opened(t, client, { id, url: proxy.url, session, transport });
      assert.equal(renewals, 1);
      await library.shows('b a');
      library.follow();
      await createItem('c', id);
      await library.shows('c b a');
      current = 'refused';
      t.after(() => proxy.restore());
      proxy.cut();
      await createItem('d', id);
      await rename(items[0], 'A');
      proxy.restore();
      await library.shows('A d c b');
      assert.equal(renewals, 2);
    });

    test('a conflict is a user error, and a repetition is not', { timeout }, async (t) => {
      const { id } = await groupOf(['a']);
      const library = await opened(t, client, { id });
      const [{ node }] = library.edges();
      const input = { id: node.id, title: 'A', expectedVersion: node.version, idempotencyKey: examples.retry.newKey() };
      assert.deepEqual(await library.save(input), []);
      assert.deepEqual(await library.save(input), []);
      const [error] = await library.save({ ...input, title: 'AA', idempotencyKey: examples.retry.newKey() });
      assert.deepEqual([error.code, error.field, error.currentVersion], ['CONFLICT', ['expectedVersion'], 2]);
      const { content } = await ask('query ($id: ID!) { content(id: $id) { title version } }', { id: node.id });
      assert.deepEqual(content, { title: 'A', version: 2 });
    });

    test('errors have their codes', { timeout }, async (t) => {
      const library = await opened(t, client, { id: 'g:demo:standard-library' });
      const invalid = { id: library.edges()[0].node.id, title: 'x'.repeat(2000), expectedVersion: 1, idempotencyKey: '' };
      const outcome = await library.save({ ...invalid, idempotencyKey: 'x'.repeat(200) }).then((errors) => ({ errors }),
        (error) => ({ error }));
      const code = outcome.error ? examples.retry.failureOf(outcome.error).code : outcome.errors[0].code;
      assert.equal(code, 'INVALID');
    });
  });
}

test('an entry that leaves the loaded part moves the end', () => {
  const { withChange } = examples.order;
  const edge = (id, time) => ({ cursor: `at ${time}`,
    node: { id, title: id, version: 1, lastModified: `2026-01-01T00:00:00.00000${time}Z` } });
  const library = (more) => ({ edges: [edge('b', 2), edge('d', 4)], pageInfo: { hasNextPage: false, hasPreviousPage: false,
    startCursor: 'start', endCursor: 'end', ...more } });
  const after = withChange(library({ hasNextPage: true }), { edge: edge('e', 5) }, 'ASC');
  assert.deepEqual([after.edges.length, after.pageInfo.startCursor, after.pageInfo.endCursor], [2, 'start', 'at 4']);
  const before = withChange(library({ hasPreviousPage: true }), { edge: edge('a', 1) }, 'ASC');
  assert.deepEqual([before.edges.length, before.pageInfo.startCursor, before.pageInfo.endCursor], [2, 'at 2', 'end']);
  const within = withChange(library({ hasPreviousPage: true, hasNextPage: true }), { edge: edge('c', 3) }, 'ASC');
  assert.deepEqual(within.edges.map(({ node }) => node.id), ['b', 'c', 'd']);
});

test('a loaded part that is emptied begins again at the next change, if there is more', () => {
  const { withChange } = examples.order;
  const edge = (id, time) => ({ cursor: `at ${time}`,
    node: { id, title: id, version: 1, lastModified: `2026-01-01T00:00:00.00000${time}Z` } });
  for (const order of ['ASC', 'DESC'])
    for (const more of ['hasNextPage', 'hasPreviousPage']) {
      const library = { edges: [edge('b', 2)], pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: 'start',
        endCursor: 'end', [more]: true } };
      const emptied = withChange(library, { contentId: 'b' }, order);
      assert.deepEqual(emptied, { edges: [], pageInfo: library.pageInfo });
      const begin = { hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: null };
      // Another entry, or the only one that is loaded, is changed.
      for (const after of [withChange(emptied, { edge: edge('a', 5) }, order), withChange(library, { edge: edge('b', 5) }, order)])
        assert.deepEqual(after, { edges: [], pageInfo: begin });
    }
  const empty = { edges: [], pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null } };
  assert.deepEqual(withChange(empty, { edge: edge('a', 1) }, 'ASC'),
    { edges: [edge('a', 1)], pageInfo: { ...empty.pageInfo, endCursor: 'at 1' } });
});

test('a pause is as long as the gateway asks', () => {
  assert.equal(examples.retry.pauseAfter({ code: 'RATE_LIMITED', retryAfter: 2 }, 1), 2000);
});

// subscribed runs resume on a transport whose connections end as `ends` says, and returns the
// cursors with which it subscribed, and its error if there is one.
function subscribed(session, ...ends) {
  return subscribedWith({}, session, ...ends);
}

function subscribedWith(sink, session, ...ends) {
  const cursors = [];
  return new Promise((resolve) => {
    const transport = async function* ({ variables }) {
      cursors.push(variables.after);
      const end = ends.shift();
      if (!end) return resolve({ cursors });
      yield { data: { libraryChanged: { edge: { cursor: `cursor ${cursors.length}` } } } };
      yield { data: { libraryChanged: { contentId: 'c:demo:a' } } };
      throw end;
    };
    const stop = examples.resume.resume(transport, session, { query: '', variables: { id: 'g:demo:a', after: 'first' } }, {
      next() {},
      error: (error) => resolve({ cursors, error }),
      complete() {},
      ...sink,
    });
    after(stop);
  });
}

const failure = (code) => [{ message: code, extensions: { code } }];

test('resume continues at the newest cursor, and renews the token where it has to', async () => {
  let renewals = 0;
  const session = { token: () => token, renew: async () => `token ${(renewals += 1)}` };
  const { cursors, error } = await subscribed(session, new TypeError('cut'), { code: 4403, reason: 'Forbidden' },
    failure('UNAUTHENTICATED'), failure('SLOW_CONSUMER'));
  assert.deepEqual(cursors, ['first', 'cursor 1', 'cursor 2', 'cursor 3', 'cursor 4']);
  assert.equal(error, undefined);
  assert.equal(renewals, 2);
});

test('resume tries again when the token cannot be renewed for now', async () => {
  let renewals = 0;
  const session = {
    token: () => token,
    async renew() {
      renewals += 1;
      if (renewals === 1) throw new TypeError('the provider cannot be reached');
      return token;
    },
  };
  const { cursors, error } = await subscribed(session, { code: 4403 }, { code: 4403 });
  assert.deepEqual(cursors, ['first', 'cursor 1', 'cursor 2']);
  assert.equal(error, undefined);
  assert.equal(renewals, 2);
});

test('resume ends after a permanent error', async () => {
  const wrong = ['BAD_USER_INPUT', 'GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'DEPTH_LIMIT', 'COST_LIMIT',
    'PERSISTED_QUERY_NOT_FOUND'];
  for (const end of [...['RESYNC', 'NOT_FOUND', ...wrong].map(failure), { code: 4403 }]) {
    const { cursors, error } = await subscribed({ token: () => token, renew: async () => null }, end);
    assert.deepEqual(cursors, ['first']);
    assert.equal(error, end);
  }
});

test('resume reads again what is outdated, until it can or is told that it may not', async () => {
  for (const [code, rereads, result] of [
    ['RESYNC', ['new'], ['first', 'new', 'cursor 2']],
    ['BAD_CURSOR', [failure('UNAVAILABLE'), null], ['first', null, 'cursor 2']],
    ['RESYNC', [failure('NOT_FOUND')], ['first']],
  ]) {
    const last = rereads.at(-1);
    const reread = async () => {
      const read = rereads.shift();
      if (Array.isArray(read)) throw read;
      return read;
    };
    const { cursors, error } = await subscribedWith({ reread }, signedIn(), failure(code), new TypeError('cut'));
    assert.deepEqual(cursors, result);
    assert.equal(error, Array.isArray(last) ? last : undefined);
    assert.equal(rereads.length, 0);
  }
});

test('resume does not subscribe if it is stopped while it reads again', async () => {
  let subscriptions = 0;
  const transport = async function* () {
    subscriptions += 1;
    throw failure('RESYNC');
  };
  const [asked, answered] = [signal(), signal()];
  const reread = () => {
    asked.send();
    return answered.sent;
  };
  const sink = { next() {}, error: assert.fail, complete() {}, reread };
  const stop = examples.resume.resume(transport, signedIn(), { query: '', variables: {} }, sink);
  await asked.sent;
  stop();
  answered.send();
  await new Promise(setImmediate);
  assert.equal(subscriptions, 1);
});

test('resume reports an operation that is wrong, by each transport', { timeout }, async (t) => {
  const deep = `{ edge { node ${'{ createdBy { library { nodes '.repeat(20)} { id } ${'} } }'.repeat(20)} } }`;
  const wrong = {
    GRAPHQL_PARSE_FAILED: 'subscription {',
    DEPTH_LIMIT: `subscription { libraryChanged(principalId: "g:demo:standard-library") { ... on LibraryEntryPlaced ${deep} } }`,
  };
  for (const [name, transport] of Object.entries(transports))
    for (const [code, query] of Object.entries(wrong)) {
      const error = await new Promise((resolve, reject) => {
        const sink = { next: reject, error: resolve, complete: reject };
        t.after(examples.resume.resume(transport(endpoint, signedIn()), signedIn(), { query, variables: {} }, sink));
      });
      assert.equal(examples.retry.failureOf(error).code, code, name);
    }
});

test('a stream in which nothing arrives is lost after 50 seconds, also after events', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let stream;
  const body = new ReadableStream({ start: (controller) => (stream = controller) });
  t.mock.method(globalThis, 'fetch', async () => new Response(body));
  const request = { query: '', variables: {} };
  const results = transports.fetch(endpoint, signedIn())(request, new AbortController().signal, () => {})[Symbol.asyncIterator]();
  const arrives = async (text) => {
    stream.enqueue(new TextEncoder().encode(text));
    await new Promise(setImmediate);
  };
  let event = results.next();
  await arrives(':\n\n');
  t.mock.timers.tick(30_000);
  await arrives(':\n\n');
  t.mock.timers.tick(30_000);
  await arrives('event: next\ndata: {"data":null}\n\n');
  assert.deepEqual((await event).value, { data: null });
  event = results.next();
  t.mock.timers.tick(50_000);
  await assert.rejects(event, (error) => examples.retry.failureOf(error).code === 'NETWORK');
});

// listening returns the URL of a server of websockets, and a function that returns its next connection, after its first subscription.
async function listening(t) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'graphql-transport-ws' });
  t.after(() => server.close());
  await once(server, 'listening');
  const connection = async () => {
    const [socket] = await once(server, 'connection');
    const send = (type, rest) => socket.send(JSON.stringify({ type, ...rest }));
    const hears = async (type) => {
      for (;;) {
        const message = JSON.parse((await once(socket, 'message'))[0]);
        if (message.type === type) return message;
      }
    };
    await hears('connection_init');
    send('connection_ack');
    const { id } = await hears('subscribe');
    return { id, send, hears, close: () => socket.close() };
  };
  return { url: `http://127.0.0.1:${server.address().port}/graphql`, connection };
}

test('a websocket is lost if a ping is not answered in five seconds', { timeout }, async (t) => {
  const { url, connection } = await listening(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const transport = transports.socket(url, signedIn());
  const subscribe = () => transport({ query: 'subscription { a }', variables: {} })[Symbol.asyncIterator]().next();
  const isLost = (event) => assert.rejects(event, (error) => examples.retry.failureOf(error).code === 'NETWORK');

  let ended = isLost(subscribe());
  let { id, send, hears, close } = await connection();
  t.mock.timers.tick(20_000);
  await hears('ping');
  send('pong');
  send('ping');
  await hears('pong'); // so the first pong has arrived
  t.mock.timers.tick(20_000);
  await hears('ping');
  t.mock.timers.tick(4999);
  send('ping');
  await hears('pong');
  t.mock.timers.tick(1);
  await ended;

  // A ping of a connection that was closed does not end the next one.
  ended = isLost(subscribe());
  ({ hears, close } = await connection());
  t.mock.timers.tick(20_000);
  await hears('ping');
  close();
  await ended;
  const event = subscribe();
  ({ id, send } = await connection());
  t.mock.timers.tick(5000);
  send('next', { id, payload: { data: null } });
  assert.deepEqual((await event).value, { data: null });
  // It ends by a ping without an answer, or it would keep the process.
  t.mock.timers.tick(20_000);
  t.mock.timers.tick(5000);
});

// Each function follows a library that was not read, and returns a function that stops it.
const follows = {
  'Apollo Client': (session, transport, id, onError) =>
    new examples.apollo.LibraryView(examples.apollo.createApolloClient(endpoint, session, transport), id, 'DESC').follow(onError),
  urql: (session, transport, id, error) =>
    examples.urql.urqlSource(examples.urql.createUrqlClient(endpoint, session, transport, schema)).follow({ id, after: null }, { error }),
  Relay: (session, transport, id, onError) =>
    examples.relay.follow(examples.relay.createRelayEnvironment(endpoint, session, transport), id, 'DESC', null, onError),
  resume: (session, transport, id, error) =>
    examples.resume.resume(transport, session, { query: libraryChanged, variables: { id } }, { next() {}, error, complete() {} }),
};

for (const [client, follow] of Object.entries(follows))
  for (const [name, transport] of Object.entries(transports))
    test(`the error that ends a subscription of ${client} has its code, by ${name}`, { timeout }, async (t) => {
      const codeOf = async (session, id) => {
        const error = await new Promise((resolve) => t.after(follow(session, transport(endpoint, session), id, resolve)));
        return examples.retry.failureOf(error).code;
      };
      assert.equal(await codeOf(signedIn(), 'g:demo:there-is-none'), 'NOT_FOUND');
      const ended = { token: () => 'refused', renew: async () => null };
      assert.equal(await codeOf(ended, 'g:demo:standard-library'), 'UNAUTHENTICATED');
    });

test('the cache of Apollo Client keeps a list for each order, by time and by title', { timeout }, async (t) => {
  const { id } = await groupOf(['b', 'a']);
  const client = examples.apollo.createApolloClient(endpoint, signedIn(), transports.events(endpoint, signedIn()));
  t.after(() => client.stop());
  const titles = async (field) => {
    const query = gql(`query { principal(id: "${id}") { id library(first: 2, orderBy: { field: ${field}, direction: ASC }) {
      edges { cursor node { id title } } pageInfo { hasNextPage endCursor } } } }`);
    const { data } = await client.query({ query });
    return data.principal.library.edges.map(({ node }) => node.title).join(' ');
  };
  assert.equal(await titles('LAST_MODIFIED'), 'b a');
  assert.equal(await titles('TITLE'), 'a b');
});

test('Apollo Client and urql read texts with and without their keys', { timeout }, async (t) => {
  const contentId = await createItem('text');
  await ask('mutation ($input: SaveRevisionInput!) { saveRevision(input: $input) { userErrors { code message } } }',
    { input: { contentId, title: 'text', body: 'text', locale: 'en' } });
  const apollo = examples.apollo.createApolloClient(endpoint, signedIn(), transports.events(endpoint, signedIn()));
  t.after(() => apollo.stop());
  const urql = urqlClient();
  for (const key of ['', 'key']) {
    const query = gql(`query { content(id: "${contentId}") { id revision { number ${key} } branch { locales ${key} } } }`);
    const { data } = await apollo.query({ query });
    assert.equal(data.content.revision.number, 0);
    const result = await urql.query(query, {}).toPromise();
    assert.equal(result.data?.content.revision.number, 0, result.error);
    const kept = Object.keys(apollo.cache.extract()).filter((name) => /^(Revision|Branch):/.test(name));
    assert.equal(kept.length, key ? 2 : 0);
  }
});

test('Apollo Client and urql keep what queries with different fields have read', { timeout }, async (t) => {
  const { id } = await groupOf(['a']);
  const apollo = examples.apollo.createApolloClient(endpoint, signedIn(), transports.events(endpoint, signedIn()));
  t.after(() => apollo.stop());
  const urql = urqlClient();
  const libraryWith = (args, fields) => `principal(id: "${id}") { id library(${args}) { ${fields} } }`;
  for (const texts of [
    ['limits { maxErrors maxIds }', 'limits { maxCost }'],
    ['parseKey(key: "c:demo:a") { kind }', 'parseKey(key: "c:demo:a") { key url }'],
    [libraryWith('first: 0', 'count { value }'), libraryWith('first: 0', 'count { precision }')],
    [libraryWith('first: 1', 'edges { cursor node { id title } } pageInfo { endCursor }'),
      libraryWith('first: 1', 'edges { cursor role node { id version } } pageInfo { hasNextPage }')],
  ]) {
    const queries = texts.map((text) => gql(`{ ${text} }`));
    for (const query of queries) {
      await apollo.query({ query });
      const { error } = await urql.query(query, {}, { requestPolicy: 'network-only' }).toPromise();
      assert.equal(error, undefined);
    }
    const [query] = queries;
    assert.ok(apollo.readQuery({ query }), texts[0]);
    assert.ok((await urql.query(query, {}, { requestPolicy: 'cache-only' }).toPromise()).data, texts[0]);
  }
});

test('urql stores all objects, and a change does not need the edges of a list', { timeout }, async (t) => {
  const { id, items: [contentId] } = await groupOf(['a']);
  const client = urqlClient();
  const query = `query ($id: ID!) { limits { maxDepth } parseKey(key: "c:demo:a") { kind key }
    principal(id: $id) { id library(first: 0) { count { value } } } }`;
  const { data, error } = await client.query(query, { id }).toPromise();
  assert.equal(data?.principal.library.count.value, 1, error);
  const share = `mutation ($input: ShareContentInput!) { shareContent(input: $input) { fanOut { state } userErrors { code } } }`;
  await client.mutation(share, { input: { contentId, principalIds: ['u:demo:cleo'] } }).toPromise();
  const source = examples.urql.urqlSource(client);
  const shown = signal();
  const view = new examples.view.LibraryView(source, id, 'DESC', ({ library }) => library?.edges.length === 2 && shown.send());
  await view.open();
  t.after(view.follow((failure) => assert.fail(failure)));
  await createItem('b', id);
  await shown.sent;
});

test('a list in the cache of urql is read again after a change', { timeout }, async (t) => {
  const { id, items } = await groupOf(['a', 'c']);
  const client = urqlClient();
  const query = `query ($id: ID!, $first: Int) { principal(id: $id) { id
    library(first: $first, orderBy: { field: TITLE, direction: ASC }) { edges { cursor node { id title } } pageInfo { endCursor } } } }`;
  const shown = signal();
  let titles = '';
  const list = client.query(query, { id, first: 5 }).subscribe(({ data, stale }) => {
    titles = data.principal.library.edges.map(({ node }) => node.title).join(' ');
    if (titles === 'A b c' && !stale) shown.send();
  });
  t.after(list.unsubscribe);
  const view = new examples.view.LibraryView(examples.urql.urqlSource(client), id, 'DESC', () => {});
  await view.open();
  t.after(view.follow((error) => assert.fail(error)));
  await createItem('b', id);
  await rename(items[0], 'A');
  await shown.sent;
  assert.equal(titles, 'A b c');
});

test('a search returns matching entries, and continues', async () => {
  const { id } = await groupOf(['Apples', 'Berries', 'Green apples']);
  const { search } = examples.fetch;
  const titles = async (filter) => (await search(endpoint, signedIn(), id, filter)).edges.map(({ node }) => node.title);
  assert.deepEqual(await titles({ text: 'app' }), ['Apples', 'Green apples']);
  assert.deepEqual(await titles({ text: 'app', kinds: ['LINK'] }), []);
});

test('a library by title stays up to date, in both orders', { timeout }, async () => {
  for (const [order, first] of [['ASC', ['Apples', 'Äther']], ['DESC', ['Zebra', 'Chapter 10']]]) {
    const { id, items } = await groupOf(['Zebra', 'Äther', 'Chapter 10', 'Apples', 'Chapter 9']);
    let shown;
    let changed = () => {};
    const view = new examples.fetch.TitleView(endpoint, signedIn(), id, order, (titles) => {
      shown = titles;
      changed();
    }, pageSize);
    const names = () => shown.edges.map(({ node }) => node.title);
    const until = (wanted) => new Promise((resolve) => {
      changed = () => names().join() === wanted.join() && resolve();
      changed();
    });
    await view.load();
    assert.deepEqual(names(), first);
    const stop = view.follow((error) => assert.fail(error));
    const [zebra, , tenth, apples] = items;
    if (order === 'ASC') {
      await rename(zebra, 'Aster'); // from beyond the loaded part
      await until(['Apples', 'Aster', 'Äther']);
      await rename(apples, 'Chapter 11'); // out of it
      await until(['Aster', 'Äther']);
      while (shown.hasNextPage) await view.load();
      await until(['Aster', 'Äther', 'Chapter 9', 'Chapter 10', 'Chapter 11']);
      await rename(tenth, 'Chapter 1');
      await until(['Aster', 'Äther', 'Chapter 1', 'Chapter 9', 'Chapter 11']);
    } else {
      await rename(zebra, 'Aster');
      await until(['Chapter 10']);
      await rename(apples, 'Zoo');
      await until(['Zoo', 'Chapter 10']);
      while (shown.hasNextPage) await view.load();
      await until(['Zoo', 'Chapter 10', 'Chapter 9', 'Äther', 'Aster']);
    }
    stop();
  }
});

const viewsByFetch = {
  LibraryView: (id, show, url = endpoint, session = signedIn()) =>
    new examples.view.LibraryView(examples.fetch.fetchSource(url, session), id, 'DESC', show, pageSize),
  TitleView: (id, show, url = endpoint, session = signedIn()) =>
    new examples.fetch.TitleView(url, session, id, 'DESC', show, pageSize),
};

for (const [name, create] of Object.entries(viewsByFetch)) {
  test(`a ${name} that is outdated is read again and followed, without a page that was requested before`, { timeout }, async (t) => {
    const { id } = await groupOf(['a', 'b', 'c', 'd', 'e']);
    let look = () => {};
    let shown;
    const view = create(id, (state) => {
      shown = (state.library ?? state).edges?.map(({ node }) => node.title).join(' ');
      look();
    });
    const shows = (wanted) => new Promise((resolve) => {
      look = () => shown === wanted && resolve();
      look();
    });
    const load = () => view.load('next');
    await (view.open ?? view.load).call(view);
    assert.equal(shown, 'e d');
    const [requested, released, followed] = [signal(), signal(), signal()];
    const ends = ['RESYNC', 'BAD_CURSOR'];
    const { fetch } = globalThis;
    t.mock.method(globalThis, 'fetch', async (address, options) => {
      const { query, variables } = JSON.parse(options.body);
      if (query.includes('subscription')) {
        const end = ends.shift();
        if (end === 'RESYNC') return new Response(`event: next\ndata: ${JSON.stringify({ errors: failure(end) })}\n\n`);
        if (end) return fetch(address, { ...options, body: JSON.stringify({ query, variables: { ...variables, after: 'bad' } }) });
        followed.send();
      } else if (variables.after && !requested.isSent()) {
        const response = await fetch(address, options);
        requested.send();
        await released.sent;
        return response;
      }
      return fetch(address, options);
    });
    const loaded = load();
    await requested.sent;
    for (const title of ['f', 'g', 'h']) await createItem(title, id);
    t.after(view.follow((error) => assert.fail(error)));
    await shows('h g');
    released.send();
    await loaded;
    assert.equal(shown, 'h g');
    await followed.sent;
    await createItem('i', id);
    await shows('i h g');
    await load();
    await shows('i h g f e');
  });

  test(`a ${name} begins again when its viewer has become a member`, { timeout }, async () => {
    const { id, items } = await groupOf(['a', 'b', 'c', 'd']);
    for (const item of items.slice(0, 3)) await update(item, { visibility: 'LOGGEDIN' });
    let shown;
    const session = { ...signedIn(), token: () => otherToken };
    const show = (state) => (shown = (state.library ?? state).edges?.map(({ node }) => node.title).join(' '));
    const view = create(id, show, endpoint, session);
    await (view.open ?? view.load).call(view);
    assert.equal(shown, 'c b');
    await ask('mutation ($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { userErrors { code message } } }',
      { in: { groupId: id, members: [{ principalId: 'u:demo:cleo', role: 'MEMBER' }] } });
    const all = name === 'TitleView' ? ['d c', 'd c b a'] : ['c b', 'c b a d'];
    for (const titles of all) {
      await view.load('next');
      assert.equal(shown, titles);
    }
  });

  test(`a ${name} of an empty library reads it again when it subscribes, also after a lost connection`, { timeout }, async (t) => {
    const { id } = await groupOf([]);
    let look = () => {};
    let shown = '';
    const view = create(id, (state) => {
      shown = (state.library ?? state).edges?.map(({ node }) => node.title).join(' ');
      look();
    }, proxy.url);
    const shows = (wanted) => new Promise((resolve) => {
      look = () => shown === wanted && resolve();
      look();
    });
    await (view.open ?? view.load).call(view);
    assert.equal(shown, '');
    await createItem('a', id); // Without a cursor, changes before the subscription are not sent.
    t.after(view.follow((error) => assert.fail(error)));
    await shows('a');
    t.after(() => proxy.restore());
    proxy.cut();
    await createItem('b', id);
    proxy.restore();
    await shows('b a');
  });
}

test('a TitleView of a library that is missing says so', async () => {
  const view = new examples.fetch.TitleView(endpoint, signedIn(), 'g:demo:there-is-none', 'ASC', () => {});
  await assert.rejects(view.load(), (error) => examples.retry.failureOf(error).code === 'NOT_FOUND');
});

test('titles that arrive in two pages, or late, are shown once at their newest place', () => {
  const { withPage, withTitle } = examples.fetch;
  const edge = (id, title, version = 1) => ({ cursor: title, sortKey: `${title}-${id}`, node: { id, title, version } });
  const page = (hasNextPage, ...edges) => ({ edges, pageInfo: { hasNextPage, endCursor: edges.at(-1)?.cursor ?? 'hidden' } });
  const empty = { order: 'ASC', edges: [], hasNextPage: true, endCursor: null, endKey: '' };
  const start = withPage(empty, page(true, edge('a', 'b'), edge('b', 'd')));
  const titles = ({ edges }) => edges.map(({ node }) => node.title + node.version).join(' ');
  assert.equal(titles(withPage(start, page(false, edge('a', 'e', 2)))), 'd1 e2');
  const early = withTitle(start, { edge: edge('c', 'a', 3) });
  assert.equal(titles(withPage(early, page(false, edge('c', 'f', 2)))), 'a3 b1 d1');
  // The end stays where its page ended, although the last entry has moved away.
  const moved = withTitle(start, { edge: { ...edge('b', 'a', 2), cursor: 'of an event' } });
  assert.deepEqual([titles(moved), moved.endCursor, moved.endKey], ['a2 b1', 'd', 'd-b']);
  assert.equal(titles(withTitle(moved, { edge: edge('x', 'c') })), 'a2 b1 c1');
  assert.equal(titles(withTitle(moved, { edge: edge('x', 'e') })), 'a2 b1');
  assert.equal(titles(withTitle(moved, { contentId: 'a' })), 'a2');
  const passed = withPage(start, page(true));
  assert.deepEqual([passed.endCursor, passed.endKey], ['hidden', 'd-b']);
});

test('a mutation whose answer was lost is repeated, and creates one item', async () => {
  const { post } = examples.fetch;
  const { newKey, repeat } = examples.retry;
  const query = 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { code } } }';
  const input = { kind: 'NOTE', title: 'once', idempotencyKey: newKey() };
  const ids = [];
  const { createContent } = await repeat(async () => {
    const data = await post(endpoint, signedIn(), { query, variables: { input } });
    ids.push(data.createContent.content.id);
    if (ids.length === 1) throw new TypeError('the answer was lost');
    return data;
  });
  assert.deepEqual(ids, [createContent.content.id, createContent.content.id]);
});
