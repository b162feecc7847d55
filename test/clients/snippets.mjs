// Copies the code in documentation from tested files. In a page, a comment has the name of the file,
// and that of the region if it is not the whole file. The code follows it:
//
//   <!-- test/clients/examples/order.ts -->
//   <!-- test/clients/consumer/reader.ts connect -->
//
// `node snippets.mjs` writes the code into the pages.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
export const pages = ['docs/clients.md', 'clients/npm/README.md'];

export function read(page) {
  return readFileSync(new URL(page, root), 'utf8');
}

const fence = /(?:<!-- (\S+)(?: (\S+))? -->\n)?```(ts|js)\n([\s\S]*?)```/g;

// codeOf returns the lines of a file, or those between //#region name and //#endregion.
function codeOf(file, name) {
  if (!name) return read(file);
  const [, code] = new RegExp(`//#region ${name}\n([\\s\\S]*?)\n//#endregion`).exec(read(file)) ?? [];
  if (code === undefined) throw new Error(`${file} has no region ${name}`);
  return `${code}\n`;
}

// filled returns the text of a page with the code of its files.
export function filled(page) {
  return read(page).replaceAll(fence, (_, file, region, language) => {
    if (!file) throw new Error(`${page}: code without the name of its file`);
    const names = region ? `${file} ${region}` : file;
    return `<!-- ${names} -->\n\`\`\`${language}\n${codeOf(file, region)}\`\`\``;
  });
}

// blocks returns the blocks of TypeScript of a page, each a whole file, by the name in its first line.
export function blocks(page) {
  const files = {};
  for (const [, , , language, code] of read(page).matchAll(fence)) {
    if (language !== 'ts') continue;
    const [, name] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    if (!name || files[name]) throw new Error(`${page}: a block without a name of its own:\n${code.slice(0, 80)}`);
    files[name] = code;
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages) writeFileSync(new URL(page, root), filled(page));
}
