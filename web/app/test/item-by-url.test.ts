import { test } from 'node:test';
import assert from 'node:assert/strict';
import { isBadInput } from '../src/data/faults.ts';
import { faultsOfLookup } from '../src/data/item-by-url.ts';

const error = (message: string, path: string[], code = 'BAD_USER_INPUT') => ({ message, path, extensions: { code } });
const badUrl = error('a URL begins with http:// or https://', ['canonicalUrl']);
const sameFromContent = error('a URL begins with http:// or https://', ['contentByUrl']);
const noTenant = error('name the tenant: you are not signed in', ['contentByUrl']);

test('a malformed URL is reported at the URL, whichever answer comes first', () => {
  const wanted = { url: ['A URL begins with http:// or https://.'] };
  assert.deepEqual(faultsOfLookup({ errors: [badUrl, sameFromContent] }, ''), wanted);
  assert.deepEqual(faultsOfLookup({ errors: [sameFromContent, badUrl] }, 'demo'), wanted);
});

test('an error of contentByUrl alone is about the tenant', () => {
  assert.deepEqual(faultsOfLookup({ errors: [noTenant] }, ''), { tenant: ['Enter an organisation, because you are not signed in.'] });
  assert.match(faultsOfLookup({ errors: [noTenant] }, 'Not one')?.tenant?.[0] ?? '', /^Short names have/);
});

test('other errors are about neither field', () => {
  for (const other of [undefined, null, new TypeError('Failed to fetch'), { errors: [] },
    { errors: [error('down', ['canonicalUrl'], 'UNAVAILABLE')] }, { errors: [{ message: 'm' }] }]) {
    assert.equal(faultsOfLookup(other, ''), null);
    assert.equal(isBadInput(other), false);
  }
  assert.equal(isBadInput({ errors: [noTenant] }), true);
});
