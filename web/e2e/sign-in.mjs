// Tests signing in to the reference client at an OpenID Connect provider, in a real browser: it starts a provider, a
// gateway that accepts its tokens, and plays each scene. Exits with 1 and a message if anything fails. Run it after
// `make build`.
//
//   node e2e/sign-in.mjs [SCENE...]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, patience, start, watch } from './browser.mjs';
import { dialog, entry, live, says, takeNotice } from './app/fixture.mjs';
import { clientId, openProvider } from './provider.mjs';

const provider = await openProvider();
const gateway = await openGateway();
const { base, token } = gateway;
provider.serve(base);
const browser = await start();
const faults = [];

// openGateway starts a gateway without --dev, with the demo data. The command that it runs ends with our standard output.
async function openGateway() {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const env = {
    ...process.env,
    MODE: '',
    CARREL_AUTH_JWKS: `${provider.issuer}/jwks`,
    CARREL_AUTH_ISSUER: provider.issuer,
    CARREL_ISSUER: provider.issuer, // of carrel token
    CARREL_APP_OIDC_CLIENT_ID: clientId,
  };
  const process_ = spawn(`${root}.ci/with-gateway`, ['sh', '-c', 'echo "$BASE_URL $TOKEN"; exec cat'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: process_.stdout })) {
    const [, base, token] = /^(http\S+) (\S+)$/.exec(line) ?? [];
    if (base) return { base, token, close: () => (process_.stdin.end(), once(process_, 'exit')) };
  }
  throw new Error('the gateway did not start');
}

// open opens a path in a separate browser context.
async function open(path = '/app', options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  await watch(page, base, faults, [provider.issuer]);
  await page.addInitScript(takeNotice);
  await page.goto(base + path);
  return page;
}

// leave goes to the provider by the dialog, and enter enters a name there.
async function leave(page, button = 'Continue') {
  await dialog(page).getByRole('button', { name: button }).click();
}

async function enter(page, user) {
  await page.getByLabel('User').fill(user);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signIn(page, user) {
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await leave(page);
  await enter(page, user);
  await page.getByRole('link', { name: 'My library' }).waitFor();
}

const stored = (page) => page.evaluate(() => JSON.parse(sessionStorage.getItem('carrel.app.session')));
const warning = (page, words) => page.locator('.warnings').getByText(words).waitFor();

// forget removes the faults that the browser itself reports and that match.
function forget(pattern) {
  faults.splice(0, faults.length, ...faults.filter((fault) => !pattern.test(fault)));
}

// inAndOut signs in where the reader is, keeps the session when the page is loaded again, leaves no token where it does
// not belong, and signs out at the provider too.
async function inAndOut() {
  const page = await open('/app/library/u:demo:ann');
  const addresses = [];
  page.on('request', (request) => addresses.push(request.url()));
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page)
    .getByText(`You sign in at ${new URL(provider.issuer).host}`)
    .waitFor();
  expect(await dialog(page).getByRole('textbox').count(), 0, 'fields for a token');
  await leave(page);
  await page.getByLabel('User').waitFor();
  const asked = new URL(addresses.find((address) => address.includes('/auth?'))).searchParams;
  expect(
    [asked.get('response_type'), asked.get('code_challenge_method'), asked.get('code_challenge').length],
    ['code', 'S256', 43],
    'what the provider is asked',
  );
  await enter(page, 'u:demo:ann');
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  expect(page.url(), `${base}/app/library/u:demo:ann`, 'the address after signing in');
  await entry(page, 'encoding/gob').waitFor();
  await page.reload();
  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).waitFor();

  const { token: access, grant } = await stored(page);
  const secrets = [access, grant.refreshToken];
  expect(
    secrets.some((secret) => addresses.some((address) => address.includes(secret))),
    false,
    'a token in an address',
  );
  expect(
    await page.evaluate(() => [
      JSON.stringify(localStorage).includes('ey'),
      document.cookie,
      history.length > 1 && location.search,
    ]),
    [false, '', ''],
    'what is kept elsewhere',
  );

  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).click();
  await dialog(page).getByText('You are Ann Archer.').waitFor();
  await dialog(page).getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).waitFor();
  expect(
    [page.url(), await page.evaluate(() => sessionStorage.length)],
    [`${base}/app`, 0],
    'what is left after signing out',
  );
  expect(addresses.includes(`${provider.issuer}/token/revocation`), true, 'the refresh token is revoked');
  const reused = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: grant.refreshToken, client_id: clientId }),
  });
  expect((await reused.json()).error, 'invalid_grant', 'the refresh token after signing out');
  // The provider has forgotten the reader too.
  await signIn(page, 'u:demo:cleo');
  await page.getByRole('banner').getByRole('button', { name: 'Cleo Carter' }).waitFor();
  await page.context().close();
}

// refused: the reader cancels, and then signs in with an account that has no user here. Each time the page says so and
// leads on; after that the provider asks again who signs in.
async function refused() {
  const page = await open();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await leave(page);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await warning(page, 'was refused or cancelled.');
  await page.locator('.warnings').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).getByText('was refused or cancelled.').waitFor();
  await leave(page, 'Try again');
  await enter(page, 'somebody');
  await warning(page, 'has no user name here.');
  expect(await stored(page), null, 'the session after an account without a user');
  await page.locator('.warnings').getByRole('button', { name: 'Sign in' }).click();
  await leave(page, 'Try again');
  await enter(page, 'u:demo:cleo');
  await page.getByRole('banner').getByRole('button', { name: 'Cleo Carter' }).waitFor();
  expect(await page.locator('.warnings').innerText(), '', 'warnings after signing in');
  await page.context().close();
}

// tampered: an answer that this tab has not asked for, one with another state, one for another nonce, and one that was
// used before are refused, and the page leads on.
async function tampered() {
  const page = await open();
  const given = provider.state.grants.length;
  const foreign = `${base}/app/signed-in?code=stolen&state=${'x'.repeat(43)}&iss=${encodeURIComponent(provider.issuer)}`;
  await page.goto(foreign);
  await warning(page, 'not begun in this tab');
  expect(page.url(), `${base}/app`, 'the address after a foreign answer');
  await page.goto(`${base}/app/groups`);
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await leave(page);
  await page.getByLabel('User').waitFor();
  await page.goto(foreign);
  await warning(page, 'not begun in this tab');

  await page.locator('.warnings').getByRole('button', { name: 'Sign in' }).click();
  await page.route(/\/auth\?/, (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/nonce=[^&]*/, 'nonce=another'),
    }),
  );
  await leave(page, 'Try again');
  await enter(page, 'u:demo:ann');
  await warning(page, 'gave an answer that this page cannot use.');
  expect(await stored(page), null, 'the session after another nonce');
  await page.unrouteAll();

  await page.locator('.warnings').getByRole('button', { name: 'Sign in' }).click();
  await leave(page, 'Try again');
  const arrival = page.waitForRequest(/\/app\/signed-in\?/);
  await enter(page, 'u:demo:ann');
  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).waitFor();
  const before = provider.state.grants.length;
  await page.goto((await arrival).url());
  await warning(page, 'or was finished before.');
  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).waitFor();
  expect([before - given, provider.state.grants.length - given], [2, 2], 'codes that were exchanged');
  await page.context().close();
}

// providerDown: the provider cannot be reached when the reader wants to sign in, and then when the code is exchanged.
async function providerDown() {
  const page = await open();
  provider.state.down = true;
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await leave(page);
  await dialog(page).getByText('cannot be reached at the moment.').waitFor();
  provider.state.down = false;
  await leave(page, 'Try again');
  await page.getByLabel('User').waitFor();
  await page.route('**/token', (route) => route.abort());
  await enter(page, 'u:demo:ann');
  await warning(page, 'cannot be reached at the moment.');
  await page.unrouteAll();
  await page.locator('.warnings').getByRole('button', { name: 'Sign in' }).click();
  await leave(page, 'Try again');
  await enter(page, 'u:demo:ann');
  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).waitFor();
  forget(/ERR_EMPTY_RESPONSE|ERR_CONNECTION|ERR_FAILED/);
  await page.context().close();
}

// renewal: tokens of two seconds are renewed again and again. Nothing is read again, what is typed stays, each
// token has a socket of its own, and changes by others arrive. An outage of the provider ends with the next attempt.
async function renewal() {
  provider.state.lifetime = 2;
  const page = await open('/app/library/u:demo:ann');
  const sockets = [];
  page.on('websocket', (socket) =>
    socket.on(
      'framesent',
      ({ payload }) => payload.includes('connection_init') && sockets.push(JSON.parse(payload).payload.authorization),
    ),
  );
  await signIn(page, 'u:demo:ann');
  await live(page);
  await page.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(page).getByRole('radio', { name: 'Note' }).check();
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('Typed during renewals');
  const read = [];
  page.on('request', (request) => request.url() === `${base}/graphql` && read.push(request.postDataJSON().operationName));
  await renewed(page, 3);
  // A subscription that resumes repeats the last change, after which the items are counted.
  expect(read.filter((name) => name !== 'LibraryHead'), [], 'what was read again');
  provider.state.down = true;
  const { token: last } = await stored(page);
  await page.waitForEvent('requestfailed', (request) => request.url() === `${provider.issuer}/token`);
  provider.state.down = false;
  await page.waitForFunction((old) => JSON.parse(sessionStorage.getItem('carrel.app.session')).token !== old, last, {
    polling: 200,
  });
  provider.state.lifetime = 3600;
  await page.waitForFunction(
    () => JSON.parse(sessionStorage.getItem('carrel.app.session')).grant.renewAt > Date.now() + 1_000_000,
    undefined,
    { polling: 100 },
  );
  const { token: current } = await stored(page);
  expect(await page.locator('.warnings').innerText(), '', 'warnings after renewals');
  const connected = await until(() => sockets.includes(`Bearer ${current}`));
  expect([connected, new Set(sockets).size], [true, sockets.length], 'a socket for each token');
  await create('Made by another program');
  await entry(page, 'Made by another program').waitFor({ state: 'attached' });
  expect(
    await dialog(page).getByRole('textbox', { name: 'Title' }).inputValue(),
    'Typed during renewals',
    'what was typed',
  );
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await says(page, 'is in your library');
  forget(/ERR_EMPTY_RESPONSE|ERR_CONNECTION/);
  await page.context().close();
}

// refusedToken: the gateway refuses the token early, and the page renews it without a word. Then the provider has ended
// the sign-in: the page says so, and the reader continues at the same place.
async function refusedToken() {
  const page = await open();
  await signIn(page, 'u:demo:ann');
  await live(page);
  const { token: first } = await stored(page);
  await page.route('**/graphql', (route) =>
    route.request().headers().authorization === `Bearer ${first}` ? route.fulfill(unauthenticated) : route.continue(),
  );
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('link', { name: 'Library team', exact: true }).waitFor();
  expect((await stored(page)).token === first, false, 'the token is the first one');
  expect(await page.locator('.warnings').innerText(), '', 'warnings after a renewal');

  provider.state.ended = true;
  await page.unrouteAll();
  await page.route('**/graphql', (route) => route.fulfill(unauthenticated));
  await page.getByRole('link', { name: 'Search' }).click();
  await page.getByRole('searchbox').or(page.getByRole('combobox')).first().fill('ann');
  await warning(page, 'Your sign-in has expired.');
  provider.state.ended = false;
  await page.unrouteAll();
  await page.waitForURL(`${base}/app/find?q=ann`);
  const there = page.url();
  await page.getByRole('button', { name: 'Sign in again' }).click();
  await dialog(page).getByText('Your sign-in has expired. You were Ann Archer.').waitFor();
  const arrival = page.waitForRequest(/\/app\/signed-in\?/);
  await leave(page);
  await arrival;
  await page.locator('.warnings').getByText('expired').waitFor({ state: 'detached' });
  await page.getByRole('banner').getByRole('button', { name: 'Ann Archer' }).waitFor();
  expect([page.url(), await page.locator('.warnings').innerText()], [there, ''], 'the page after signing in again');
  forget(/status of 40[01]/);
  await page.context().close();
}

// typedText: the sign-in ends while the reader types. Signing in again in another tab keeps the text, and does not take
// the sign-in of somebody else.
async function typedText() {
  const page = await open();
  await signIn(page, 'u:demo:ann');
  await page.getByRole('banner').getByRole('button', { name: 'New' }).click();
  const edit = dialog(page).filter({ has: page.getByRole('textbox', { name: 'Title' }) });
  await edit.getByRole('radio', { name: 'Note' }).check();
  await edit.getByRole('textbox', { name: 'Title' }).fill('Typed before the end');
  provider.state.ended = true;
  await page.route('**/graphql', (route) => route.fulfill(unauthenticated));
  await edit.getByRole('button', { name: 'Create', exact: true }).click();
  await edit.getByRole('button', { name: 'Sign in again' }).click();
  provider.state.ended = false;
  await page.unrouteAll();
  await page.context().clearCookies();
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  for (const user of ['u:demo:cleo', 'u:demo:ann']) {
    const opened = page.context().waitForEvent('page');
    await again.getByRole('link', { name: 'Continue in another tab' }).click();
    const other = await opened;
    await enter(other, user);
    await other.getByRole('heading', { name: 'Signed in' }).waitFor();
    expect(new URL(other.url()).search, '', 'the query of the other tab');
    expect(await other.evaluate(() => sessionStorage.length), 0, 'what the other tab keeps');
    await other.close();
    if (user === 'u:demo:ann') break;
    await again.getByText('That was u:demo:cleo. Here you were u:demo:ann.').waitFor();
    await again.getByRole('button', { name: 'Try again' }).click();
  }
  await again.waitFor({ state: 'detached' });
  expect(await edit.getByRole('textbox', { name: 'Title' }).inputValue(), 'Typed before the end', 'what was typed');
  await edit.getByRole('button', { name: 'Create', exact: true }).click();
  await says(page, '“Typed before the end” is in your library.');
  expect(await page.locator('.warnings').innerText(), '', 'warnings after signing in again');
  forget(/status of 40[01]/);
  await page.context().close();
}

const unauthenticated = {
  status: 401,
  contentType: 'application/json',
  body: '{"errors":[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]}',
};

// create creates an item of Ann's without the page.
async function create(title) {
  const query =
    'mutation ($title: String!) { createContent(input: {tenant: "demo", kind: NOTE, title: $title, visibility: PRIVATE}) { userErrors { message } } }';
  const answer = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables: { title } }),
  });
  const { data, errors } = await answer.json();
  expect([errors, data?.createContent.userErrors], [undefined, []], 'an item of another program');
}

// renewed waits until a page has renewed its token several times.
async function renewed(page, times) {
  for (let time = 0; time < times; time += 1) {
    const { token: last } = await stored(page);
    await page.waitForFunction((old) => JSON.parse(sessionStorage.getItem('carrel.app.session')).token !== old, last, {
      polling: 100,
    });
  }
}

// until waits until a condition is true.
async function until(condition) {
  const end = performance.now() + patience;
  while (!condition()) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

const scenes = { inAndOut, refused, tampered, providerDown, renewal, refusedToken, typedText };
const failures = [];
for (const [name, scene] of Object.entries(scenes)) {
  if (process.argv.length > 2 && !process.argv.includes(name)) continue;
  const began = performance.now();
  faults.length = 0;
  Object.assign(provider.state, { lifetime: 3600, down: false, ended: false });
  try {
    await scene();
    if (faults.length > 0) throw new Error(`the page had errors:\n${faults.join('\n')}`);
    console.log(`${name}: passed in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  } catch (fault) {
    failures.push(`${name}: ${fault.message ?? fault}\n${faults.join('\n')}`);
    for (const page of browser.contexts().flatMap((context) => context.pages())) {
      console.error(
        `${page.url()} shows:\n${await page
          .locator('body')
          .innerText({ timeout: 5000 })
          .catch((error) => error.message)}`,
      );
    }
    await Promise.all(browser.contexts().map((context) => context.close()));
  }
}
await browser.close();
await gateway.close();
provider.close();
if (failures.length > 0) console.error(`${failures.length} scenes failed:\n${failures.join('\n')}`);
process.exit(failures.length > 0 ? 1 : 0);
