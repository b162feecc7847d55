// A change whose answer was lost is made once, and it is found out what became of it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { NetworkError, RequestError } from 'carrel-client';
import { isUnclear } from '../src/data/faults.ts';
import { MadeBefore, outbox } from '../src/data/outbox.ts';

const coded = (code: string) => new RequestError(200, [{ message: code, extensions: { code } }]);

// gateway makes each change once for a key, like the gateway. Answers with the numbers in lost are lost.
function gateway(...lost: number[]) {
  const made = new Map<string, string>();
  let calls = 0;
  const send = async ({ title }: { title: string }, key: string) => {
    calls += 1;
    if (title === '') return { title, userErrors: ['empty'] };
    const before = made.get(key);
    if (before !== undefined && before !== title) throw coded('IDEMPOTENCY_MISMATCH');
    made.set(key, title);
    if (lost.includes(calls)) throw new NetworkError('lost');
    return { title, userErrors: [] };
  };
  return { send, titles: () => [...made.values()] };
}

test('the same change is sent with the same key until it was answered', async () => {
  const { send, titles } = gateway(1);
  const sent = outbox<{ title: string }, Awaited<ReturnType<typeof send>>>();
  await assert.rejects(sent.post({ title: 'a' }, send), NetworkError);
  assert.equal(sent.lost().length, 1);
  assert.equal((await sent.post({ title: '' }, send)).userErrors.length, 1);
  assert.equal(sent.lost().length, 1, 'a refusal of another change does not answer for the first one');
  await sent.post({ title: 'a' }, send);
  assert.deepEqual([titles(), sent.lost().length], [['a'], 0]);
  await sent.post({ title: 'a' }, send);
  assert.deepEqual(titles(), ['a', 'a'], 'another change of the same kind');
});

test('of several changes whose answers were lost, it is found out which one was made', async () => {
  const { send, titles } = gateway(2);
  const sent = outbox<{ title: string }, Awaited<ReturnType<typeof send>>>();
  let cut = true;
  const flaky: typeof send = async (input, key) => {
    if (cut) throw new NetworkError('not sent');
    return send(input, key);
  };
  await assert.rejects(sent.post({ title: 'a' }, flaky), NetworkError);
  cut = false;
  await sent.post({ title: '' }, flaky);
  await assert.rejects(sent.post({ title: 'b' }, flaky), NetworkError);
  await assert.rejects(sent.post({ title: 'c' }, flaky), (error) => error instanceof MadeBefore && error.reply.title === 'b');
  assert.deepEqual([titles(), sent.lost().length], [['b'], 0]);
  await sent.post({ title: 'c' }, flaky);
  assert.deepEqual(titles(), ['b', 'c']);
});

test('a refusal says that nothing was changed; no answer, or one from elsewhere, does not', () => {
  for (const error of [new NetworkError('gone'), coded('UNAVAILABLE'), coded('TIMEOUT'), coded('OUTCOME_UNKNOWN'),
    new RequestError(502, []), new RequestError(200, []), new Error('no payload')]) assert.equal(isUnclear(error), true, String(error));
  for (const error of [coded('BAD_USER_INPUT'), coded('CONTENTION'), coded('RATE_LIMITED'), new RequestError(401, []),
    new RequestError(413, [])]) assert.equal(isUnclear(error), false, String(error));
});
