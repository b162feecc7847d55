import { test } from 'node:test';
import assert from 'node:assert/strict';
import { explain, faultsByField, faultsByIndex, sentence } from '../src/data/faults.ts';
import { noFilter } from '../src/data/filter.ts';
import { addressOf, readAddress, samePage, type LibraryPlace, type Place } from '../src/data/routes.ts';
import type { GroupRole } from '../src/generated/operations.ts';
import { administers, claimsOf, mayManageGroup, mayRemoveFrom } from '../src/data/tokens.ts';

const jwt = (claims: unknown) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

test('the address of a place leads back to it', () => {
  const places: Place[] = [
    { name: 'home' },
    { name: 'groups' },
    { name: 'find', q: 'ann & co' },
    { name: 'open', url: '', tenant: '' },
    { name: 'open', url: 'https://e.com/a?x=1&y#z', tenant: 'demo' },
    { name: 'newest', tenant: '' },
    { name: 'newest', tenant: 'demo' },
    { name: 'pastes' },
    { name: 'paste', id: 'p:0123456789abcdef0123456789abcdef' },
    { name: 'item', id: 'c:demo:encoding-json' },
    { name: 'item', id: 'c:demo:ann-laptop/17' },
    { name: 'item', id: 'c:demo:a/../b' },
    { name: 'item', id: 'c:demo:a//b/' },
    { name: 'members', id: 'g:demo:library-team' },
    { name: 'library', id: 'u:demo:ann@example.org', order: 'newest', shared: false, at: null, item: null, filter: noFilter },
    { name: 'library', id: 'g:demo:x', order: 'oldest', shared: true, at: 'AQ_-1', item: 'c:demo:host/1', filter: noFilter },
    {
      name: 'library',
      id: 'g:demo:x',
      order: 'z-a',
      shared: false,
      at: null,
      item: null,
      filter: { text: 'http & more', kinds: ['LINK', 'NOTE'], visibilities: ['PRIVATE'], roles: ['MANAGER', 'VIEWER'],
        createdBy: 'u:demo:ann@example.org' },
    },
  ];
  for (const place of places) {
    const [path, query] = addressOf(place).split('?');
    assert.deepEqual(readAddress(new URL(path, 'http://h').pathname, query), place);
  }
});

test('addresses can be read by people', () => {
  assert.equal(addressOf({ name: 'library', id: 'g:demo:x', item: 'c:demo:host/1' }), '/app/library/g:demo:x?item=c:demo:host/1');
  assert.equal(addressOf({ name: 'item', id: 'c:demo:host/1' }), '/app/item/c:demo:host/1');
});

test('an address without an order has the one that is kept for its library, unless it has a position', () => {
  const kept = (id: string) => (id === 'g:demo:x' ? 'a-z' : null);
  const orderOf = (path: string, query: string) => (readAddress(path, query, kept) as LibraryPlace).order;
  const cases = [['g:demo:x', '', 'a-z'], ['G:demo:X', 'item=c:demo:y', 'a-z'], ['g:demo:x', 'at=AQ', 'newest'],
    ['g:demo:x', 'order=oldest', 'oldest'], ['g:demo:x', 'order=newest', 'newest'], ['g:demo:x', 'order=toString', 'a-z'],
    ['g:demo:y', '', 'newest']] as const;
  for (const [id, query, order] of cases) assert.equal(orderOf(`/app/library/${id}`, query), order, `${id} ${query}`);
  const place = readAddress('/app/library/g:demo:x', 'order=newest', kept);
  assert.equal(addressOf(place, 'a-z'), '/app/library/g:demo:x?order=newest');
  assert.equal(addressOf(place), '/app/library/g:demo:x');
  assert.equal(addressOf({ name: 'library', id: 'g:demo:x' }, 'a-z'), '/app/library/g:demo:x');
});

test('other addresses are unknown', () => {
  for (const path of ['/', '/appendix', '/app/nowhere', '/app/library/c:demo:x', '/app/library/', '/app/item/u:demo:x',
    '/app/members/u:demo:x', '/app/item/%E0%A4%A', '/app/groups/x', '/app/open/x', '/app/newest/x', '/app/pastes/x',
      '/app/pastes/p:0123', '/app//x']) {
    assert.equal(readAddress(path).name, 'unknown', path);
  }
  assert.equal(readAddress('/app/').name, 'home');
  assert.equal(readAddress('/app/library/U:Demo:ANN').id, 'u:demo:ann');
  assert.equal(readAddress('/app/library/u:demo:ann', 'item=javascript:alert(1)').item, null);
});

test('another item of the same library is the same page', () => {
  assert.equal(samePage({ name: 'library', id: 'a', item: 'x' }, { name: 'library', id: 'a', item: null }), true);
  assert.equal(samePage({ name: 'library', id: 'a' }, { name: 'library', id: 'b' }), false);
});

test('a token contains the id of its holder', () => {
  assert.deepEqual(claimsOf(` ${jwt({ sub: 'U:demo:Ann', roles: ['admin'] })} `),
    { id: 'u:demo:ann', tenant: 'demo', admin: true, globalAdmin: false });
  for (const bad of ['', 'a.b', 'a.b.c', jwt({ sub: 'g:demo:x' }), jwt({}), jwt(null)]) assert.equal(claimsOf(bad), null);
});

test('owners, managers and administrators may remove from a library, and manage a group', () => {
  const ann = { id: 'u:demo:ann', tenant: 'demo', admin: false, globalAdmin: false };
  const dora = { ...ann, id: 'u:demo:dora', admin: true };
  const root = { ...ann, id: 'u:ops:root', tenant: 'ops', globalAdmin: true };
  const group = (viewerRole: GroupRole | null, tenant = 'demo') => ({ id: `g:${tenant}:x`, tenant, viewerRole });
  assert.equal(mayRemoveFrom(ann, { id: 'u:demo:ann', tenant: 'demo' }), true);
  assert.equal(mayRemoveFrom(ann, { id: 'u:demo:ben', tenant: 'demo' }), false);
  assert.equal(mayRemoveFrom(ann, group('MEMBER')), false);
  assert.equal(mayRemoveFrom(ann, group('MANAGER')), true);
  assert.equal(mayRemoveFrom(dora, group(null)), true);
  assert.equal(mayRemoveFrom(dora, group(null, 'acme')), false);
  assert.equal(mayRemoveFrom(root, group(null, 'acme')), true);
  assert.equal(mayRemoveFrom(null, group('MANAGER')), false);
  assert.equal(mayManageGroup(ann, group('MANAGER')), true);
  assert.equal(mayManageGroup(ann, group('MEMBER')), false);
  assert.equal(administers(null, 'demo'), false);
});

test('faults are shown at the fields they name', () => {
  const faults = [
    { message: 'must not be empty', field: ['title'] },
    { message: 'too far away', field: ['expiresAt'] },
    { message: 'is unknown.', field: ['principalIds', '1'] },
    { message: 'nobody knows', field: null },
  ];
  assert.deepEqual(faultsByField(faults, ['title', 'link']), {
    title: ['Must not be empty.'],
    form: ['Too far away.', 'Is unknown.', 'Nobody knows.'],
  });
  assert.deepEqual([...faultsByIndex(faults, 'principalIds')], [[1, 'Is unknown.']]);
  assert.deepEqual([...faultsByIndex([{ message: 'm', field: ['members', '0', 'role'] }], 'members')], [[0, 'M.']]);
  assert.deepEqual([...faultsByIndex([{ message: 'm', field: ['members'] }], 'members')], []);
});

test('a reason is shown in the words of the client, at a field', () => {
  const of = (reason: string, ...field: string[]) => ({ message: 'of the API', field, reason });
  const faults = [of('EMPTY', 'link'), of('TOO_LONG', 'title'), of('EMPTY', 'branch')];
  assert.deepEqual(faultsByField(faults, ['title', 'link']), { link: ['Fill this in.'], title: ['Of the API.'], form: ['Of the API.'] });
  assert.deepEqual([...faultsByIndex([of('REPEATED', 'members', '1', 'principalId')], 'members')], [[1, 'This is in the list twice.']]);
});

test('errors become texts', () => {
  const of = (code: string, more?: object) => ({ errors: [{ message: 'm', extensions: { code, ...more } }] });
  assert.deepEqual(explain(of('UNAVAILABLE')), { kind: 'temporary', text: 'The service is temporarily unavailable.' });
  assert.deepEqual(explain(of('RATE_LIMITED', { retryAfter: 2.2 })).text, 'Too many requests in a short time. Try again in 3 s.');
  assert.equal(explain(of('OUTCOME_UNKNOWN')).kind, 'other');
  const tooLong = 'This text is too long. Shorten it to about 500,000 letters (512 KB).';
  assert.equal(explain(of('PAYLOAD_TOO_LARGE')).text, tooLong);
  assert.equal(sentence('a text has at most 512 KiB; this one has 600000 bytes'), tooLong);
  assert.equal(sentence('body has at most 524288 bytes; this one has 600000'), tooLong);
  assert.equal(explain(of('UNAUTHENTICATED')).kind, 'signedOut');
  assert.equal(explain(of('BAD_CURSOR')).kind, 'cursor');
  assert.deepEqual(explain(of('IDEMPOTENCY_MISMATCH')), { kind: 'other', text: 'M.' });
  assert.deepEqual(explain({ errors: [{ message: 'Internal error.' }] }), { kind: 'other', text: 'Internal error.' });
  assert.equal(explain({ status: 401 }).kind, 'signedOut');
  assert.equal(explain({ status: 503 }).kind, 'temporary');
  assert.deepEqual(explain({ status: 500 }), { kind: 'temporary', text: 'The server failed (HTTP 500).' });
  assert.deepEqual(explain({ status: 502 }, { online: false }), { kind: 'temporary', text: 'The service is temporarily unavailable.' });
  assert.deepEqual(explain({ status: 403 }), { kind: 'other', text: 'The server failed (HTTP 403).' });
  assert.deepEqual(explain({ status: 200 }), { kind: 'other', text: 'The response did not come from the server (HTTP 200).' });
  assert.deepEqual(explain(new TypeError('Failed to fetch')), { kind: 'temporary', text: 'The server could not be reached.' });
  assert.deepEqual(explain(new TypeError('Failed to fetch'), { online: false }), { kind: 'offline', text: 'You are offline.' });
  assert.equal(sentence(' '), 'The server did not give a reason.');
});

test('messages have the words of people, and leave ids and URLs as they are', () => {
  assert.equal(sentence('an item needs at least one manager: make another principal a manager first'),
    'An item needs at least one manager: make another person or group a manager first.');
  assert.equal(sentence('a visibility is PUBLIC, LOGGEDIN or PRIVATE'), 'A visibility is public, for everyone signed in or private.');
  assert.equal(sentence('the item has changed since: read it again, review the change, and repeat yours with its version'),
    'The item has changed since.');
  const missing = { message: 'there is no such user or group, or you may not see it' };
  assert.deepEqual(faultsByField([{ ...missing, field: ['groupId'] }, { ...missing, field: ['members', '0'] }], ['members']), {
    form: ['This was deleted meanwhile, or you can no longer see it.'],
    members: ['There is no such user or group, or you may not see it.'],
  });
  assert.equal(sentence('a link must begin with http:// or https://'), 'Enter the address of a web page, such as example.com/page.');
  assert.equal(sentence('a content of a tenant has revisions in a locale'), 'An item of an organisation has versions in a language.');
  assert.equal(sentence('no revision of https://token.example/content or c:demo:tenant-1; the gateway needs a token.'),
    'No version of https://token.example/content or c:demo:tenant-1; the server needs a sign-in.');
});
