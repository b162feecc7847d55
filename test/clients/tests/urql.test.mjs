// urql with its normalized cache, relayPagination, and persisted documents.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Client, fetchExchange, gql, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { persistedExchange } from '@urql/exchange-persisted';
import { getIntrospectionQuery } from 'graphql';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { libraryChanged, cursorOf, rename, removeFromLibrary } from '../changes.mjs';
import { ask, createItem, createGroup, endpoint, socketEndpoint, token } from '../gateway.mjs';

const schema = await ask(getIntrospectionQuery());

const LIBRARY = gql`
  query Library($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor) {
    group(id: $id) {
      id
      library(first: $first, after: $after, last: $last, before: $before) {
        edges {
          cursor
          node {
            id
            title
            version
          }
        }
        pageInfo {
          hasNextPage
          hasPreviousPage
          startCursor
          endCursor
        }
      }
    }
  }
`;

// edit changes the edges of the one library of a group that was read.
function edit(cache, id, change) {
  const group = { __typename: 'Group', id };
  for (const { fieldName, arguments: args } of cache.inspectFields(group)) {
    if (fieldName !== 'library') continue;
    const library = cache.resolve(group, 'library', args);
    cache.link(library, 'edges', change(cache.resolve(library, 'edges')));
  }
}

// without returns the edges except that of an item.
const without = (cache, edges, contentId) => edges.filter((edge) =>
  cache.resolve(edge, 'node') !== cache.keyOfEntity({ __typename: 'Content', id: contentId }));

const updates = {
  Mutation: {
    shareContent(result, { input }, cache) {
      for (const edge of result.shareContent.edges ?? []) edit(cache, input.principalIds[0], (edges) => [...edges, edge]);
    },
    removeFromLibrary({ removeFromLibrary: { removedContentId } }, { input }, cache) {
      edit(cache, input.principalId, (edges) => without(cache, edges, removedContentId));
    },
  },
  Subscription: {
    libraryChanged({ libraryChanged: { edge, contentId = edge.node.id } }, { principalId }, cache) {
      edit(cache, principalId, (edges) => [...without(cache, edges, contentId), ...(edge ? [edge] : [])]);
    },
  },
};

// application returns a client with its own cache, and the requests that it sent. A
// cursor is the key of an edge: no two have the same.
function application(exchanges = [], options = {}) {
  const sent = [];
  const library = relayPagination();
  const client = new Client({
    url: endpoint,
    preferGetMethod: false,
    ...options,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    fetch: (url, options) => {
      if (options.body) sent.push(JSON.parse(options.body));
      return fetch(url, options);
    },
    exchanges: [
      cacheExchange({
        schema,
        resolvers: { User: { library }, Group: { library } },
        keys: { LibraryEdge: (edge) => edge.cursor, LibraryConnection: () => null, PageInfo: () => null, FanOut: () => null,
          UserError: () => null },
        updates,
      }),
      ...exchanges,
      fetchExchange,
    ],
  });
  return { client, sent };
}

async function must(promise) {
  const { data, error } = await promise;
  assert.equal(error, undefined, error?.message);
  return data;
}

const libraryOf = async (client, variables) => (await must(client.query(LIBRARY, variables))).group.library;
const titlesOf = (library) => library.edges.map((edge) => edge.node.title);

test('pages forwards and backwards fill one connection', async () => {
  const { id } = await createGroup('urql-pages', ['a', 'b', 'c', 'd', 'e']);
  const { client } = application();
  let library = await libraryOf(client, { id, first: 2 });
  assert.deepEqual(titlesOf(library), ['a', 'b']);
  for (const titles of [['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']]) {
    assert.equal(library.pageInfo.hasNextPage, true);
    library = await libraryOf(client, { id, first: 2, after: library.pageInfo.endCursor });
    assert.deepEqual(titlesOf(library), titles);
  }
  assert.equal(library.pageInfo.hasNextPage, false);

  const other = application().client;
  library = await libraryOf(other, { id, last: 2 });
  assert.deepEqual(titlesOf(library), ['d', 'e']);
  library = await libraryOf(other, { id, last: 2, before: library.pageInfo.startCursor });
  assert.deepEqual(titlesOf(library), ['b', 'c', 'd', 'e']);
  assert.equal(library.pageInfo.hasPreviousPage, true);
});

test('mutations update the cache without a second query', async () => {
  const { id, items } = await createGroup('urql-mutations', ['a', 'b']);
  const other = await createItem('c');
  const { client, sent } = application();
  await libraryOf(client, { id, first: 10 });
  const shown = async () => titlesOf(await libraryOf(client, { id, first: 10 }));

  const update = gql`
    mutation ($in: UpdateContentInput!) { updateContent(input: $in) { content { id title version } userErrors { code } } }
  `;
  await must(client.mutation(update, { in: { id: items[0], title: 'A' } }));
  assert.deepEqual(await shown(), ['A', 'b']);

  const share = gql`
    mutation ($input: ShareContentInput!) { shareContent(input: $input) { edges { cursor node { id title version } } userErrors { code } } }
  `;
  await must(client.mutation(share, { input: { contentId: other, principalIds: [id] } }));
  assert.deepEqual(await shown(), ['A', 'b', 'c']);

  const remove = gql`
    mutation ($input: RemoveFromLibraryInput!) { removeFromLibrary(input: $input) { removedContentId userErrors { code } } }
  `;
  await must(client.mutation(remove, { input: { principalId: id, contentId: items[1] } }));
  assert.deepEqual(await shown(), ['A', 'c']);
  assert.equal(sent.filter((body) => body.operationName === 'Library').length, 1);
});

const socket = createClient({ url: socketEndpoint, webSocketImpl: WebSocket, connectionParams: { authorization: `Bearer ${token}` },
  retryAttempts: 0 });
const transports = {
  'over a websocket': () =>
    application([subscriptionExchange({ forwardSubscription: (request) =>
      ({ subscribe: (sink) => ({ unsubscribe: socket.subscribe(request, sink) }) }) })]),
  'by server-sent events': () => application([], { fetchSubscriptions: true }),
};
after(() => socket.dispose());

for (const [name, create] of Object.entries(transports)) {
  test(`a subscription ${name} updates the cache`, async () => {
    const { id, items } = await createGroup(`urql-changes-${name.split(' ').at(-1)}`, ['a', 'b']);
    const { client } = create();
    let titles;
    let onResult = () => {};
    const shows = (wanted) =>
      new Promise((resolve) => {
        onResult = () => isDeepStrictEqual(titles, wanted) && resolve();
        onResult();
      });
    const query = client.query(LIBRARY, { id, first: 10 }).subscribe(({ data }) => {
      titles = data && titlesOf(data.group.library);
      onResult();
    });
    await shows(['a', 'b']);
    const changes = client.subscription(gql(libraryChanged), { id, after: await cursorOf(id) })
      .subscribe(({ error }) => assert.equal(error, undefined));
    await createItem('c', id);
    await shows(['a', 'b', 'c']);
    await rename(items[0], 'A');
    await shows(['b', 'c', 'A']);
    await removeFromLibrary(items[1], id);
    await shows(['c', 'A']);
    changes.unsubscribe();
    query.unsubscribe();
  });
}

test('errors have their codes', async () => {
  const { error } = await application().client.query(LIBRARY, { id: 'nonsense', first: 1 });
  assert.deepEqual(error.graphQLErrors.map((e) => [e.path, e.extensions.code]), [[['group'], 'BAD_USER_INPUT']]);
});

test('persisted documents send the digest first, and the text once', async () => {
  const { id } = await createGroup('urql-persisted', ['a']);
  const query = gql`
    query UrqlPersisted($id: ID!) { group(id: $id) { id library(first: 1) { nodes { id title } } } }
  `;
  const texts = [];
  for (let n = 0; n < 2; n++) {
    const { client, sent } = application([persistedExchange({ preferGetForPersistedQueries: false })]);
    assert.equal((await must(client.query(query, { id }))).group.library.nodes[0].title, 'a');
    texts.push(sent.map((body) => Boolean(body.query)));
  }
  assert.deepEqual(texts, [[false, true], [false]]);
});
