// Changes of a library, delivered over websockets by graphql-ws and as server-sent
// events by graphql-sse.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient as createEvents } from 'graphql-sse';
import { createClient as createSocket } from 'graphql-ws';
import WebSocket from 'ws';
import { received, libraryChanged, cursorOf, rename, removeFromLibrary } from '../changes.mjs';
import { createItem, createGroup, endpoint, socketEndpoint, token } from '../gateway.mjs';

const authorization = `Bearer ${token}`;
const clients = {
  'graphql-ws': () => createSocket({ url: socketEndpoint, webSocketImpl: WebSocket, connectionParams: { authorization },
    retryAttempts: 0 }),
  'graphql-sse': () => createEvents({ url: endpoint, headers: { authorization }, retryAttempts: 0 }),
};

for (const [name, create] of Object.entries(clients)) {
  describe(name, () => {
    test('delivers placed, changed and removed items', async () => {
      const { id, items } = await createGroup(`changes-${name}`, ['a', 'b']);
      const client = create();
      const changes = client.iterate({ query: libraryChanged, variables: { id, after: await cursorOf(id) } });
      const c = await createItem('c', id);
      const placed = await received(changes, 'placed c');
      assert.deepEqual([placed.edge.node.id, placed.edge.role], [c, 'VIEWER']);
      await rename(items[0], 'A');
      const moved = await received(changes, 'placed A');
      assert.deepEqual([moved.edge.node.id, moved.edge.node.version], [items[0], 2]);
      assert.notEqual(moved.edge.cursor, placed.edge.cursor);
      await removeFromLibrary(c, id);
      await received(changes, `removed ${c}`);
      await changes.return();
      await client.dispose();
    });

    test('delivers missed changes first, after a cursor', async () => {
      const { id, items } = await createGroup(`missed-${name}`, ['a', 'b']);
      const after = await cursorOf(id);
      const c = await createItem('c', id);
      await rename(items[1], 'B');
      const client = create();
      const changes = client.iterate({ query: libraryChanged, variables: { id, after } });
      await received(changes, 'placed c');
      const { edge } = await received(changes, 'placed B');
      await changes.return();
      await removeFromLibrary(c, id);
      const resumed = client.iterate({ query: libraryChanged, variables: { id, after: edge.cursor } });
      await received(resumed, `removed ${c}`);
      await resumed.return();
      await client.dispose();
    });

    test('a library that the viewer may not see is refused', async () => {
      const client = create();
      const changes = client.iterate({ query: libraryChanged, variables: { id: 'u:demo:nobody' } });
      const codes = await changes.next().then(({ value }) => value.errors, (errors) => errors);
      assert.deepEqual(codes.map((e) => e.extensions.code), ['NOT_FOUND']);
      await client.dispose();
    });
  });
}
