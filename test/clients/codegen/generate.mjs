// Runs GraphQL Code Generator against the running gateway, and the TypeScript
// compiler on the generated code and on the application that uses it.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endpoint } from '../gateway.mjs';

const run = promisify(execFile);
const modules = fileURLToPath(new URL('../node_modules', import.meta.url));

//#region codegen
const codegen = {
  schema: endpoint,
  documents: ['app.ts'],
  generates: {
    'made/': {
      preset: 'client',
      presetConfig: { persistedDocuments: { hashAlgorithm: 'sha256' } },
      config: {
        documentMode: 'string',
        strictScalars: true,
        scalars: {
          Cursor: 'string',
          DateTime: 'string',
          FieldSet: 'string',
          link__Import: 'unknown',
          _Any: 'unknown',
        },
      },
    },
  },
};
//#endregion

const typescript = {
  compilerOptions: {
    strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true, target: 'es2022', lib: ['es2022'], types: [],
    module: 'commonjs', moduleResolution: 'node10', outDir: 'built',
  },
};

async function command(name, args, cwd) {
  await run(process.execPath, [join(modules, name), ...args], { cwd }).catch((fault) => {
    throw new Error(`${name}:\n${fault.stdout}${fault.stderr}`);
  });
}

export async function generate() {
  const folder = mkdtempSync(join(tmpdir(), 'codegen-'));
  symlinkSync(modules, join(folder, 'node_modules'));
  cpSync(new URL('app.ts', import.meta.url), join(folder, 'app.ts'));
  writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');
  writeFileSync(join(folder, 'codegen.json'), JSON.stringify(codegen));
  await command('@graphql-codegen/cli/cjs/bin.js', ['--config', 'codegen.json'], folder);
  return {
    folder,
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    // build compiles files; it fails with what the compiler finds wrong.
    async build(files) {
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...typescript, files }));
      await command('typescript/bin/tsc', ['--project', 'tsconfig.json'], folder);
    },
    require: createRequire(join(folder, 'index.js')),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
