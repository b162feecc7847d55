// Lets node import TypeScript in tests: Vite's compiler strips the types, as it does
// for the pages. `make lint` checks the types.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

// Node runs the hooks in a separate thread, which loads this file too.
if (isMainThread) register(import.meta.url);

export async function load(url, context, next) {
  if (!/\.tsx?$/.test(url)) return next(url, context);
  const { transformWithOxc } = await import('vite');
  const file = fileURLToPath(url);
  const { code } = await transformWithOxc(await readFile(file, 'utf8'), file, { jsx: { runtime: 'automatic' } });
  return { format: 'module', source: code, shortCircuit: true };
}
