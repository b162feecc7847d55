// Tests of follow with subscriptions, reads and a clock that each test controls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CarrelError, follow, NetworkError, RequestError, UnauthenticatedError } from '../dist/index.js';
import { refusal } from './simulated.mjs';

const settled = () => new Promise((resolve) => setImmediate(resolve));
const lost = () => new NetworkError('lost');
const outOfPoints = (cursor) => new RequestError(200, [{ message: 'empty', extensions: { code: 'RATE_LIMITED', retryAfter: 30, cursor } }]);

// stage calls follow. A test ends a subscription by its end(error), and a pause by over().
function stage(t, { cursor = () => 'c0', reread = async () => {} } = {}) {
  const log = [];
  const subscriptions = [];
  const waits = [];
  const ending = new AbortController();
  const clock = { now: 0 };
  t.mock.method(performance, 'now', () => clock.now);

  async function* subscribe(after, { signal, onOpen }) {
    log.push(`subscribe ${after}`);
    const results = [];
    let wake = () => {};
    let isOver = false;
    let failure;
    const end = (error) => {
      failure = error;
      isOver = true;
      wake();
    };
    subscriptions.push({ open: onOpen, end, next: (result) => (results.push(result), wake()) });
    signal.addEventListener('abort', () => end(signal.reason));
    while (!isOver || results.length > 0) {
      while (results.length > 0) yield results.shift();
      if (!isOver) await new Promise((resolve) => (wake = resolve));
    }
    if (failure) throw failure;
  }

  const done = follow({
    subscribe,
    cursor,
    apply: (result) => log.push(`apply ${result}`),
    reread() {
      log.push('reread');
      return reread();
    },
    pause(milliseconds, signal) {
      log.push('pause');
      waits.push(milliseconds);
      return new Promise((resolve, reject) => {
        waits.over = resolve;
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
    onStatus: (status) => log.push(status),
    signal: ending.signal,
  });
  // again ends the last connection and the pause after it.
  const again = async (error) => {
    subscriptions.at(-1).end(error);
    await settled();
    waits.over();
    await settled();
  };
  return { log, subscriptions, waits, clock, again, done, stop: () => ending.abort() };
}
const subscribed = ({ log }) => log.filter((line) => line.startsWith('subscribe'));

test('changes are applied as they arrive, and nothing after the end', async (t) => {
  const it = stage(t);
  await settled();
  const [first] = it.subscriptions;
  first.open();
  first.next('a');
  first.next('b');
  await settled();
  it.stop();
  await it.done;
  first.next('late');
  first.open();
  await settled();
  assert.deepEqual(it.log, ['subscribe c0', 'live', 'apply a', 'apply b']);
});

test('a lost connection resumes at the newest cursor, one that the gateway completes too', async (t) => {
  let cursor = 'c0';
  const it = stage(t, { cursor: () => cursor });
  await settled();
  cursor = 'c7';
  await it.again(lost());
  await it.again();
  assert.deepEqual(it.log, ['subscribe c0', 'reconnecting', 'pause', 'subscribe c7', 'reconnecting', 'pause', 'subscribe c7']);
  it.stop();
});

test('without points it waits as long as the gateway asks, and resumes at its cursor', async (t) => {
  let cursor = 'c0';
  const it = stage(t, { cursor: () => cursor });
  await settled();
  await it.again(outOfPoints('r1'));
  await it.again(lost()); // the next attempt has the same cursor
  cursor = 'c7';
  await it.again(lost()); // an event has a newer cursor
  await it.again(outOfPoints('r2'));
  await it.again(refusal('RESYNC')); // what is read again has a newer cursor, even if it is the same
  assert.deepEqual(subscribed(it), ['subscribe c0', 'subscribe r1', 'subscribe r1', 'subscribe c7', 'subscribe r2', 'subscribe c7']);
  assert.deepEqual([it.waits[0], it.waits[3]], [30_000, 30_000]);
  it.stop();
});

test('each failed attempt waits longer, and a change resets the count', async (t) => {
  t.mock.method(Math, 'random', () => 1);
  const it = stage(t);
  await settled();
  for (let n = 0; n < 3; n += 1) await it.again(lost());
  it.subscriptions.at(-1).next('a');
  await it.again(lost());
  assert.deepEqual([...it.waits], [500, 1000, 2000, 500]);
  it.stop();
});

test('a long connection counts as a success, with or without changes', async (t) => {
  t.mock.method(Math, 'random', () => 1);
  for (const [lasted, want] of [[15_001, 500], [15_000, 1000]]) {
    const it = stage(t);
    await settled();
    await it.again(lost());
    it.subscriptions.at(-1).open();
    it.clock.now += lasted;
    await it.again(lost());
    assert.equal(it.waits.at(-1), want);
    it.stop();
  }
});

for (const code of ['RESYNC', 'BAD_CURSOR']) {
  test(`everything is read again after ${code}, and again if that fails`, async (t) => {
    const it = stage(t, { reread: () => Promise.reject(new Error('away')) });
    await settled();
    await it.again(refusal(code));
    await it.again(refusal(code));
    assert.deepEqual(it.log, ['subscribe c0', ...['reconnecting', 'reread', 'pause', 'subscribe c0'],
      ...['reconnecting', 'reread', 'pause', 'subscribe c0']]);
    it.stop();
  });
}

test('without a cursor everything is read when the connection opens, and again when the subscription has certainly begun', async (t) => {
  const it = stage(t, { cursor: () => null });
  await settled();
  it.subscriptions[0].open();
  await settled();
  assert.deepEqual(it.log, ['subscribe null', 'live', 'reread', 'pause']);
  it.waits.over();
  await settled();
  assert.deepEqual(it.log.slice(4), ['reread']);
  it.stop();
});

test('nothing is read again for a connection that is gone', async (t) => {
  const it = stage(t, { cursor: () => null });
  await settled();
  it.subscriptions[0].open();
  await settled();
  const over = it.waits.over;
  it.subscriptions[0].end();
  await settled();
  over();
  await settled();
  assert.deepEqual(it.log, ['subscribe null', 'live', 'reread', 'pause', 'reconnecting', 'pause']);
  it.stop();
});

test('if it cannot be read when the connection opens, the connection is made again', async (t) => {
  const it = stage(t, { cursor: () => null, reread: () => Promise.reject(new TypeError('away')) });
  await settled();
  it.subscriptions[0].open();
  await settled();
  assert.deepEqual(it.log, ['subscribe null', 'live', 'reread', 'reconnecting', 'pause']);
  it.stop();
});

test('an error that another attempt would get again ends it', async (t) => {
  const permanent = ['NOT_FOUND', 'FORBIDDEN', 'BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED'].map(refusal);
  for (const error of [...permanent, new UnauthenticatedError(401, []), new TypeError('a bug of the application')]) {
    const it = stage(t);
    await settled();
    it.subscriptions[0].end(error);
    await it.done;
    assert.deepEqual(it.log, ['subscribe c0', 'failed'], error.message);
  }
  for (const error of [refusal('UNAUTHENTICATED'), refusal('UNAVAILABLE'), new CarrelError('ANSWER_TOO_LARGE', 'long')]) {
    const it = stage(t);
    await settled();
    it.subscriptions[0].end(error);
    await settled();
    assert.deepEqual(it.log, ['subscribe c0', 'reconnecting', 'pause'], error.message);
    it.stop();
  }
});
