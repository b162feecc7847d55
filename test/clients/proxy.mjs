// A connection to the gateway that a test can cut and restore.
import { connect, createServer } from 'node:net';
import { endpoint } from './gateway.mjs';

export async function startProxy() {
  const { hostname, port } = new URL(endpoint);
  const sockets = new Set();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const gateway = connect(Number(port), hostname);
    for (const [from, to] of [[client, gateway], [gateway, client]]) {
      sockets.add(from);
      from.on('error', () => {}); // the other side is closed below
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    cut,
    restore() {
      isCut = false;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
