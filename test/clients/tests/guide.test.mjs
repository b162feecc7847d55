// The code in docs/clients.md and in the README of carrel-client is the code that is tested.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filled, pages, read } from '../snippets.mjs';

for (const page of pages) {
  test(`${page} shows the code of its files`, () => {
    assert.equal(read(page), filled(page), 'run node snippets.mjs in test/clients');
  });
}
