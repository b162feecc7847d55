import { test } from 'node:test';
import assert from 'node:assert/strict';
import { plain, plainNames } from '../src/data/plain.ts';

test('a title keeps its letters, and loses what changes the direction of the text after it', () => {
  assert.equal(plain('invoice \u202egnp.exe\u2066'), 'invoice gnp.exe');
  assert.equal(plain('שלום and مرحبا'), 'שלום and مرحبا');
});

test('names lose it wherever they are in an answer, and nothing else does', () => {
  const name = { displayName: 'Ann\u202e Archer' };
  const answer = { content: { title: 'A\u202eB', author: name, members: { edges: [{ node: { ...name }, role: null }] } }, viewer: null };
  assert.deepEqual(plainNames(answer), { content: { title: 'A\u202eB', author: { displayName: 'Ann Archer' },
    members: { edges: [{ node: { displayName: 'Ann Archer' }, role: null }] } }, viewer: null });
  assert.equal(plainNames(null), null);
});
