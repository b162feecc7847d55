import { test } from 'node:test';
import assert from 'node:assert/strict';
import { compare, compareTexts, fold, isChange, missingParts } from '../src/data/diff.ts';

const pairs = (before: string, after: string) => compare(before, after).map((row) => [row.before, row.after]);

test('lines that both texts contain are side by side', () => {
  assert.deepEqual(pairs('a\nb\nc', 'a\nx\nc'), [['a', 'a'], ['b', 'x'], ['c', 'c']]);
  assert.deepEqual(pairs('a\nc', 'a\nb\nc'), [['a', 'a'], [null, 'b'], ['c', 'c']]);
  assert.deepEqual(pairs('a\nb\nc', 'b\nc\nd'), [['a', null], ['b', 'b'], ['c', 'c'], [null, 'd']]);
  assert.deepEqual(pairs('a\na', 'a'), [['a', 'a'], ['a', null]]);
  assert.deepEqual(pairs('a', 'a\na'), [['a', 'a'], [null, 'a']]);
  assert.deepEqual(pairs('m\nn\nk\nq', 'y\nw\nn\nv'), [['m', 'y'], [null, 'w'], ['n', 'n'], ['k', 'v'], ['q', null]]);
  assert.deepEqual(pairs('', ''), [['', '']]);
  assert.deepEqual(pairs('a\r\nb', 'a\nb'), [['a', 'a'], ['b', 'b']]);
});

test('both sides of a comparison are the texts', () => {
  const words = ['a', 'b', 'c', ''];
  const text = (seed: number) => Array.from({ length: 7 }, (_, i) => words[Math.floor(seed / 4 ** i) % 4]).join('\n');
  for (let seed = 1; seed < 16_000; seed += 37) {
    const [before, after] = [text(seed), text(16_000 - seed)];
    const rows = compare(before, after);
    assert.equal(rows.flatMap((row) => row.before ?? []).join('\n'), before);
    assert.equal(rows.flatMap((row) => row.after ?? []).join('\n'), after);
  }
});

test('texts that are too large for a table are compared as a block', () => {
  const lines = (name: string) => Array.from({ length: 2500 }, (_, i) => `${name}${i}`).join('\n');
  const rows = compare(`same\n${lines('a')}\nend`, `same\n${lines('b')}\nend`);
  assert.equal(rows.length, 2502);
  assert.deepEqual(rows.filter((row) => !isChange(row)).map(({ before }) => before), ['same', 'end']);
});

test('unchanged lines far from a change are folded', () => {
  const rows = compare('1\n2\n3\n4\n5\n6\n7', '1\n2\n3\n4\n5\n6\nx');
  assert.deepEqual(fold(rows), [{ folded: 4 }, { before: '5', after: '5' }, { before: '6', after: '6' }, { before: '7', after: 'x' }]);
  assert.deepEqual(fold(compare('x\n2\n3\n4\n5', '1\n2\n3\n4\n5')),
    [{ before: 'x', after: '1' }, { before: '2', after: '2' }, { before: '3', after: '3' }, { folded: 2 }]);
  assert.deepEqual(fold(compare('a\nb', 'a\nb')), [{ folded: 2 }]);
});

test('a title is compared only if it has changed', () => {
  const text = (title: string, body: string) => ({ title, body });
  assert.deepEqual(fold(compareTexts(text('Stew', 'one'), text('Stew', 'ONE'))), [{ before: 'one', after: 'ONE' }]);
  assert.deepEqual(compareTexts(text('Stew', 'one'), text('Soup', 'one')),
    [{ before: 'Stew', after: 'Soup' }, { before: '', after: '' }, { before: 'one', after: 'one' }]);
});

test('a merged text that lacks what somebody else has written is noticed', () => {
  const base = { title: 'Stew', body: 'one\ntwo\nthree' };
  const theirs = { title: 'Stew', body: 'one\ntwo\nTHREE\n\nfour' };
  const missing = (body: string, title = 'Stew') => missingParts(base, theirs, { title, body });
  assert.deepEqual(missing('one\nTWO\nTHREE\nfour'), []);
  assert.deepEqual(missing('one\nTWO\n- THREE, four'), []);
  assert.deepEqual(missing('one\nTWO\nthree'), ['THREE', 'four']);
  assert.deepEqual(missing('one\nTWO\nfour'), ['THREE']);
  // What they have removed, and what was there before, is the author's to decide.
  assert.deepEqual(missing('THREE\nfour'), []);
  assert.deepEqual(missingParts(base, { ...theirs, title: 'Soup' }, { title: 'Stew', body: theirs.body }), ['Soup']);
  assert.deepEqual(missingParts(base, { ...theirs, title: 'Soup' }, { title: 'Soup', body: theirs.body }), []);
  assert.deepEqual(missing(theirs.body, 'Mine'), []);
  assert.deepEqual(missingParts(null, { title: 'A', body: 'b' }, { title: 'A', body: 'c' }), ['b']);
});
