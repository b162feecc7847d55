// Starts a gateway without --dev on an empty store, which accepts only the
// documents of a manifest.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const binary = fileURLToPath(new URL('../../bin/carrel', import.meta.url));

export async function serveManifest(manifest) {
  const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
  const file = (name, content) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const gateway = spawn(binary, [
    'serve', '--listen', '127.0.0.1:0', '--store', `pebble:${join(folder, 'store')}`,
    '--auth-hs256-file', file('secret', randomBytes(32).toString('hex')), '--documents', file('manifest.json', JSON.stringify(manifest)),
  ], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => gateway.once('exit', resolve));
  const lines = createInterface(gateway.stdout);
  const { value } = await lines[Symbol.asyncIterator]().next();
  lines.on('line', () => {}); // reads on, so that the log does not fill the pipe
  const { addr } = JSON.parse(value ?? '{"addr": ""}');
  return {
    async post(body) {
      const response = await fetch(`http://${addr}/graphql`,
        { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
      return response.json();
    },
    async close() {
      gateway.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
