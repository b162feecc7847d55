// Copies the code in documentation from tested files. In a page, a comment has the names of the
// file and the region, and the code follows it:
//
//   <!-- test/clients/examples/order.ts place -->
//
// `node snippets.mjs` writes the code into the pages.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
export const pages = ['docs/clients.md', 'clients/npm/README.md'];

export function read(page) {
  return readFileSync(new URL(page, root), 'utf8');
}

const fence = /(?:<!-- (\S+) (\S+) -->\n)?```(ts|js)\n([\s\S]*?)```/g;

// regionOf returns the lines of a file between //#region name and //#endregion.
function regionOf(file, name) {
  const [, code] = new RegExp(`//#region ${name}\n([\\s\\S]*?)\n//#endregion`).exec(read(file)) ?? [];
  if (code === undefined) throw new Error(`${file} has no region ${name}`);
  return `${code}\n`;
}

// filled returns the text of a page with the code of its files.
export function filled(page) {
  return read(page).replaceAll(fence, (_, file, region, language) => {
    if (!file) throw new Error(`${page}: code without the name of its file`);
    return `<!-- ${file} ${region} -->\n\`\`\`${language}\n${regionOf(file, region)}\`\`\``;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages) writeFileSync(new URL(page, root), filled(page));
}
