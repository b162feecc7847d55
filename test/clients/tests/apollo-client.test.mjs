// Apollo Client, with relayStylePagination and persisted queries.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { CombinedGraphQLErrors } from '@apollo/client/errors';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { relayStylePagination } from '@apollo/client/utilities';
import { createClient } from 'graphql-ws';
import { filter, firstValueFrom, timeout } from 'rxjs';
import WebSocket from 'ws';
import { libraryChanged, cursorOf, rename, removeFromLibrary } from '../changes.mjs';
import { ask, createItem, createGroup, endpoint, socketEndpoint, token } from '../gateway.mjs';

const { __schema: schema } = await ask('{ __schema { types { kind name possibleTypes { name } } } }');
const possibleTypes = Object.fromEntries(schema.types.filter((t) => t.possibleTypes)
  .map((t) => [t.name, t.possibleTypes.map((p) => p.name)]));

const LIBRARY = gql`
  query Library($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor, $orderBy: LibraryOrder) {
    principal(id: $id) {
      id
      library(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy) {
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

// application returns a client with its own cache, and the requests that it sent.
function application(...links) {
  const sent = [];
  const http = new HttpLink({
    uri: endpoint,
    headers: { authorization: `Bearer ${token}` },
    fetch: (url, options) => {
      sent.push({ method: options.method, url: String(url), body: options.body && JSON.parse(options.body) });
      return fetch(url, options);
    },
  });
  const library = relayStylePagination(['orderBy', 'includeShared']);
  const client = new ApolloClient({
    link: ApolloLink.from([...links, http]),
    cache: new InMemoryCache({ possibleTypes, typePolicies: { User: { fields: { library } }, Group: { fields: { library } } } }),
  });
  return { client, sent };
}

const connectionOf = (result) => result.data.principal.library;
const titlesOf = (result) => connectionOf(result).edges.map((edge) => edge.node.title);

// watched opens a library like a component, and waits for its first page.
async function watched(client, variables) {
  const query = client.watchQuery({ query: LIBRARY, variables });
  const subscription = query.subscribe({});
  const watch = { query, current: () => query.getCurrentResult(), stop: () => subscription.unsubscribe() };
  // shows waits until the component would show items with these titles: a change of the cache
  // reaches it a little later.
  watch.shows = async (titles) => {
    const last = query.pipe(filter((result) => !result.loading && result.data && isDeepStrictEqual(titlesOf(result), titles)),
      timeout(10_000));
    await firstValueFrom(last).catch(() => assert.deepEqual(titlesOf(watch.current()), titles));
  };
  await firstValueFrom(query.pipe(filter((result) => !result.loading)));
  return watch;
}

test('pages forwards and backwards fill one connection', async () => {
  const { id } = await createGroup('apollo-pages', ['a', 'b', 'c', 'd', 'e']);
  const { client } = application();
  const forwards = await watched(client, { id, first: 2 });
  await forwards.shows(['a', 'b']);
  for (const titles of [['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']]) {
    assert.equal(connectionOf(forwards.current()).pageInfo.hasNextPage, true);
    await forwards.query.fetchMore({ variables: { after: connectionOf(forwards.current()).pageInfo.endCursor } });
    await forwards.shows(titles);
  }
  assert.equal(connectionOf(forwards.current()).pageInfo.hasNextPage, false);
  forwards.stop();

  const backwards = await watched(application().client, { id, last: 2 });
  await backwards.shows(['d', 'e']);
  await backwards.query.fetchMore({ variables: { before: connectionOf(backwards.current()).pageInfo.startCursor } });
  await backwards.shows(['b', 'c', 'd', 'e']);
  assert.equal(connectionOf(backwards.current()).pageInfo.hasPreviousPage, true);
  backwards.stop();

  const newest = await watched(client, { id, first: 2, orderBy: { field: 'LAST_MODIFIED', direction: 'DESC' } });
  await newest.shows(['e', 'd']); // another order is another connection of the same cache
  newest.stop();
});

test('mutations update the cache without a second query', async () => {
  const { id, items } = await createGroup('apollo-mutations', ['a', 'b']);
  const other = await createItem('c');
  const { client, sent } = application();
  const shown = await watched(client, { id, first: 10 });
  const change = (edit) => (library, { readField }) => ({ ...library, edges: edit(library.edges, readField) });

  await client.mutate({
    mutation: gql`
      mutation Update($in: UpdateContentInput!) { updateContent(input: $in) { content { id title version } userErrors { code } } }
    `,
    variables: { in: { id: items[0], title: 'A', expectedVersion: 1 } },
  });
  assert.deepEqual(connectionOf(shown.current()).edges.map((e) => [e.node.title, e.node.version]), [['A', 2], ['b', 1]]);

  await client.mutate({
    mutation: gql`
      mutation Share($in: ShareContentInput!) {
        shareContent(input: $in) { edges { cursor node { id title version } } userErrors { code } } }
    `,
    variables: { in: { contentId: other, principalIds: [id] } },
    update: (cache, { data }) => cache.modify({ id: cache.identify({ __typename: 'Group', id }),
      fields: { library: change((edges) => [...edges, ...data.shareContent.edges]) } }),
  });
  await shown.shows(['A', 'b', 'c']);

  await client.mutate({
    mutation: gql`
      mutation Remove($in: RemoveFromLibraryInput!) { removeFromLibrary(input: $in) { removedContentId userErrors { code } } }
    `,
    variables: { in: { principalId: id, contentId: items[1] } },
    update: (cache, { data }) =>
      cache.modify({
        id: cache.identify({ __typename: 'Group', id }),
        fields: { library: change((edges, readField) =>
          edges.filter((e) => readField('id', readField('node', e)) !== data.removeFromLibrary.removedContentId)) },
      }),
  });
  await shown.shows(['A', 'c']);
  shown.stop();
  assert.equal(sent.filter(({ body }) => body.operationName === 'Library').length, 1);
});

test('a subscription updates the cache', async () => {
  const { id, items } = await createGroup('apollo-changes', ['a', 'b']);
  const socket = createClient({ url: socketEndpoint, webSocketImpl: WebSocket, connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0 });
  const { client } = application(ApolloLink.split(({ operationType }) => operationType === 'subscription', new GraphQLWsLink(socket)));
  const shown = await watched(client, { id, first: 10 });
  const stop = shown.query.subscribeToMore({
    document: gql(libraryChanged),
    variables: { id, after: await cursorOf(id) },
    updateQuery(previous, { subscriptionData: { data } }) {
      const { edge, contentId = edge.node.id } = data.libraryChanged;
      const others = previous.principal.library.edges.filter((e) => e.node.id !== contentId);
      return { principal: { ...previous.principal, library: { ...previous.principal.library, edges: edge ? [...others, edge] : others } } };
    },
  });
  await createItem('c', id);
  await shown.shows(['a', 'b', 'c']);
  await rename(items[0], 'A');
  await shown.shows(['b', 'c', 'A']);
  await removeFromLibrary(items[1], id);
  await shown.shows(['c', 'A']);
  stop();
  shown.stop();
  await socket.dispose();
});

test('errors have their codes', async () => {
  const { client } = application();
  await assert.rejects(client.query({ query: LIBRARY, variables: { id: 'nonsense', first: 1 } }), (fault) => {
    assert.ok(CombinedGraphQLErrors.is(fault));
    assert.deepEqual(fault.errors.map((e) => [e.path, e.extensions.code]), [[['principal'], 'BAD_USER_INPUT']]);
    return true;
  });
});

test('persisted queries send the digest first, by GET, and the text once', async () => {
  const { id } = await createGroup('apollo-persisted', ['a']);
  const persisted = () => new PersistedQueryLink({ sha256: (text) => createHash('sha256').update(text).digest('hex'),
    useGETForHashedQueries: true });
  const query = gql`
    query ApolloPersisted($id: ID!) { group(id: $id) { library(first: 1) { nodes { title } } } }
  `;
  const first = application(persisted());
  assert.equal((await first.client.query({ query, variables: { id } })).data.group.library.nodes[0].title, 'a');
  assert.deepEqual(first.sent.map((r) => r.method), ['GET', 'POST']);
  assert.ok(first.sent[1].body.query && first.sent[1].body.extensions.persistedQuery.sha256Hash);
  const second = application(persisted());
  assert.equal((await second.client.query({ query, variables: { id } })).data.group.library.nodes[0].title, 'a');
  assert.deepEqual(second.sent.map((r) => r.method), ['GET']);
  assert.ok(!new URL(second.sent[0].url).searchParams.has('query'));
});
