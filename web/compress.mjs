// Compresses the built scripts, styles and fonts: the gateway embeds and serves them as NAME.gz. Pages stay as
// they are, because their placeholders are replaced in each answer.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

for (const folder of ['dist/assets', 'dist/app/assets']) {
  for (const name of readdirSync(folder)) {
    const file = `${folder}/${name}`;
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
}
