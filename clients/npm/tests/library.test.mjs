// Tests of LiveLibrary with a simulated gateway: the loaded entries are always a part of the
// library without gaps, in every order of events.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiveLibrary, NetworkError, RequestError, UnauthenticatedError } from '../dist/index.js';
import { refusal, SimulatedGateway } from './simulated.mjs';

const tick = () => new Promise((resolve) => setImmediate(resolve));

// notified waits until the listeners know of all changes that arrived together.
const notified = () => new Promise((resolve) => setTimeout(resolve));

// quiet delivers all answers and events.
async function quiet(gateway) {
  for (let n = 0; n < 10_000; n += 1) {
    await tick();
    if (gateway.isQuiet) {
      await tick();
      if (gateway.isQuiet) return;
    }
    gateway.answer();
    gateway.deliver();
  }
  assert.fail('the library does not stop sending requests');
}

async function opened(gateway, options) {
  const library = shown(gateway, { pageSize: 3, ...options });
  await quiet(gateway);
  return library;
}

// shown returns a library with a listener, which keeps it up to date.
function shown(gateway, options) {
  const library = new LiveLibrary(gateway.client(), { principalId: 'g:demo:books', ...options });
  library.subscribe(() => {});
  return library;
}

const idsOf = (library) => library.snapshot().entries.map(({ node }) => node.id);

// matches checks the loaded part against the library.
function matches(library, gateway, order, note, field) {
  const { entries, hasPrevious, hasNext } = library.snapshot();
  const all = gateway.list(order, field);
  const at = entries.length === 0 ? 0 : all.findIndex(({ id }) => id === entries[0].node.id);
  const shown = entries.map(({ node }) => `${node.id}/${node.version}`);
  assert.deepEqual(shown, all.slice(at, at + entries.length).map(({ id, version }) => `${id}/${version}`), note);
  if (entries.length === 0 && (hasPrevious || hasNext)) return;
  if (!hasPrevious) assert.equal(at, 0, `${note}: there are entries before the start`);
  if (!hasNext) assert.equal(at + entries.length, all.length, `${note}: there are entries after the end`);
}

function filled(...ids) {
  const gateway = new SimulatedGateway();
  for (const id of ids) gateway.touch(id);
  return gateway;
}

test('newest first: a change moves to the start', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e');
  const library = await opened(gateway);
  assert.deepEqual(idsOf(library), ['e', 'd', 'c']);
  assert.equal(library.snapshot().status, 'live');
  gateway.touch('a');
  gateway.remove('d');
  gateway.touch('f');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['f', 'a', 'e', 'c']);
  library.loadNext();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['f', 'a', 'e', 'c', 'b']);
  assert.equal(library.snapshot().hasNext, false);
  library.close();
});

test('oldest first: a change beyond an end that is not loaded is read there, even after the last page', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const library = await opened(gateway, { order: 'ASC' });
  library.loadNext();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['a', 'b', 'c', 'd', 'e', 'f']);
  gateway.touch('b'); // newer than the walk
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['a', 'c', 'd', 'e', 'f']);
  while (library.snapshot().hasNext) {
    library.loadNext();
    await quiet(gateway);
  }
  assert.deepEqual(idsOf(library), ['a', 'c', 'd', 'e', 'f', 'g', 'b']);
  gateway.touch('a');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'd', 'e', 'f', 'g', 'b', 'a']);
  library.close();
});

test('an event that is delivered again moves nothing', async () => {
  const gateway = filled('a', 'b', 'c', 'd');
  const library = await opened(gateway);
  gateway.cut(new NetworkError('cut')); // the last three events are delivered again
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['d', 'c', 'b']);
  library.close();
});

test('an item that is shared later has its position by its own time', async () => {
  const gateway = filled('a', 'b');
  gateway.create('x');
  gateway.touch('c');
  const library = await opened(gateway);
  gateway.share('x');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'x', 'b', 'a']);
  library.close();
});

test('a page that is older than a change does not undo it', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e', 'f');
  const library = await opened(gateway);
  library.loadNext();
  await tick(); // the page with c, b and a was requested
  gateway.remove('b');
  gateway.touch('a');
  gateway.deliver();
  gateway.deliver();
  await tick();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['a', 'f', 'e', 'd', 'c']);
  library.close();
});

test('a lost connection resumes at the newest cursor', async () => {
  const gateway = filled('a', 'b');
  const library = await opened(gateway);
  const states = [];
  library.subscribe(() => states.push(library.snapshot().status));
  gateway.cut(new NetworkError('cut'));
  gateway.touch('c');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'b', 'a']);
  assert.deepEqual(states.filter((state, n) => state !== states[n - 1]), ['reconnecting', 'live']);
  assert.equal(gateway.requests.length, 1); // nothing was read again
  const [{ cursor }] = library.snapshot().entries;
  gateway.cut(new NetworkError('cut'));
  await tick();
  assert.equal(gateway.subscribed.at(-1), cursor);
  library.close();
});

test('RESYNC reads the library again', async () => {
  const gateway = filled('a', 'b');
  const library = await opened(gateway);
  gateway.touch('c');
  gateway.cut(refusal('RESYNC'));
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'b', 'a']);
  assert.equal(gateway.requests.length, 2);
  library.close();
});

test('a permanent error ends with the status failed', async () => {
  const gateway = filled('a');
  const library = await opened(gateway);
  gateway.cut(refusal('NOT_FOUND'));
  await quiet(gateway);
  assert.equal(library.snapshot().status, 'failed');
  assert.equal(library.snapshot().error.code, 'NOT_FOUND');
  library.close();
  assert.equal(library.snapshot().status, 'closed');
});

test('an empty library shows changes made while it is opened', async () => {
  const gateway = new SimulatedGateway();
  const library = shown(gateway);
  await tick();
  gateway.touch('a'); // the empty page was requested, and no subscription is open
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['a']);
  library.close();
});

test('at most maxEntries entries are kept', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const library = await opened(gateway, { maxEntries: 5 });
  library.loadNext();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['f', 'e', 'd', 'c', 'b']);
  assert.equal(library.snapshot().hasPrevious, true);
  library.loadPrevious();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['g', 'f', 'e', 'd', 'c']);
  gateway.touch('x');
  await quiet(gateway);
  assert.equal(library.snapshot().entries.length, 5);
  matches(library, gateway, 'DESC', 'after a change');
  library.close();
});

test('a page that no longer follows the end is read again', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e');
  const library = await opened(gateway, { maxEntries: 3 });
  const loaded = library.loadNext();
  await tick(); // the page with b and a was requested
  gateway.touch('f'); // pushes c out
  gateway.deliver();
  await tick();
  assert.deepEqual(idsOf(library), ['f', 'e', 'd']);
  await quiet(gateway);
  await loaded;
  assert.deepEqual(idsOf(library), ['c', 'b', 'a']);
  library.close();
});

test('at least one page of entries is kept', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e', 'f');
  const library = await opened(gateway, { maxEntries: 1 });
  library.loadNext();
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'b', 'a']);
  library.close();
});

test('after close nothing happens any more', async () => {
  const gateway = filled('a');
  const library = new LiveLibrary(gateway.client(), { principalId: 'g:demo:books' });
  const states = [];
  library.subscribe(() => states.push(library.snapshot().status));
  await tick();
  library.close();
  library.close();
  await quiet(gateway);
  assert.deepEqual(states, ['closed']);
  assert.equal(library.snapshot().status, 'closed');
});

test('a long connection resets the pauses', async (t) => {
  const gateway = filled('a');
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const library = await opened(gateway);
  for (let n = 0; n < 8; n += 1) {
    now += 20_000;
    gateway.cut(new NetworkError('cut'));
    await tick();
    await tick();
  }
  assert.ok(gateway.pauses.every((pause) => pause <= 500), `${gateway.pauses}`);
  library.close();
});

test('the snapshot is the same object until something changes', async () => {
  const gateway = filled('a');
  const library = await opened(gateway);
  assert.equal(library.snapshot(), library.snapshot());
  let calls = 0;
  const stop = library.subscribe(() => (calls += 1));
  gateway.touch('a');
  await quiet(gateway);
  await notified();
  assert.ok(calls > 0);
  stop();
  const before = calls;
  gateway.touch('a');
  await quiet(gateway);
  assert.equal(calls, before);
  library.close();
});

test('a listener that throws stops neither the library nor the other listeners', async (t) => {
  const gateway = filled('a');
  const library = await opened(gateway);
  const thrown = [];
  t.mock.method(globalThis, 'queueMicrotask', (report) => {
    try {
      report();
    } catch (error) {
      thrown.push(error);
    }
  });
  const bug = new Error('a bug of the application');
  library.subscribe(() => {
    throw bug;
  });
  let calls = 0;
  library.subscribe(() => (calls += 1));
  gateway.touch('b');
  await quiet(gateway);
  await notified();
  assert.deepEqual(idsOf(library), ['b', 'a']);
  assert.equal(library.snapshot().status, 'live');
  assert.ok(calls > 0);
  assert.ok(thrown.length > 0 && thrown.every((error) => error === bug));
  library.close();
});

test('entries of the same time are ordered by id', async () => {
  const gateway = filled('b', 'd');
  const library = await opened(gateway);
  const lastModified = gateway.list('ASC')[1].lastModified;
  gateway.put({ id: 'c', title: 'c', version: 1, lastModified });
  gateway.put({ id: 'e', title: 'e', version: 1, lastModified });
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['e', 'd', 'c', 'b']);
  library.close();
});

for (const order of ['DESC', 'ASC']) {
  test(`an item that is listed at an older position does not affect others, ${order}`, async () => {
    const gateway = filled('a', 'b', 'c', 'd');
    gateway.defer('b'); // it has changed last, and its position follows later
    const library = await opened(gateway, { order, pageSize: 10 });
    const expected = ['a', 'b', 'c', 'd', 'e'];
    gateway.put({ id: 'e', title: 'e', version: 1, lastModified: gateway.timeAfter('d') });
    await quiet(gateway);
    assert.deepEqual(idsOf(library), order === 'ASC' ? expected : expected.toReversed());
    library.close();
  });
}

test('an expired token does not stop the library, a refused one does', async () => {
  const gateway = filled('a');
  const library = await opened(gateway);
  gateway.cut(refusal('UNAUTHENTICATED'));
  await quiet(gateway);
  assert.equal(library.snapshot().status, 'live');
  gateway.cut(new UnauthenticatedError(401, []));
  await quiet(gateway);
  assert.equal(library.snapshot().status, 'failed');
  library.close();
});

test('the pauses grow, follow Retry-After, and start again after an event', async () => {
  const gateway = filled('a');
  const library = await opened(gateway);
  for (let n = 0; n < 8; n += 1) {
    gateway.cut(new NetworkError('cut'));
    await tick();
    await tick();
  }
  const [first, ...others] = gateway.pauses;
  assert.ok(first >= 250 && first <= 500, `${first}`);
  assert.ok(others[6] >= 7_500 && others[6] <= 15_000, `${others[6]}`);
  gateway.touch('a');
  await quiet(gateway);
  gateway.cut(new NetworkError('cut'));
  await quiet(gateway);
  assert.ok(gateway.pauses.at(-1) <= 500, `${gateway.pauses.at(-1)}`);
  gateway.cut(new RequestError(200, [{ message: 'x', extensions: { code: 'RATE_LIMITED', retryAfter: 40 } }]));
  await quiet(gateway);
  assert.equal(gateway.pauses.at(-1), 40_000);
  library.close();
});

test('without points it waits as long as the gateway asks, and resumes at its cursor', async () => {
  const gateway = filled('a', 'b');
  const library = await opened(gateway);
  const cursor = JSON.stringify({ at: null, field: 'LAST_MODIFIED', bound: null, seen: 1 });
  gateway.cut(new RequestError(200, [{ message: 'x', extensions: { code: 'RATE_LIMITED', retryAfter: 30, cursor } }]));
  await quiet(gateway);
  assert.equal(gateway.pauses.at(-1), 30_000);
  assert.equal(gateway.subscribed.at(-1), cursor);
  gateway.touch('a');
  await quiet(gateway);
  gateway.cut(new NetworkError('cut'));
  await quiet(gateway);
  assert.notEqual(gateway.subscribed.at(-1), cursor); // an event has a newer one
  matches(library, gateway, 'DESC');
  library.close();
});

test('the first page begins after a cursor, and a walk from there goes on to both ends', async () => {
  for (const order of ['ASC', 'DESC']) {
    const gateway = filled('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const all = await opened(gateway, { order, pageSize: 10 });
    const library = await opened(gateway, { order, after: all.snapshot().entries[1].cursor });
    const ids = idsOf(all);
    assert.deepEqual(idsOf(library), ids.slice(2, 5));
    while (library.snapshot().hasNext || library.snapshot().hasPrevious) {
      library.loadNext();
      library.loadPrevious();
      await quiet(gateway);
    }
    assert.deepEqual(idsOf(library), ids);
    all.close();
    library.close();
  }
});

test('oldest first, a walk from an old cursor reaches what has moved since it was made', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e');
  const first = await opened(gateway, { order: 'ASC', pageSize: 2 });
  first.loadNext();
  await quiet(gateway);
  const [, , , { cursor }] = first.snapshot().entries;
  first.close();
  for (const id of ['a', 'b', 'c', 'x']) gateway.touch(id); // more than are delivered again
  const library = await opened(gateway, { order: 'ASC', after: cursor });
  while (library.snapshot().hasNext) {
    library.loadNext();
    await quiet(gateway);
  }
  assert.deepEqual(idsOf(library), ['e', 'a', 'b', 'c', 'x']);
  library.close();
});

test('a cursor that is not valid any more leads to the start', async () => {
  const gateway = filled('a', 'b', 'c', 'd');
  const after = JSON.stringify({ at: null, bound: null, seen: 0 });
  gateway.fails = (variables) => (variables.after === after ? refusal('BAD_CURSOR') : undefined);
  const library = await opened(gateway, { after });
  assert.deepEqual([idsOf(library), library.snapshot().lostPosition, library.snapshot().status], [['d', 'c', 'b'], true, 'live']);
  gateway.fails = ({ after }) => (after ? refusal('BAD_CURSOR') : undefined);
  const first = await opened(gateway);
  assert.equal(first.snapshot().lostPosition, false);
  library.loadNext();
  await quiet(gateway);
  assert.deepEqual([idsOf(library), gateway.requests.at(-1).after], [['d', 'c', 'b'], undefined]); // it was read again
  const whole = await opened(gateway, { after, order: 'ASC', pageSize: 4 });
  assert.deepEqual([idsOf(whole), whole.snapshot().hasNext], [['a', 'b', 'c', 'd'], false]);
  for (const each of [library, first, whole]) each.close();
});

test('reload reads the page at the position, or at either end', async () => {
  const gateway = filled('a', 'b', 'c', 'd', 'e', 'f');
  const library = await opened(gateway, { pageSize: 2 });
  library.loadNext();
  await quiet(gateway);
  library.position = library.snapshot().entries[1].cursor;
  for (const [from, ids] of [['position', ['d', 'c']], ['end', ['b', 'a']], ['start', ['f', 'e']]]) {
    library.reload(from);
    await quiet(gateway);
    assert.deepEqual(idsOf(library), ids, from);
    matches(library, gateway, 'DESC', from);
  }
  gateway.cut(refusal('RESYNC')); // what the user sees is read again
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['d', 'c']);
  gateway.fails = () => refusal('UNAVAILABLE');
  const reloaded = assert.rejects(library.reload(), { code: 'UNAVAILABLE' });
  await quiet(gateway);
  await reloaded;
  assert.deepEqual(idsOf(library), ['d', 'c']);
  library.close();
});

test('a library that could not be read says why, and tries again', async () => {
  const gateway = filled('a');
  gateway.fails = () => refusal('UNAVAILABLE');
  const library = shown(gateway);
  assert.equal(library.snapshot().isLoaded, false);
  for (let n = 0; n < 20; n += 1) {
    await tick();
    gateway.answer();
  }
  assert.deepEqual([library.snapshot().status, library.snapshot().isLoaded, library.snapshot().error.code],
    ['loading', false, 'UNAVAILABLE']);
  gateway.fails = () => {};
  await quiet(gateway);
  assert.deepEqual([library.snapshot().status, library.snapshot().isLoaded, library.snapshot().error], ['live', true, null]);
  library.close();
});

test('without listeners nothing is read, and what was missed follows', async () => {
  const gateway = filled('a', 'b');
  const library = new LiveLibrary(gateway.client(), { principalId: 'g:demo:books' });
  await quiet(gateway);
  assert.equal(gateway.requests.length, 0);
  const hide = [library.subscribe(() => {}), library.subscribe(() => {})];
  await quiet(gateway);
  hide[0]();
  hide[0]();
  gateway.touch('c');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['c', 'b', 'a']); // one listener is left
  hide[1]();
  await tick();
  gateway.touch('a');
  await quiet(gateway);
  assert.deepEqual([idsOf(library), library.snapshot().status], [['c', 'b', 'a'], 'loading']);
  library.subscribe(() => {});
  await quiet(gateway);
  assert.deepEqual([idsOf(library), library.snapshot().status], [['a', 'c', 'b'], 'live']);
  assert.deepEqual([gateway.requests.length, gateway.subscribed.length], [1, 2]);
  library.close();
  library.subscribe(() => {});
  await quiet(gateway);
  assert.equal(gateway.subscribed.length, 2);
});

test('only the gateway knows what is shown after a removal with includeShared, and after a change with a filter', async () => {
  const cases = [
    [{ includeShared: true }, (gateway) => gateway.remove('b')],
    [{ filter: { text: 'x' } }, (gateway) => gateway.touch('b')],
  ];
  for (const [options, change] of cases) {
    const gateway = filled('a', 'b', 'c');
    const library = await opened(gateway, options);
    assert.deepEqual({ ...gateway.requests[0], ...options }, gateway.requests[0]);
    const before = gateway.requests.length;
    change(gateway);
    await quiet(gateway);
    assert.equal(gateway.requests.length, before + 1);
    // A page that was requested before a change is read once more, however many changes there were.
    library.reload();
    await tick();
    change(gateway);
    gateway.touch('b');
    change(gateway);
    for (let n = 0; n < 10; n += 1) {
      gateway.deliver();
      await tick();
    }
    await quiet(gateway);
    assert.ok(gateway.requests.length <= before + 4, `${gateway.requests.length - before} reads`);
    matches(library, gateway, 'DESC', JSON.stringify(options));
    library.close();
  }
});

test('a change is reported with the snapshot before it, and its entry before the listeners', async () => {
  const gateway = filled('a', 'b');
  const known = new Map();
  const library = await opened(gateway, { onEntries: (entries) => entries.forEach(({ node }) => known.set(node.id, node.version)) });
  assert.deepEqual([...known], [['b', 1], ['a', 1]]);
  await notified();
  library.subscribe(() => {
    for (const { node } of library.snapshot().entries) assert.ok(known.get(node.id) >= node.version);
  });
  const changes = [];
  const stop = library.onChange((change, before) => changes.push([change.edge?.node.id ?? change.contentId,
    before.entries.map(({ node }) => node.id).join(''), idsOf(library).join('')]));
  gateway.touch('a');
  gateway.remove('b');
  await quiet(gateway);
  assert.deepEqual(changes.slice(-2), [['a', 'ba', 'ab'], ['b', 'ab', 'a']]);
  const { length } = changes;
  stop();
  gateway.touch('a');
  await quiet(gateway);
  assert.equal(changes.length, length);
  library.close();
});

test('an item of which the application knows that it is gone is removed', async () => {
  const gateway = filled('a', 'b');
  const library = await opened(gateway);
  library.remove('b');
  assert.deepEqual(idsOf(library), ['a']);
  library.close();
});

test('the listeners are called twice for many changes that arrive together', async () => {
  const gateway = filled(...'abcdefghij');
  const library = await opened(gateway, { pageSize: 10 });
  await notified();
  let calls = 0;
  library.subscribe(() => (calls += 1));
  for (const id of 'abcdefghij') gateway.touch(id);
  for (let n = 0; n < 20; n += 1) gateway.deliver();
  await tick();
  assert.deepEqual(idsOf(library), [...'jihgfedcba']);
  await notified();
  assert.equal(calls, 2);
  library.close();
});

test('an application with other fields has documents of its own', async () => {
  const gateway = filled('a');
  const client = gateway.client();
  const used = [];
  const recording = {
    ...client,
    execute: (document, ...rest) => (used.push(document), client.execute(document, ...rest)),
    subscribe: (document, ...rest) => (used.push(document), client.subscribe(document, ...rest)),
  };
  const documents = { page: { name: 'Page' }, changes: { name: 'Changes' } };
  const library = new LiveLibrary(recording, { principalId: 'g:demo:books', documents });
  library.subscribe(() => {});
  await quiet(gateway);
  assert.deepEqual(used, [documents.page, documents.changes]);
  library.close();
});

// random returns numbers from a seed, so that a failure can be repeated.
function random(seed) {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % limit;
  };
}

for (const order of ['ASC', 'DESC']) {
  test(`by title, a rename moves an item within the loaded part, out of it and back, ${order}`, async () => {
    const gateway = filled('b', 'd', 'f', 'h', 'j');
    const library = await opened(gateway, { field: 'TITLE', order });
    const [, second, third] = idsOf(library);
    assert.deepEqual([gateway.requests[0].orderBy, gateway.requests[0].byTitle], [{ field: 'TITLE', direction: order }, true]);
    gateway.rename(second, order === 'ASC' ? 'e' : 'g'); // stays between the others
    await quiet(gateway);
    matches(library, gateway, order, 'within', 'TITLE');
    gateway.rename(second, order === 'ASC' ? 'x' : 'a');
    await quiet(gateway);
    matches(library, gateway, order, 'beyond', 'TITLE');
    assert.deepEqual([idsOf(library).includes(second), library.snapshot().hasNext], [false, true]);
    gateway.rename(third, order === 'ASC' ? 'a' : 'x');
    gateway.rename('new', order === 'ASC' ? 'c' : 'i');
    await quiet(gateway);
    matches(library, gateway, order, 'to the beginning', 'TITLE');
    assert.deepEqual([idsOf(library)[0], idsOf(library).includes('new')], [third, true]);
    for (let n = 0; n < 9 && library.snapshot().hasNext; n += 1) {
      library.loadNext();
      await quiet(gateway);
      matches(library, gateway, order, 'the rest', 'TITLE');
    }
    assert.equal(idsOf(library).at(-1), second);
    assert.equal(gateway.requests.filter(({ after }) => !after).length, 1); // nothing was read again
    library.close();
  });
}

test('by title, an item that only changes stays, and a position at an item that an event has placed is one of pages', async () => {
  const gateway = filled('b', 'd', 'f');
  const library = await opened(gateway, { field: 'TITLE' }); // A to Z by default
  gateway.touch('f');
  await quiet(gateway);
  assert.deepEqual([idsOf(library), library.snapshot().entries[2].node.version], [['b', 'd', 'f'], 2]);
  gateway.rename('f', 'c');
  await quiet(gateway);
  assert.deepEqual(idsOf(library), ['b', 'f', 'd']);
  library.position = library.snapshot().entries[1].cursor;
  gateway.cut(refusal('RESYNC'));
  await quiet(gateway);
  assert.deepEqual([idsOf(library), library.snapshot().lostPosition], [['f', 'd'], false]);
  library.close();
});

for (const [field, order] of ['LAST_MODIFIED', 'TITLE'].flatMap((field) => ['DESC', 'ASC'].map((order) => [field, order]))) {
  test(`the loaded entries match the library after random schedules, ${field} ${order}`, async () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const pick = random(seed);
      const gateway = filled(...Array.from({ length: pick(12) }, (_, n) => `i${n}`));
      for (let n = 0; n < 4; n += 1) gateway.create(`later${n}`);
      const library = new LiveLibrary(gateway.client(), { principalId: 'g:demo:books', field, order, pageSize: 1 + pick(4),
        maxEntries: 4 + pick(20) });
      let hide = library.subscribe(() => {});
      const any = () => gateway.ids()[pick(gateway.ids().length)];
      const steps = [
        () => gateway.touch(any()),
        () => gateway.rename(any() ?? 'new', `i${pick(20)}`),
        () => gateway.touch(`new${pick(3)}`),
        () => gateway.share(any()),
        () => gateway.remove(any()),
        () => gateway.answer(),
        () => gateway.answer(),
        () => gateway.deliver(),
        () => gateway.deliver(),
        () => void library.loadNext(),
        () => void library.loadPrevious(),
        () => {
          if (pick(8) > 0) return;
          if (hide) hide();
          hide = hide ? null : library.subscribe(() => {});
        },
        () => pick(8) === 0 && gateway.cut(pick(2) === 0 ? new NetworkError('cut') : refusal('RESYNC')),
      ];
      for (let step = 0; step < 80; step += 1) {
        steps[pick(steps.length)]();
        if (pick(2) === 0) await tick();
      }
      library.subscribe(() => {});
      await quiet(gateway);
      matches(library, gateway, order, `seed ${seed}`, field);
      for (const side of ['Next', 'Previous']) {
        for (let n = 0; n < 30 && library.snapshot()[`has${side}`]; n += 1) {
          library[`load${side}`]();
          await quiet(gateway);
          matches(library, gateway, order, `seed ${seed}, load${side}`, field);
        }
        assert.equal(library.snapshot()[`has${side}`], false, `seed ${seed}: load${side} has no end`);
      }
      library.close();
    }
  });
}
