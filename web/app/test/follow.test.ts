import { test } from 'node:test';
import assert from 'node:assert/strict';
import { codesOf, follow, longestPause, type Sink } from '../src/data/follow.ts';

interface Stage {
  newest?: () => string | null;
  reread?: () => Promise<void>;
}

// stage calls follow with a socket, a clock and a store that the test controls.
function stage({ newest = () => 'c0', reread = async () => {} }: Stage = {}) {
  const log: string[] = [];
  const sinks: Sink<string>[] = [];
  const pauses: (() => void)[] = [];
  const clock = { now: 0 };
  const end = follow<string>({
    subscribe(after, sink) {
      log.push(`subscribe ${after}`);
      sinks.push(sink);
      return () => log.push('stop');
    },
    newest,
    apply: (event) => log.push(`apply ${event}`),
    reread() {
      log.push('reread');
      return reread();
    },
    pause(attempt, atLeast) {
      log.push(`pause ${attempt}${atLeast ? `, ${atLeast} ms` : ''}`);
      return new Promise((resolve) => pauses.push(resolve));
    },
    now: () => clock.now,
    onState: (state) => log.push(state),
  });
  return { log, sinks, pauses, clock, end };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const coded = (code: string) => [{ message: code, extensions: { code } }];

test('changes are applied as they arrive', () => {
  const { log, sinks, end } = stage();
  sinks[0].opened();
  sinks[0].next('a');
  sinks[0].next('b');
  end();
  assert.deepEqual(log, ['subscribe c0', 'live', 'apply a', 'apply b', 'stop']);
});

test('a lost connection resumes at the newest position', async () => {
  let newest = 'c0';
  const { log, sinks, pauses, end } = stage({ newest: () => newest });
  sinks[0].opened();
  newest = 'c7';
  sinks[0].error(new Error('socket closed'));
  await settled();
  pauses[0]();
  await settled();
  sinks[1].opened();
  sinks[1].next('missed');
  end();
  assert.deepEqual(log, ['subscribe c0', 'live', 'stop', 'waiting', 'pause 1', 'subscribe c7', 'live', 'apply missed', 'stop']);
});

test('without points it waits as long as the gateway asks, and resumes at its cursor', async () => {
  let newest = 'c0';
  const { log, sinks, pauses, end } = stage({ newest: () => newest });
  const outOfPoints = (cursor: string) => [{ message: 'empty', extensions: { code: 'RATE_LIMITED', retryAfter: 30, cursor } }];
  const resumeAt = async (attempt: number) => {
    await settled();
    pauses[attempt]();
    await settled();
  };
  sinks[0].opened();
  sinks[0].error(outOfPoints('r1'));
  await resumeAt(0);
  sinks[1].error({ code: 1006 }); // the next attempt has the same cursor
  await resumeAt(1);
  newest = 'c7';
  sinks[2].next('missed');
  sinks[2].error({ code: 1006 }); // an event has a newer cursor
  await resumeAt(2);
  sinks[3].error(outOfPoints('r2'));
  await resumeAt(3);
  end();
  assert.deepEqual(log.filter((line) => /^(subscribe|pause)/.test(line)), [
    'subscribe c0', 'pause 1, 30000 ms', 'subscribe r1', 'pause 2', 'subscribe r1', 'pause 1', 'subscribe c7', 'pause 2, 30000 ms', 'subscribe r2',
  ]);
});

test('a library that is read again is followed from there', async () => {
  const { log, sinks, pauses, end } = stage();
  sinks[0].error([{ message: 'empty', extensions: { code: 'RATE_LIMITED', retryAfter: 1, cursor: 'r1' } }]);
  await settled();
  pauses[0]();
  await settled();
  sinks[1].error(coded('RESYNC'));
  await settled();
  pauses[1]();
  await settled();
  end();
  assert.deepEqual(log.filter((line) => line.startsWith('subscribe')), ['subscribe c0', 'subscribe r1', 'subscribe c0']);
});

test('each failed attempt waits longer, and a change resets the count', async () => {
  const { log, sinks, pauses } = stage();
  for (let i = 0; i < 3; i += 1) {
    sinks[i].error({ code: 1006 });
    await settled();
    pauses[i]();
    await settled();
  }
  sinks[3].next('a');
  sinks[3].complete();
  await settled();
  assert.deepEqual(log.filter((line) => line.startsWith('pause')), ['pause 1', 'pause 2', 'pause 3', 'pause 1']);
});

test('the library is reloaded if the history of the gateway is too short', async () => {
  const { log, sinks } = stage();
  sinks[0].opened();
  sinks[0].error(coded('RESYNC'));
  await settled();
  assert.deepEqual(log, ['subscribe c0', 'live', 'stop', 'waiting', 'reread', 'pause 1']);
});

test('a failed reload is retried', async () => {
  const { log, sinks, pauses } = stage({ reread: () => Promise.reject(new Error('away')) });
  sinks[0].error(coded('RESYNC'));
  await settled();
  pauses[0]();
  await settled();
  assert.deepEqual(log, ['subscribe c0', 'stop', 'waiting', 'reread', 'pause 1', 'subscribe c0']);
});

test('a long connection counts as a success, with or without changes', async () => {
  for (const [lasted, want] of [[longestPause + 1, 'pause 1'], [longestPause, 'pause 2']] as const) {
    const { log, sinks, pauses, clock } = stage();
    sinks[0].error({ code: 1006 });
    await settled();
    pauses[0]();
    await settled();
    sinks[1].opened();
    clock.now += lasted;
    sinks[1].error({ code: 1006 });
    await settled();
    assert.equal(log.at(-1), want);
  }
});

test('an empty library is reloaded when the subscription starts, and again when it is certainly active', async () => {
  const { log, sinks, pauses } = stage({ newest: () => null });
  assert.deepEqual(log, ['subscribe null']);
  sinks[0].opened();
  await settled();
  assert.deepEqual(log, ['subscribe null', 'live', 'reread', 'pause 1']);
  pauses[0]();
  await settled();
  assert.deepEqual(log, ['subscribe null', 'live', 'reread', 'pause 1', 'reread']);
});

test('an empty library is not read again for a connection that is gone', async () => {
  const { log, sinks, pauses } = stage({ newest: () => null });
  sinks[0].opened();
  await settled();
  sinks[0].complete();
  await settled();
  pauses[0]();
  await settled();
  assert.deepEqual(log, ['subscribe null', 'live', 'reread', 'pause 1', 'stop', 'waiting', 'pause 1']);
});

test('if an empty library cannot be read, the subscription is repeated', async () => {
  const { log, sinks } = stage({ newest: () => null, reread: () => Promise.reject(new Error('away')) });
  sinks[0].opened();
  await settled();
  assert.deepEqual(log, ['subscribe null', 'live', 'reread', 'stop', 'waiting', 'pause 1']);
});

test('an error that a retry cannot fix is not retried', async () => {
  for (const code of ['NOT_FOUND', 'GRAPHQL_VALIDATION_FAILED', 'UNAUTHENTICATED']) {
    const { log, sinks } = stage();
    sinks[0].error(coded(code));
    await settled();
    assert.deepEqual(log, ['subscribe c0', 'stop', 'off']);
  }
});

test('nothing happens after the end', async () => {
  const { log, sinks, pauses, end } = stage();
  sinks[0].error(new Error('lost'));
  await settled();
  end();
  pauses[0]();
  await settled();
  sinks[0].next('late');
  sinks[0].opened();
  assert.deepEqual(log, ['subscribe c0', 'stop', 'waiting', 'pause 1']);
});

test('a broken subscription reports nothing more', async () => {
  const { log, sinks } = stage();
  sinks[0].error(new Error('lost'));
  sinks[0].complete();
  sinks[0].next('late');
  await settled();
  assert.deepEqual(log, ['subscribe c0', 'stop', 'waiting', 'pause 1']);
});

test('codes are those of GraphQL errors', () => {
  assert.deepEqual(codesOf([...coded('A'), { message: 'b' }]), ['A']);
  assert.deepEqual(codesOf(new Error('x')), []);
  assert.deepEqual(codesOf(undefined), []);
});
