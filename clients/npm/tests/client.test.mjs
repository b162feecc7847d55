// Tests of CarrelClient with a server whose answers each test sets.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import {
  accepted,
  CarrelClient,
  CarrelError,
  LibraryChangedDocument,
  MutationError,
  NetworkError,
  newIdempotencyKey,
  RequestError,
  toMicroseconds,
  UnauthenticatedError,
  UpdateContentDocument,
  ViewerDocument,
} from '../dist/index.js';

let url;
let answers = [];
let requests = [];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  requests.push({ authorization: request.headers.authorization, accept: request.headers.accept, ...JSON.parse(body) });
  const answer = answers.shift() ?? json(500, 'no answer');
  answer(response);
});
before(async () => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}/graphql`;
});
after(() => server.closeAllConnections() ?? server.close());

const json = (status, body, headers = {}) => (response) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof body === 'string' ? body
    : JSON.stringify(body));
const failure = (code, extensions = {}, status = 200) => json(status, { errors: [{ message: code, extensions: { code, ...extensions } }] });
const viewer = json(200, { data: { viewer: null } });
const hangUp = (response) => response.destroy();
// events sends text in pieces, each after the previous one was read.
const events = (...pieces) => async (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const piece of pieces) {
    await new Promise((resolve) => response.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
};

let pauses = [];
function client(options = {}) {
  requests = [];
  pauses = [];
  return new CarrelClient({ url, pause: async (milliseconds) => void pauses.push(milliseconds), ...options });
}

const input = { id: 'c:demo:a', title: 'A' };
const updated = json(200, { data: { updateContent: { content: null, libraryEdge: null, userErrors: [] } } });

test('a query is repeated after temporary errors', async () => {
  answers = [failure('UNAVAILABLE', { retryAfter: 2 }, 503), hangUp, json(502, '<html>'), viewer];
  assert.deepEqual(await client().execute(ViewerDocument, {}), { viewer: null });
  assert.equal(requests.length, 4);
  assert.equal(pauses[0], 2000);
  assert.ok(pauses[1] >= 500 && pauses[1] <= 1000, `${pauses[1]}`);
  assert.ok(pauses[2] >= 1000 && pauses[2] <= 2000, `${pauses[2]}`);
  assert.equal(requests[0].operationName, 'Viewer');
});

test('after three repetitions the error is thrown', async () => {
  answers = [hangUp, hangUp, hangUp, hangUp, viewer];
  await assert.rejects(client().execute(ViewerDocument, {}), (error) => error instanceof NetworkError && error.code === 'NETWORK');
  assert.equal(requests.length, 4);
});

test('a mutation is repeated only with an idempotency key', async () => {
  answers = [hangUp, updated];
  await assert.rejects(client().execute(UpdateContentDocument, { input }), NetworkError);
  assert.equal(requests.length, 1);

  const idempotencyKey = newIdempotencyKey();
  assert.match(idempotencyKey, /^[0-9a-f]{32}$/);
  answers = [failure('OUTCOME_UNKNOWN'), hangUp, updated];
  await client().execute(UpdateContentDocument, { input: { ...input, idempotencyKey } });
  assert.deepEqual(requests.map(({ variables }) => variables.input.idempotencyKey), Array(3).fill(idempotencyKey));
});

test('a permanent error is thrown immediately', async () => {
  for (const code of ['BAD_USER_INPUT', 'IDEMPOTENCY_MISMATCH', 'INTERNAL_SERVER_ERROR', 'ANSWER_TOO_LARGE']) {
    answers = [failure(code), viewer];
    await assert.rejects(client().execute(ViewerDocument, {}), (error) => error instanceof RequestError &&
      error.code === code && !error.retryable);
    assert.equal(requests.length, 1);
  }
});

test('a long Retry-After is left to the caller', async () => {
  answers = [failure('RATE_LIMITED', { retryAfter: 42 }, 429), viewer];
  await assert.rejects(client().execute(ViewerDocument, {}), (error) => error.code === 'RATE_LIMITED' && error.retryAfter === 42_000);
  answers = [json(429, '', { 'retry-after': '42' }), viewer];
  await assert.rejects(client().execute(ViewerDocument, {}), (error) => error.code === 'RATE_LIMITED' && error.retryAfter === 42_000);
  assert.deepEqual(pauses, []);
});

test('Retry-After may be a date', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) });
  answers = [json(503, '', { 'retry-after': 'Thu, 01 Jan 2026 00:00:03 GMT' }),
    json(503, '', { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }), json(503, '', { 'retry-after': 'later' }), viewer];
  await client().execute(ViewerDocument, {});
  assert.deepEqual(pauses.slice(0, 2), [3000, 0]);
  assert.ok(pauses[2] >= 1000 && pauses[2] <= 2000, `${pauses[2]}`);
});

test('the data of an answer with errors is in the error', async () => {
  answers = [json(200, { data: { viewer: null },
    errors: [{ message: 'x', path: ['viewer'], extensions: { code: 'INTERNAL_SERVER_ERROR' } }] })];
  await assert.rejects(client().execute(ViewerDocument, {}), (error) => {
    assert.deepEqual(error.data, { viewer: null });
    assert.deepEqual(error.errors[0].path, ['viewer']);
    return true;
  });
});

test('a refused token is renewed once, for all requests together', async () => {
  const refused = failure('UNAUTHENTICATED', {}, 401);
  answers = [refused, refused, viewer, viewer];
  let token = 'old';
  let renewals = 0;
  let refusals = 0;
  let bothRefused;
  const refusedTwice = new Promise((resolve) => (bothRefused = resolve));
  const c = client({
    token: () => token,
    fetch: async (...request) => {
      const response = await fetch(...request);
      if (response.status === 401 && ++refusals === 2) setImmediate(bothRefused);
      return response;
    },
    renewToken: async () => {
      renewals += 1;
      await refusedTwice;
      return (token = 'new');
    },
  });
  await Promise.all([c.execute(ViewerDocument, {}), c.execute(ViewerDocument, {})]);
  assert.equal(renewals, 1);
  assert.deepEqual(requests.map(({ authorization }) => authorization), ['Bearer old', 'Bearer old', 'Bearer new', 'Bearer new']);
});

test('a token that another request has renewed is used', async () => {
  answers = [failure('UNAUTHENTICATED', {}, 401), viewer];
  const tokens = ['old', 'new'];
  const c = client({ token: () => tokens.shift(), renewToken: () => assert.fail('renewed') });
  await c.execute(ViewerDocument, {});
  assert.equal(requests[1].authorization, 'Bearer new');
});

test('if no other token is accepted, the error says so', async () => {
  const refused = failure('UNAUTHENTICATED', {}, 401);
  for (const renewToken of [undefined, async () => null, async () => 'also bad']) {
    answers = [refused, refused];
    await assert.rejects(client({ token: () => 'bad', renewToken }).execute(ViewerDocument, {}),
      (error) => error instanceof UnauthenticatedError && error.status === 401);
  }
  answers = [refused];
  await assert.rejects(client({ renewToken: () => assert.fail('renewed') }).execute(ViewerDocument, {}), UnauthenticatedError);
});

test('a renewal that fails is a NetworkError, and is tried again', async () => {
  const refused = failure('UNAUTHENTICATED', {}, 401);
  const cause = new TypeError('fetch failed');
  answers = [refused, refused, viewer];
  let renewals = 0;
  const renewToken = async () => {
    renewals += 1;
    if (renewals === 1) throw cause;
    return 'new';
  };
  await client({ token: () => 'old', renewToken }).execute(ViewerDocument, {});
  assert.deepEqual([renewals, pauses.length, requests.at(-1).authorization], [2, 1, 'Bearer new']);
  for (const failing of [{ renewToken: async () => Promise.reject(cause) }, { renewToken: () => { throw cause; } },
    { token: () => { throw cause; } }]) {
    answers = [refused];
    const options = { token: () => 'old', retries: 0, ...failing };
    await assert.rejects(client(options).execute(ViewerDocument, {}), (error) => error instanceof NetworkError && error.cause === cause);
  }
});

async function followed(...pieces) {
  answers = [events(...pieces)];
  const results = [];
  let error;
  let opened = 0;
  try {
    for await (const result of client().subscribe(LibraryChangedDocument, { id: 'g:demo:a' },
      { onOpen: () => (opened += 1) })) results.push(result);
  } catch (caught) {
    error = caught;
  }
  assert.equal(requests[0].accept, 'text/event-stream');
  return { results, error, opened };
}

test('events may be split anywhere', async () => {
  const text = ':\n\nevent: next\ndata: {"data":{"a":\ndata: 1}}\n\n:\r\n\r\nevent: next\r\ndata: {"data":{"a":"é"}}\r\n\r\nevent: complete\ndata:\n\n';
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));
    const { results, error, opened } = await followed(...pieces);
    assert.deepEqual([results, error, opened], [[{ a: 1 }, { a: 'é' }], undefined, 1]);
  }
});

test('a stream that ends without complete is a lost connection', async () => {
  const { results, error } = await followed('event: next\ndata: {"data":{"a":1}}\n\n');
  assert.deepEqual(results, [{ a: 1 }]);
  assert.ok(error instanceof NetworkError);
});

test('an event with errors is thrown with its code', async () => {
  const { error } = await followed('event: next\ndata: {"errors":[{"message":"x","extensions":{"code":"RESYNC"}}]}\n\nevent: complete\n\n');
  assert.ok(error instanceof RequestError);
  assert.equal(error.code, 'RESYNC');
});

test('a silent stream is a lost connection', async () => {
  answers = [(response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')];
  await assert.rejects(client({ silence: 20 }).subscribe(LibraryChangedDocument, { id: 'g:demo:a' }).next(),
    (error) => error instanceof NetworkError);
});

test('an error answer that is not a stream has its code', async () => {
  answers = [failure('RATE_LIMITED', { retryAfter: 1 }, 429)];
  await assert.rejects(client().subscribe(LibraryChangedDocument, { id: 'g:demo:a' }).next(),
    (error) => error.code === 'RATE_LIMITED' && error.retryAfter === 1000);
});

test('an aborted request throws the reason, and is not repeated', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  answers = [() => controller.abort(reason)];
  await assert.rejects(client().execute(ViewerDocument, {}, { signal: controller.signal }), (error) => error === reason);
  assert.equal(requests.length, 1);
});

test('a request that is aborted during its answer throws the reason', async () => {
  const reason = new Error('enough');
  for (const read of [(c, signal) => c.execute(UpdateContentDocument, { input }, { signal }),
    (c, signal) => c.subscribe(LibraryChangedDocument, { id: 'g:demo:a' }, { signal }).next()]) {
    const controller = new AbortController();
    answers = [(response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{')];
    const abort = async (...request) => {
      const response = await fetch(...request);
      setImmediate(() => controller.abort(reason));
      return response;
    };
    await assert.rejects(read(client({ fetch: abort }), controller.signal), (error) => error === reason);
  }
});

test('userErrors become a MutationError', () => {
  const payload = { content: null, userErrors: [{ code: 'CONFLICT', field: ['expectedVersion'], message: 'changed', currentVersion: 3 }] };
  assert.throws(() => accepted(payload), (error) => error instanceof MutationError && error.isConflict &&
    error.currentVersion === 3 && error.has('CONFLICT') && !error.has('TAKEN'));
  const draft = { draft: null, userErrors: [{ ...payload.userErrors[0], currentVersion: 0 }] };
  assert.throws(() => accepted(draft), (error) => error.currentVersion === 0);
  assert.throws(() => accepted(null), (error) => error instanceof CarrelError && error.code === 'INTERNAL_SERVER_ERROR');
  const good = { content: 1, userErrors: [] };
  assert.equal(accepted(good), good);
});

test('times keep their microseconds', () => {
  assert.equal(toMicroseconds('2026-11-21T09:30:00.123456Z') % 1_000_000, 123_456);
  assert.equal(toMicroseconds('1970-01-01T00:00:01Z'), 1_000_000);
  assert.equal(toMicroseconds('1969-12-31T23:59:59.999999Z'), -1);
});

test('a pause ends when a browser is online again, and throws the reason of an aborted signal', async (t) => {
  const browser = new EventTarget();
  for (const name of ['addEventListener', 'removeEventListener']) {
    globalThis[name] = browser[name].bind(browser);
    t.after(() => delete globalThis[name]);
  }
  const carrel = new CarrelClient({ url });
  const long = 1_000_000;
  const paused = carrel.pause(long);
  browser.dispatchEvent(new Event('online'));
  await paused;
  const ending = new AbortController();
  const ended = assert.rejects(carrel.pause(long, ending.signal), /stop/);
  ending.abort(new Error('stop'));
  await ended;
  await assert.rejects(carrel.pause(long, AbortSignal.abort(new Error('stop'))), /stop/);
});
