import { test } from 'node:test';
import assert from 'node:assert/strict';
import { bytesOf, expiryAfter, hasExpired, joinPastes, nextExpiry, pasteId, rawAddress } from '../src/data/pastes.ts';
import { newPastes, pasteTitle } from '../src/ui/words.ts';

const paste = (id: string, second: number, expiresAt: string | null = null) =>
  ({ id, createdAt: `2026-11-24T10:00:0${second}.000000Z`, expiresAt });
const ids = (pastes: { id: string }[]) => pastes.map(({ id }) => id).join('');

test('pastes are listed by creation, the newest first, each once', () => {
  assert.equal(ids(joinPastes([paste('b', 3), paste('a', 1)], [paste('c', 2), paste('b', 3)])), 'bca');
  assert.equal(ids(joinPastes([paste('a', 1), paste('c', 1)], [paste('b', 1)])), 'cba');
  const [joined] = joinPastes([paste('a', 1)], [paste('a', 1, 'later')]);
  assert.equal(joined?.expiresAt, 'later', 'the version that was read last');
});

test('a paste has expired at the instant of its expiry', () => {
  const at = Date.parse('2026-11-24T10:00:05Z');
  const ends = { expiresAt: '2026-11-24T10:00:05.000000Z' };
  assert.deepEqual([at - 1, at, at + 1].map((now) => hasExpired(ends, now)), [false, true, true]);
  assert.equal(hasExpired({ expiresAt: null }, at), false);
  assert.equal(nextExpiry([{ expiresAt: null }], at), null);
  assert.equal(nextExpiry([ends], at), null, 'one that has expired is not waited for');
  assert.equal(nextExpiry([{ expiresAt: '2026-11-24T10:00:09Z' }, ends, { expiresAt: null }], at - 1), at);
});

test('a lifetime becomes an instant', () => {
  const now = Date.parse('2026-11-24T10:00:00Z');
  assert.equal(expiryAfter('10m', now), '2026-11-24T10:10:00.000Z');
  assert.equal(expiryAfter('30d', now), '2026-12-24T10:00:00.000Z');
  assert.equal(expiryAfter('never', now), null);
});

test('only a well-formed id is one of a paste, and its digits are in the address of the plain text', () => {
  const id = `p:${'0123456789abcdef'.repeat(2)}`;
  assert.equal(pasteId.test(id), true);
  for (const wrong of [id.slice(0, -1), `${id}0`, id.toUpperCase(), id.slice(2), `c${id.slice(1)}`]) assert.equal(pasteId.test(wrong),
    false, wrong);
  assert.equal(rawAddress(id), `/p/${id.slice(2)}/raw`);
});

test('the size of a text is that of its UTF-8', () => {
  assert.equal(bytesOf('aé€😀'), 10);
});

test('one new paste is in the singular, and a paste without a title is untitled', () => {
  assert.deepEqual([newPastes(1), newPastes(2)], ['1 new paste', '2 new pastes']);
  assert.deepEqual([pasteTitle(null), pasteTitle('  '), pasteTitle(' x ')], ['Untitled paste', 'Untitled paste', 'x']);
});
