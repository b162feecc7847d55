import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOfUrl } from '../src/data/routes.ts';

test('a URL of this client names its place, and any other none', () => {
  const here = 'https://carrel.example';
  assert.deepEqual(placeOfUrl(`${here}/app/item/c:demo:soup/1?x#y`, here), { name: 'item', id: 'c:demo:soup/1' });
  assert.deepEqual(placeOfUrl(`${here}/app/pastes`, here), { name: 'pastes' });
  for (const url of [
    'https://other.example/app/item/c:demo:soup/1',
    'http://carrel.example/app/item/c:demo:soup/1',
    'https://carrel.example:8443/app/item/c:demo:soup/1',
    `${here}/soup`,
    `${here}/app/nowhere`,
    `${here}/app/open?url=${encodeURIComponent(`${here}/app/pastes`)}`,
    'no URL',
    '',
  ])
    assert.equal(placeOfUrl(url, here), null, url);
});
