import test from 'node:test';
import assert from 'node:assert/strict';
import { filterInput, filterParams, isNarrow, longestText, noFilter, readFilter, toggle, type Filter } from '../src/data/filter.ts';

const read = (query: string) => readFilter(new URLSearchParams(query));

test('an address without a filter has none', () => {
  assert.deepEqual(read(''), noFilter);
  assert.deepEqual(filterParams(noFilter), { q: '', kind: '', visible: '', role: '', by: null });
});

test('the filter in an address is validated', () => {
  assert.deepEqual(read('kind=note,book&visible=SECRET&role=viewer,manager,viewer&by=c:demo:x'),
    { ...noFilter, kinds: ['NOTE'], roles: ['MANAGER', 'VIEWER'] });
  assert.equal(read(`q=${'x'.repeat(500)}`).text.length, longestText);
  assert.deepEqual(['q=%20a%20', 'q=%20'].map((query) => read(query).text), ['a', '']);
  assert.equal(read('by=U:Demo:Ann').createdBy, 'u:demo:ann');
});

test('every condition narrows a library', () => {
  const narrow: Partial<Filter>[] = [{ text: 'x' }, { kinds: ['LINK'] }, { visibilities: ['PUBLIC'] }, { roles: ['EDITOR'] },
    { createdBy: 'u:demo:ann' }];
  for (const change of narrow) assert.equal(isNarrow({ ...noFilter, ...change }), true, JSON.stringify(change));
  assert.equal(isNarrow({ ...noFilter, text: '  ' }), false);
});

test('the gateway gets no empty condition', () => {
  assert.deepEqual(Object.values(filterInput(noFilter)).filter((value) => value !== undefined), []);
  assert.deepEqual(filterInput({ ...noFilter, text: ' a b ', kinds: ['NOTE'] }).text, 'a b');
  assert.deepEqual(filterInput({ ...noFilter, kinds: ['NOTE'] }).kinds, ['NOTE']);
});

test('a value is added to a list, and removed again', () => {
  assert.deepEqual(toggle(['a'], 'b'), ['a', 'b']);
  assert.deepEqual(toggle(['a', 'b'], 'a'), ['b']);
});
