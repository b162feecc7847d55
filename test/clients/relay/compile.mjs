// Runs relay-compiler on app.js, with the unchanged schema for clients, and
// returns the generated code.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import compiler from 'relay-compiler';

const run = promisify(execFile);

export async function compile() {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  for (const name of ['src', 'made']) mkdirSync(join(folder, name));
  cpSync(new URL('app.js', import.meta.url), join(folder, 'src', 'app.js'));
  cpSync(new URL('../../../clients/schema.graphql', import.meta.url), join(folder, 'schema.graphql'));
  writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');
  writeFileSync(join(folder, 'persisted.json'), '{}');
  const config = {
    src: 'src',
    schema: 'schema.graphql',
    artifactDirectory: 'made',
    language: 'javascript',
    eagerEsModules: false, // Node reads the output without a bundler
    persistConfig: { file: 'persisted.json', algorithm: 'SHA256' },
  };
  writeFileSync(join(folder, 'relay.config.json'), JSON.stringify(config));
  const output = await run(compiler, ['relay.config.json'], { cwd: folder }).catch((fault) => {
    throw new Error(`relay-compiler:\n${fault.stdout}${fault.stderr}`);
  });
  const require = createRequire(join(folder, 'made', 'index.js'));
  const artifact = (name) => require(`./${name}.graphql.js`);
  return {
    output: output.stdout + output.stderr,
    artifact,
    params: { appQuery: artifact('appQuery').params },
    persisted: JSON.parse(readFileSync(join(folder, 'persisted.json'), 'utf8')),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
