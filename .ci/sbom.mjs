// Writes the SBOM of a binary: that of its Go modules, with the npm packages of the web
// pages that are embedded in it.
//
//   node .ci/sbom.mjs GO.json PACKAGE-LOCK.json
//
// The packages are read from the lock file: `npm sbom` of npm 11 leaves out some of them.
import { readFileSync } from 'node:fs';

const [go, lock] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));

const pages = { type: 'library', name: lock.name, version: lock.version, 'bom-ref': `${lock.name}@${lock.version}` };

// One for each version of a package, however often it is installed.
const packages = new Map();
for (const [folder, { version, integrity, license, dev, devOptional }] of Object.entries(lock.packages)) {
  // Packages of this project have no integrity.
  if (!integrity || dev || devOptional) continue;
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const [algorithm, base64] = integrity.split('-');
  const ref = `${name}@${version}`;
  packages.set(ref, {
    type: 'library',
    name,
    version,
    'bom-ref': ref,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content: Buffer.from(base64, 'base64').toString('hex') }],
    ...(license && { licenses: [{ expression: license }] }),
  });
}
const refs = [...packages.keys()].sort();

// The hashes of the tool's own binary depend on where it was compiled.
for (const tool of go.metadata.tools) delete tool.hashes;
go.components = [...(go.components ?? []), pages, ...refs.map((ref) => packages.get(ref))];
const root = go.dependencies.find((d) => d.ref === go.metadata.component['bom-ref']);
root.dependsOn = [...(root.dependsOn ?? []), pages['bom-ref']];
go.dependencies.push({ ref: pages['bom-ref'], dependsOn: refs });
process.stdout.write(`${JSON.stringify(go, null, 2)}\n`);
