// Writes the SBOM of a binary: that of its Go modules, with the npm packages of the
// web pages that are embedded in it.
//
//   node .ci/sbom.mjs GO.json NPM.json
//
// What differs from build to build (serial number, time) and where a package was
// downloaded from are left out; versions and hashes are what counts.
import { readFileSync } from 'node:fs';

const [go, npm] = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));

const web = npm.metadata.component;
const packages = npm.components.map(({ externalReferences, properties, ...component }) => component);
packages.sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));

delete go.serialNumber;
delete go.metadata.timestamp;
// The hashes of the tool's own binary depend on where it was compiled.
for (const tool of go.metadata.tools) delete tool.hashes;
go.components = [
  ...(go.components ?? []),
  { type: 'library', name: 'carrel-web', version: go.metadata.component.version, 'bom-ref': web['bom-ref'], description: web.description },
  ...packages,
];
const root = go.dependencies.find((d) => d.ref === go.metadata.component['bom-ref']);
root.dependsOn = [...(root.dependsOn ?? []), web['bom-ref']];
go.dependencies.push(...npm.dependencies.sort((a, b) => (a.ref < b.ref ? -1 : 1)));
process.stdout.write(`${JSON.stringify(go, null, 2)}\n`);
