// Relay: its compiler with the schema of the running gateway, and its runtime with
// the compiled code. Documents are sent by their digests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createClient } from 'graphql-ws';
import {
  commitMutation,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getSingularSelector,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
} from 'relay-runtime';
import WebSocket from 'ws';
import { cursorOf, rename, removeFromLibrary } from '../changes.mjs';
import { ask, createItem, createGroup, post, socketEndpoint, token } from '../gateway.mjs';
import { compile } from '../relay/compile.mjs';

let made;
before(async () => {
  made = await compile();
});
after(() => made.remove());

// Application is an application with its own cache.
class Application {
  constructor() {
    this.sent = []; // the names of operations, and whether their texts were sent
    this.socket = createClient({ url: socketEndpoint, webSocketImpl: WebSocket, connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0 });
    const network = Network.create(
      (request, variables) => this.fetch(request, variables),
      ({ id }, variables) => Observable.create((sink) => this.socket.subscribe({ query: made.persisted[id], variables }, sink)),
    );
    this.environment = new Environment({ network, store: new Store(new RecordSource()) });
  }

  // fetch sends the digest, and the text only if the gateway does not have it yet.
  async fetch({ id, name }, variables) {
    const documentId = `sha256:${id}`;
    for (const text of [undefined, made.persisted[id]]) {
      const { body } = await post({ documentId, query: text, variables }, { authorization: `Bearer ${token}` });
      this.sent.push(text ? `${name} with its text` : name);
      if (body.errors?.[0].extensions.code !== 'PERSISTED_QUERY_NOT_FOUND') return body;
    }
    throw new Error(`${name}: the gateway refuses it`);
  }

  async open(variables) {
    this.variables = variables;
    this.operation = createOperationDescriptor(made.artifact('appQuery'), variables);
    this.environment.retain(this.operation);
    await fetchQuery(this.environment, made.artifact('appQuery'), variables).toPromise();
  }

  // page fetches more of the connection, as usePaginationFragment does.
  page(variables) {
    const { id, orderBy } = this.variables;
    return fetchQuery(this.environment, made.artifact('appPageQuery'), { id, orderBy, ...variables }).toPromise();
  }

  mutate(name, variables) {
    return new Promise((resolve, reject) => {
      commitMutation(this.environment, {
        mutation: made.artifact(name),
        variables,
        onCompleted: (response, errors) => (errors ? reject(new Error(JSON.stringify(errors))) : resolve(response)),
        onError: reject,
      });
    });
  }

  // follow keeps the connection as it is at the gateway, from a cursor on.
  follow(after) {
    const variables = { id: this.variables.id, after, connections: [this.library().__id] };
    this.onResult = () => {};
    const subscription = requestSubscription(this.environment, {
      subscription: made.artifact('appChangedSubscription'),
      variables,
      onNext: () => this.onResult(),
      onError: (fault) => this.onResult(fault),
    });
    return () => {
      subscription.dispose();
      return this.socket.dispose();
    };
  }

  // shows waits until the connection contains items with these titles.
  shows(titles) {
    return new Promise((resolve, reject) => {
      this.onResult = (fault) => {
        if (fault) reject(fault);
        else if (isDeepStrictEqual(this.library().titles, titles)) resolve();
      };
      this.onResult();
    });
  }

  // library is the connection as components would read it from the cache.
  library() {
    const { data } = this.environment.lookup(this.operation.fragment);
    const { library } = this.environment.lookup(getSingularSelector(made.artifact('app_library'), data.group)).data;
    const item = (edge) => this.environment.lookup(getSingularSelector(made.artifact('app_item'), edge.node)).data;
    return { ...library, titles: library.edges.map((edge) => edge.node && item(edge).title),
      items: library.edges.map((edge) => edge.node && item(edge)) };
  }
}

test('the compiler accepts the schema', () => {
  assert.match(made.output, /9 reader, 7 normalization, 10 operation text/);
  assert.equal(Object.keys(made.persisted).length, 7);
});

test('pages forwards and backwards fill one connection', async () => {
  const { id } = await createGroup('relay-pages', ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  const forwards = new Application();
  await forwards.open({ id, first: 3 });
  assert.deepEqual(forwards.library().titles, ['a', 'b', 'c']);
  for (const titles of [['a', 'b', 'c', 'd', 'e'], ['a', 'b', 'c', 'd', 'e', 'f', 'g']]) {
    assert.equal(forwards.library().pageInfo.hasNextPage, true);
    await forwards.page({ first: 2, after: forwards.library().pageInfo.endCursor });
    assert.deepEqual(forwards.library().titles, titles);
  }
  assert.equal(forwards.library().pageInfo.hasNextPage, false);
  assert.equal(new Set(forwards.library().edges.map((edge) => edge.cursor)).size, 7);

  const backwards = new Application();
  await backwards.open({ id, last: 3 });
  assert.deepEqual(backwards.library().titles, ['e', 'f', 'g']);
  assert.equal(backwards.library().pageInfo.hasPreviousPage, true);
  await backwards.page({ last: 3, before: backwards.library().pageInfo.startCursor });
  await backwards.page({ last: 3, before: backwards.library().pageInfo.startCursor });
  assert.deepEqual(backwards.library().titles, ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  assert.equal(backwards.library().pageInfo.hasPreviousPage, false);

  const newest = new Application();
  await newest.open({ id, first: 2, orderBy: { field: 'LAST_MODIFIED', direction: 'DESC' } });
  await newest.page({ first: 2, after: newest.library().pageInfo.endCursor });
  assert.deepEqual(newest.library().titles, ['g', 'f', 'e', 'd']);
});

test('mutations update the connection without a second query', async () => {
  const { id, items } = await createGroup('relay-mutations', ['a', 'b', 'c']);
  const app = new Application();
  await app.open({ id, first: 10 });
  const { __id: connection } = app.library();
  const other = await createItem('d');
  const queries = () => app.sent.filter((name) => !name.includes('Mutation')).length;
  const before = queries();

  const shared = await app.mutate('appShareMutation', { input: { contentId: other, principalIds: [id] }, connections: [connection] });
  assert.deepEqual(shared.shareContent.userErrors, []);
  assert.deepEqual(app.library().titles, ['a', 'b', 'c', 'd']);

  await app.mutate('appUpdateMutation', { input: { id: items[0], title: 'A', expectedVersion: 1 } });
  assert.deepEqual(app.library().titles, ['A', 'b', 'c', 'd']);
  assert.equal(app.library().items[0].version, 2);

  const refused = await app.mutate('appUpdateMutation', { input: { id: items[0], title: 'B', expectedVersion: 1 } });
  assert.deepEqual(refused.updateContent.userErrors.map((e) => [e.code, e.field]), [['CONFLICT', ['expectedVersion']]]);
  assert.deepEqual(app.library().titles, ['A', 'b', 'c', 'd']);

  await app.mutate('appRemoveMutation', { input: { principalId: id, contentId: items[1] }, connections: [connection] });
  assert.deepEqual(app.library().titles, ['A', 'c', 'd']);

  await app.mutate('appDeleteMutation', { input: { id: items[2] } });
  assert.deepEqual(app.library().titles.filter(Boolean), ['A', 'd']);
  assert.equal(queries(), before);

  // A client can page from the cursor of an edge that a mutation returned. The item that was
  // changed later comes after it.
  const cursor = app.library().edges.at(-1).cursor;
  const next = await ask('query ($id: ID!, $after: Cursor) { group(id: $id) { library(after: $after) { nodes { title } } } }',
    { id, after: cursor });
  assert.deepEqual(next.group.library.nodes, [{ title: 'A' }]);
});

test('a subscription updates the connection', async () => {
  const { id, items } = await createGroup('relay-changes', ['a', 'b']);
  const app = new Application();
  await app.open({ id, first: 10 });
  const stop = app.follow(await cursorOf(id));
  await createItem('c', id);
  await app.shows(['a', 'b', 'c']);
  await rename(items[0], 'A');
  await app.shows(['A', 'b', 'c']);
  await removeFromLibrary(items[1], id);
  await app.shows(['A', 'c']);
  await stop();
});

test('documents are sent by their digests, with their texts at most once', async () => {
  const { id } = await createGroup('relay-persisted', ['a']);
  const first = new Application();
  await first.open({ id, first: 1 });
  const second = new Application();
  await second.open({ id, first: 1 });
  assert.deepEqual(second.sent, ['appQuery']);
});
