import { test } from 'node:test';
import assert from 'node:assert/strict';
import { instantOf, localOf } from '../src/data/expiry.ts';

test('a field shows an instant in the time zone of the reader', () => {
  assert.equal(localOf(new Date(2027, 0, 5, 7, 9, 59).toISOString()), '2027-01-05T07:09');
  assert.equal(localOf('2027-06-05T07:09:59.123456Z'), localOf('2027-06-05T07:09:00Z'));
  assert.equal(localOf(null), '');
});

test('what a field shows is an instant, or none', () => {
  assert.equal(instantOf('2027-01-05T07:09'), new Date(2027, 0, 5, 7, 9).toISOString());
  assert.equal(localOf(instantOf('2027-12-31T23:59')), '2027-12-31T23:59');
  for (const local of ['', '2027', '2027-01-05', '2027-13-05T07:09', 'tomorrow']) assert.equal(instantOf(local), null, local);
});
