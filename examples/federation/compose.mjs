// Composition: the schemas of the subgraphs become one. Each gateway has its own
// composer, and all three must accept the same subgraphs.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { composeServices as composeForApollo } from '@apollo/composition';
import { composeServices as composeForHive, compositionHasErrors } from '@theguild/federation-composition';
import { parse } from 'graphql';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));

// describe queries a subgraph for its schema, as routers do. Carrel answers this
// even if introspection is off.
export async function describe(name, url) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ _service { sdl } }' }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(`${name}: ${errors[0].message}`);
  return { name, url, sdl: data._service.sdl, typeDefs: parse(data._service.sdl) };
}

function failed(composer, errors) {
  return new Error(`${composer} refuses the subgraphs:\n${errors.map((e) => `  ${e.message}`).join('\n')}`);
}

// forApollo returns the supergraph for Apollo Gateway and Apollo Router.
export function forApollo(subgraphs) {
  const { supergraphSdl, errors } = composeForApollo(subgraphs);
  if (errors?.length) throw failed('@apollo/composition', errors);
  return supergraphSdl;
}

// forHive returns the supergraph for Hive Gateway.
export function forHive(subgraphs) {
  const result = composeForHive(subgraphs);
  if (compositionHasErrors(result)) throw failed('@theguild/federation-composition', result.errors);
  return result.supergraphSdl;
}

// forCosmo writes the execution configuration of Cosmo Router into folder, with
// the command line tool wgc.
export async function forCosmo(subgraphs, folder) {
  const services = subgraphs.map(({ name, url, sdl }) => {
    const file = join(folder, `${name}.graphql`);
    writeFileSync(file, sdl);
    return `  - name: ${name}\n    routing_url: ${url}\n    schema:\n      file: ${file}\n`;
  });
  const input = join(folder, 'cosmo-subgraphs.yaml');
  const output = join(folder, 'cosmo-router.json');
  writeFileSync(input, `version: 1\nsubgraphs:\n${services.join('')}`);
  const wgc = join(here, 'node_modules', '.bin', 'wgc');
  try {
    await run(wgc, ['router', 'compose', '--input', input, '--out', output], { env: { ...process.env, COSMO_TELEMETRY_DISABLED: 'true' } });
  } catch (fault) {
    throw new Error(`wgc refuses the subgraphs:\n${fault.stdout}${fault.stderr}`);
  }
  return JSON.parse(readFileSync(output, 'utf8'));
}

// compose writes the input of each gateway into folder.
export async function compose({ carrel, bookmarks, folder }) {
  mkdirSync(folder, { recursive: true });
  const subgraphs = [await describe('carrel', carrel), await describe('bookmarks', bookmarks)];
  const files = { apollo: join(folder, 'supergraph-apollo.graphql'), hive: join(folder, 'supergraph-hive.graphql'),
    cosmo: join(folder, 'cosmo-router.json') };
  writeFileSync(files.apollo, forApollo(subgraphs));
  writeFileSync(files.hive, forHive(subgraphs));
  await forCosmo(subgraphs, folder);
  return files;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const carrel = process.env.CARREL_URL ?? 'http://127.0.0.1:8080/graphql';
  const bookmarks = process.env.BOOKMARKS_URL ?? 'http://127.0.0.1:4001/graphql';
  for (const [gateway, file] of Object.entries(await compose({ carrel, bookmarks, folder: join(here, 'build') }))) {
    console.log(`${gateway}: ${file}`);
  }
}
