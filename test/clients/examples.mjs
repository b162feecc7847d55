// Compiles the examples of docs/clients.md, and returns their exports.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import compiler from 'relay-compiler';

const run = promisify(execFile);
const folder = (name) => fileURLToPath(new URL(name, import.meta.url));
const built = folder('examples/build');

async function command(program, args, cwd) {
  await run(program, args, { cwd }).catch(({ stdout, stderr }) => {
    throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`);
  });
}

export async function buildExamples() {
  rmSync(built, { recursive: true, force: true });
  await command(process.execPath, [folder('node_modules/typescript/bin/tsc'), '-p', 'examples'], folder('.'));
  await compileRelay();
  const load = (name) => import(new URL(`examples/build/${name}.js`, import.meta.url));
  return {
    order: await load('order'),
    resume: await load('resume'),
    retry: await load('retry'),
    scroll: await load('scroll'),
    view: await load('view'),
    signIn: await load('sign-in'),
    apollo: { ...(await load('apollo/client')), ...(await load('apollo/library')) },
    urql: { ...(await load('urql/client')), ...(await load('urql/library')) },
    relay: { ...(await load('relay/environment')), ...(await load('relay/library')), ...(await load('relay/operations')) },
    fetch: { ...(await load('fetch/gateway')), ...(await load('fetch/library')), ...(await load('fetch/search')),
      ...(await load('fetch/share')), ...(await load('fetch/titles')) },
  };
}

// In an application, babel-plugin-relay replaces the text of documents by the compiled documents.
async function compileRelay() {
  mkdirSync(`${built}/relay/compiled`);
  writeFileSync(`${built}/relay/compiled/package.json`, '{"type": "commonjs"}');
  const config = { src: '.', schema: '../../../../../clients/schema.graphql', artifactDirectory: 'compiled',
    language: 'javascript', eagerEsModules: false };
  const file = `${built}/relay/relay.config.json`;
  writeFileSync(file, JSON.stringify(config));
  await command(compiler, ['relay.config.json'], `${built}/relay`);
  const module = `${built}/relay/operations.js`;
  const imports = [];
  const text = readFileSync(module, 'utf8').replaceAll(/graphql `\s*\w+ (\w+)[^`]*`|graphql`\s*\w+ (\w+)[^`]*`/g, (_, one, other = one) => {
    imports.push(`import ${other} from './compiled/${other}.graphql.js';\n`);
    return other;
  });
  writeFileSync(module, imports.join('') + text);
}
