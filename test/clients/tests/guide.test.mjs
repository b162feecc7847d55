// The code in docs/clients.md and in the README of carrel-client is the code that is tested.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { blocks, filled, pages, read } from '../snippets.mjs';

for (const page of pages) {
  test(`${page} shows the code of its files`, () => {
    assert.equal(read(page), filled(page), 'run node snippets.mjs in test/clients');
  });
}

// compiled does what a reader does: it saves the blocks of the page under their names, and compiles them.
async function compiled(t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
  symlinkSync(modules, join(folder, 'node_modules'));
  for (const [name, code] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true });
    writeFileSync(join(folder, name), code);
  }
  const compilerOptions = {
    strict: true, noUncheckedIndexedAccess: true, noEmit: true, allowImportingTsExtensions: true,
    // what the templates of Vite add
    erasableSyntaxOnly: true, noUnusedLocals: true, noUnusedParameters: true, verbatimModuleSyntax: true,
    target: 'es2022', lib: ['es2023', 'dom', 'dom.iterable'], module: 'esnext', moduleResolution: 'bundler', types: [], skipLibCheck: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  const compiler = join(modules, 'typescript/bin/tsc');
  return promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).then(() => '', ({ stdout }) => stdout);
}

test('every block of docs/clients.md compiles as it stands', async (t) => {
  const files = blocks('docs/clients.md');
  assert.ok(Object.keys(files).length >= 18, Object.keys(files).join(' '));
  assert.equal(await compiled(t, files), '');
});

test('infinite scroll takes each view', async (t) => {
  const files = blocks('docs/clients.md');
  files['scrolled.ts'] = `
    import type { Titles, TitleView } from './fetch/titles.ts';
    import type { LibraryState } from './order.ts';
    import { loadBeforeEnd } from './scroll.ts';
    import type { LibraryView } from './view.ts';
    export function start(end: Element, view: LibraryView, state: LibraryState, byTitle: TitleView, titles: Titles) {
      loadBeforeEnd(end, view, () => state.library?.pageInfo.hasNextPage, () => {});
      loadBeforeEnd(end, byTitle, () => titles.hasNextPage, () => {});
    }`;
  assert.equal(await compiled(t, files), '');
});

test('a block that forgets that a library may be missing does not compile', async (t) => {
  const files = blocks('docs/clients.md');
  const guarded = 'principal && principal.library';
  assert.ok(files['view.ts'].includes(guarded));
  files['view.ts'] = files['view.ts'].replace(guarded, 'principal.library');
  assert.match(await compiled(t, files), /^view\.ts.*error TS/m);
});
