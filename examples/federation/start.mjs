// Starts the second subgraph, composes it with a running Carrel, and starts a
// gateway in front: GATEWAY=apollo, the default, or GATEWAY=hive. It sends a query
// across both subgraphs, and then serves until Ctrl-C.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveApollo } from './apollo.mjs';
import { serveBookmarks } from './bookmarks.mjs';
import { compose } from './compose.mjs';
import { serveHive } from './hive.mjs';

const { BASE_URL = 'http://127.0.0.1:8080', TOKEN, GATEWAY = 'apollo', PORT = '4000', BOOKMARKS_PORT = '4001' } = process.env;
const gateways = {
  apollo: (files) => serveApollo({ supergraphSdl: readFileSync(files.apollo, 'utf8'), port: Number(PORT) }),
  hive: (files) => serveHive({ supergraph: files.hive, port: Number(PORT) }),
};
if (!gateways[GATEWAY]) {
  console.error(`Unknown GATEWAY ${GATEWAY}: use ${Object.keys(gateways).join(' or ')}. For Cosmo Router see README.md.`);
  process.exit(2);
}
if (!TOKEN) {
  console.error('TOKEN is missing: run make federation, or set it to a token of one of your users.');
  process.exit(2);
}

function print(what, text) {
  console.log(`${what.padEnd(16)}${text}`);
}

async function show(url, who, token, query, variables) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
  });
  const answer = await response.json();
  console.log(`\n${who}: ${query}\n${JSON.stringify(answer, null, 2)}`);
  return answer;
}

const folder = join(fileURLToPath(new URL('.', import.meta.url)), 'build');
mkdirSync(folder, { recursive: true });
const carrel = `${BASE_URL}/graphql`;
print('Carrel', carrel);
const bookmarks = await serveBookmarks({ carrel, file: join(folder, 'bookmarks.jsonl'), port: Number(BOOKMARKS_PORT) });
print('bookmarks', bookmarks.url);
const files = await compose({ carrel, bookmarks: bookmarks.url, folder });
for (const [name, file] of Object.entries(files)) print(`for ${name}`, file);
const gateway = await gateways[GATEWAY](files);
print(`${GATEWAY} gateway`, gateway.url);

const create = 'mutation { createContent(input: {kind: NOTE, title: "For my eyes only", visibility: PRIVATE}) { content { id } } }';
const { data } = await show(gateway.url, 'The viewer', TOKEN, create);
const { id } = data.createContent.content;
await show(gateway.url, 'The viewer', TOKEN,
  'mutation ($id: ID!) { bookmark(contentId: $id, note: "read it again") { note content { title viewerRole } } }', { id });
const both = 'query ($id: ID!) { content(id: $id) { title bookmark { note } } bookmarks { note content { title createdBy { displayName } } } }';
await show(gateway.url, 'The viewer', TOKEN, both, { id });
await show(gateway.url, 'An anonymous viewer', '', both, { id });

console.log(`\nTo query it yourself:\n  curl -s ${gateway.url} -H 'Content-Type: application/json' -H 'Authorization: Bearer ${TOKEN}' \\
    --data '{"query": "{ viewer { displayName bookmarks { note content { title } } } }"}'\nCtrl-C ends it.`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await Promise.all([gateway.close(), bookmarks.close()]);
    process.exit(0);
  });
}
