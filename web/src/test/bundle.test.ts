import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';

test('the built pages have no DOMPurify but the one of package.json', () => {
  const wanted = JSON.parse(readFileSync('package.json', 'utf8')).dependencies.dompurify;
  const scripts = readdirSync('dist/assets').filter((name) => name.endsWith('.js.gz'));
  const versions = scripts.flatMap((name) =>
    [...gunzipSync(readFileSync(`dist/assets/${name}`)).toString()
      .matchAll(/\.version=[`'"](\d+\.\d+\.\d+)[`'"],\w+\.removed=\[\]/g)].map((found) => found[1]),
  );
  assert.deepEqual(versions, [wanted]);
});
