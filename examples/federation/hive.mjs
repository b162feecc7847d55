// Hive Gateway in front of both subgraphs, run by its own command.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

// freePort returns a port that nobody listens on, because the command does not print the port that it
// was given.
async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// taken is in the log of the command if another process has taken the port
// meanwhile.
const taken = 'EADDRINUSE';

// serveHive serves the supergraph in a file until it is closed.
export async function serveHive({ supergraph, port = 0 }) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await serveAt(port || (await freePort()), supergraph);
    } catch (fault) {
      if (port || tries === 3 || !fault.message.includes(taken)) throw fault;
    }
  }
}

async function serveAt(at, supergraph) {
  const gateway = spawn(
    process.execPath,
    ['node_modules/@graphql-hive/gateway/dist/bin.js', 'supergraph', supergraph, '--config-path', 'hive.config.mjs',
      '--host', '127.0.0.1', '--port', String(at)],
    { cwd: here, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let log = '';
  const ended = new Promise((resolve) => gateway.once('exit', resolve));
  const listening = new Promise((resolve, reject) => {
    for (const output of [gateway.stdout, gateway.stderr]) {
      output.on('data', (text) => {
        log += text;
        if (log.includes(`http://127.0.0.1:${at}`)) resolve();
      });
    }
    ended.then((code) => reject(new Error(`hive-gateway ended with ${code}:\n${log}`)));
  });
  await listening;
  return {
    url: `http://127.0.0.1:${at}/graphql`,
    async close() {
      gateway.kill();
      await ended;
    },
  };
}
