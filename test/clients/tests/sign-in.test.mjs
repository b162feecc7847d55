// Tests of the example of signing in, at a provider that checks what PKCE demands.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { buildExamples } from '../examples.mjs';

const redirectUri = 'http://127.0.0.1:1/signed-in';
const { signIn: { SignIn }, fetch: { post }, resume: { resume } } = await buildExamples();

// The provider answers the last request for a code with that code, once. ended: it refuses renewals. rotates: it accepts each refresh
// token once. demanded: it gives a refresh token only with this prompt. At /graphql is a gateway that accepts the last token only.
let provider;
let issuer;
const state = {};
before(async () => {
  const json = (response, body, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  provider = createServer(async (request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      const own = `http://${request.headers.host}`;
      return json(response, { issuer: own, authorization_endpoint: `${own}/authorize?tenant=demo`, token_endpoint: `${own}/token` });
    }
    if (request.url === '/graphql') {
      const isAccepted = request.headers.authorization === `Bearer token ${state.tokens}` && state.tokens > 1;
      return json(response, isAccepted ? { data: {} } : { errors: [{ message: 'expired' }] }, isAccepted ? 200 : 401);
    }
    let body = '';
    for await (const part of request) body += part;
    const form = new URLSearchParams(body);
    const digest = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
    const isGranted = form.get('grant_type') === 'refresh_token'
      ? !state.ended && form.get('refresh_token') === state.refresh
      : form.get('code') === state.code && digest === state.challenge && form.get('redirect_uri') === redirectUri;
    if (!isGranted || form.get('client_id') !== 'app') return json(response, { error: 'invalid_grant' }, 400);
    state.code = '';
    state.tokens += 1;
    const isNew = state.isOffline && (state.tokens === 1 || state.rotates);
    if (isNew) state.refresh = `refresh ${state.tokens}`;
    json(response, { access_token: `token ${state.tokens}`, token_type: 'Bearer', ...(isNew ? { refresh_token: state.refresh } : {}) });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  issuer = `http://127.0.0.1:${provider.address().port}`;
});
after(() => provider.close());

beforeEach(() => {
  Object.assign(state, { tokens: 0, ended: false, rotates: false, demanded: null, isOffline: true });
  const items = new Map();
  globalThis.sessionStorage = {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
});
after(() => delete globalThis.sessionStorage);

// signedInAt is the page of the application to which the provider sends the user.
function signedInAt(address, answer = {}) {
  const { searchParams } = new URL(address);
  assert.equal(searchParams.get('code_challenge_method'), 'S256');
  assert.equal(searchParams.get('tenant'), 'demo');
  assert.equal(searchParams.get('scope'), 'openid offline_access');
  state.isOffline = !state.demanded || searchParams.get('prompt') === state.demanded;
  state.challenge = searchParams.get('code_challenge');
  state.code = 'code';
  return `${redirectUri}?${new URLSearchParams({ code: 'code', state: searchParams.get('state'), ...answer })}`;
}

test('a code is exchanged for a token, which is renewed', async () => {
  const address = signedInAt(await new SignIn(issuer, 'app', redirectUri).begin());
  const session = new SignIn(issuer, 'app', redirectUri); // the page was loaded again
  assert.equal(session.token(), null);
  await session.finish(address);
  assert.equal(session.token(), 'token 1');
  assert.equal(await session.renew(), 'token 2');
  assert.equal(await session.renew(), 'token 3'); // the provider has kept the refresh token
  state.ended = true;
  assert.equal(await session.renew(), null);
  assert.equal(session.token(), null);
});

test('a provider that demands a consent for a refresh token gets it', async () => {
  state.demanded = 'consent';
  for (const [parameters, renewed] of [[{}, null], [{ prompt: 'consent' }, 'token 2']]) {
    state.tokens = 0;
    const session = new SignIn(issuer, 'app', redirectUri, undefined, parameters);
    await session.finish(signedInAt(await session.begin()));
    assert.equal(await session.renew(), renewed);
  }
});

test('a provider on this machine may use http, others may not', async () => {
  const local = new SignIn(issuer.replace('127.0.0.1', 'localhost'), 'app', redirectUri);
  await local.finish(signedInAt(await local.begin()));
  assert.equal(local.token(), 'token 1');
  for (const other of ['http://localhost.example.org', 'http://127.0.0.1.example.org'])
    await assert.rejects(new SignIn(other, 'app', redirectUri).begin(), /only requests to HTTPS are allowed/);
});

test('requests and a subscription that are refused together share one renewal', async () => {
  state.rotates = true;
  const session = new SignIn(issuer, 'app', redirectUri);
  await session.finish(signedInAt(await session.begin()));
  const subscribed = new Promise((resolve, reject) => {
    const transport = async function* () {
      if (session.token() !== 'token 1') return resolve(stop());
      throw { code: 4403 };
    };
    const stop = resume(transport, session, { query: '', variables: {} }, { next() {}, error: reject, complete() {} });
  });
  const send = () => post(`${issuer}/graphql`, session, { query: '', variables: {} });
  await Promise.all([send(), send(), subscribed]);
  assert.equal(state.tokens, 2);
  assert.equal(session.token(), 'token 2');
});

test('an answer to another attempt is refused, and so is the same answer again', async () => {
  const session = new SignIn(issuer, 'app', redirectUri);
  const address = signedInAt(await session.begin());
  await assert.rejects(session.finish(signedInAt(await session.begin(), { state: 'of an attacker' })));
  await assert.rejects(session.finish(address), /not begun in this tab/);
  assert.equal(state.tokens, 0);
  await session.finish(signedInAt(await session.begin()));
  await assert.rejects(session.finish(address), /not begun in this tab/);
});

test('what begun in another tab cannot be finished: the verifier is missing', async () => {
  const session = new SignIn(issuer, 'app', redirectUri);
  const address = signedInAt(await session.begin());
  await session.begin(); // another verifier
  await assert.rejects(session.finish(address));
  assert.equal(session.token(), null);
});
