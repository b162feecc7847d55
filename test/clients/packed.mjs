// Packs carrel-client, which is built, installs the tarball into an empty folder without a network, and
// compiles the consumer against it.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const source = fileURLToPath(new URL('../../clients/npm', import.meta.url));
const modules = fileURLToPath(new URL('node_modules', import.meta.url));
const compiler = join(modules, 'typescript/bin/tsc');

const typescript = {
  compilerOptions: {
    strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, target: 'es2022', lib: ['es2022', 'dom'], types: [],
    module: 'nodenext', moduleResolution: 'nodenext', verbatimModuleSyntax: true, outDir: 'built',
  },
};

async function npm(args, cwd) {
  const { stdout } = await run('npm', [...args, '--silent'], { cwd });
  return stdout;
}

export async function installPacked() {
  const folder = mkdtempSync(join(tmpdir(), 'packed-'));
  const [{ filename, files }] = JSON.parse(await npm(['pack', '--json', '--pack-destination', folder], source));
  writeFileSync(join(folder, 'package.json'), '{"name": "consumer", "private": true, "type": "module"}');
  await npm(['install', '--offline', '--no-package-lock', `./${filename}`], folder);
  // The packages that an application with Apollo Client also has.
  mkdirSync(join(folder, 'node_modules/@graphql-typed-document-node'));
  for (const name of ['graphql', '@graphql-typed-document-node/core']) symlinkSync(join(modules, name), join(folder, 'node_modules', name));
  cpSync(new URL('consumer', import.meta.url), folder, { recursive: true });
  return {
    files: files.map(({ path }) => path),
    // build compiles files of the consumer; it fails with what the compiler finds wrong.
    async build(...names) {
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...typescript, files: names }));
      await run(process.execPath, [compiler, '--project', 'tsconfig.json'], { cwd: folder }).catch(({ stdout, stderr }) => {
        throw new Error(`tsc:\n${stdout}${stderr}`);
      });
    },
    write: (name, text) => writeFileSync(join(folder, name), text),
    load: (name) => import(pathToFileURL(join(folder, name))),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
