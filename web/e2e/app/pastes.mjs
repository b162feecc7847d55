// Pastes: creating one, reading it, changing and deleting it by its secret, the
// list that grows, and the newest items of a tenant.
import { dialog, discard, expect, fits, says } from './fixture.mjs';

const row = (page, title) => page.locator('[data-paste]').filter({ has: page.getByRole('link', { name: title, exact: true }) });
const created = (page) => page.getByRole('region', { name: 'Paste created' });
const shownText = (page) => page.locator('.code-text').textContent();

async function openPastes(openAs, name, options) {
  const page = await openAs(name, { path: '/app/pastes', ...options });
  if (name) await page.getByRole('link', { name: 'Pastes' }).click();
  await page.getByText('New pastes appear here as they are created.').waitFor({ state: 'attached' });
  return page;
}

// fillPaste opens the form of a new paste and fills it in.
async function fillPaste(page, { title, text, isPrivate = false, expires }) {
  await page.getByRole('button', { name: 'New paste' }).click();
  await dialog(page).getByRole('textbox', { name: 'Text' }).and(page.locator(':focus')).fill(text);
  if (title) await dialog(page).getByRole('textbox', { name: 'Title' }).fill(title);
  if (isPrivate) await dialog(page).getByRole('radio', { name: /^Unlisted/ }).check();
  if (expires) await dialog(page).getByRole('combobox', { name: 'Expires' }).selectOption({ label: expires });
}

async function createPaste(page, paste) {
  await fillPaste(page, paste);
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await created(page).waitFor();
  return { id: new URL(page.url()).pathname.split('/').at(-1), secret: await created(page).locator('dd').nth(1)
    .locator('code').textContent() };
}

const goProgram = 'package main\n\nfunc main() {\n\tprintln("hello")\n}\n';

// visitorPaste creates a paste as a visitor, who sees its link, its secret (once) and its
// highlighted text, and then changes and deletes it with the secret.
export async function visitorPaste({ openAs, base }) {
  const page = await openPastes(openAs, null);
  await page.getByRole('button', { name: 'New paste' }).click();
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await dialog(page).getByText('Enter the text of the paste.').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('x'.repeat(512 * 1024 + 1));
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await dialog(page).getByText('A paste has at most 512 KiB. This text has 513 KiB.').waitFor();
  await page.keyboard.press('Escape');
  await discard(page);

  const { id, secret } = await createPaste(page, { title: 'hello.go', text: goProgram });
  expect(/^[A-Za-z0-9_-]{43}$/.test(secret), true, 'the form of the secret');
  expect(await created(page).locator('dd').first().locator('code').textContent(), `${base}/app/pastes/${id}`, 'the link');
  expect(await shownText(page), goProgram, 'the text');
  await page.locator('.hljs-keyword', { hasText: 'package' }).waitFor();
  await page.getByRole('combobox', { name: 'Language' }).selectOption({ label: 'Plain text' });
  await page.locator('.hljs-keyword').first().waitFor({ state: 'detached' });
  const raw = await page.request.get(await page.getByRole('link', { name: 'Plain text' }).evaluate((link) => link.href));
  expect([await raw.text(), raw.headers()['content-type']], [goProgram, 'text/plain; charset=utf-8'], 'the plain text');

  // Leaving asks before the secret is lost. Pastes expire unless one says otherwise.
  await page.getByRole('link', { name: 'Pastes' }).first().click();
  await page.getByRole('dialog', { name: 'Leave without its secret?' }).getByRole('button', { name: 'Stay' }).click();
  await page.goBack();
  await page.getByRole('dialog', { name: 'Leave without its secret?' }).getByRole('button', { name: 'Stay' }).click();
  await created(page).waitFor();
  const days = (Date.parse(await page.locator('.library-about time').last().getAttribute('datetime')) - Date.now()) / 86_400_000;
  expect(Math.round(days), 30, 'the days until the paste expires');

  // The secret is shown once: not to visitors of the link, and not after a reload.
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'hello.go' }).waitFor();
  expect(await created(page).count(), 0, 'panels with the secret after a reload');
  expect((await page.content()).includes(secret), false, 'the secret in the page after a reload');

  await page.getByRole('button', { name: 'Edit…' }).click();
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('changed');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText('Enter the secret of the paste.').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Secret' }).fill('wrong');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByText('This is not the secret of the paste.').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Secret' }).and(page.locator(':focus')).fill(secret);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await says(page, 'Saved.');
  await page.locator('.code-text', { hasText: 'changed' }).waitFor();

  // The tab remembers the secret now.
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog(page).getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 'The paste was deleted.');
  await page.getByRole('heading', { level: 1, name: 'Pastes' }).waitFor();
  expect(await row(page, 'hello.go').count(), 0, 'rows of the paste that was deleted');
  await page.goto(`${base}/app/pastes/${id}`);
  await page.getByText('There is no paste with this link.').waitFor();

  // A paste that is in no list is lost without its link, too.
  await page.getByRole('link', { name: 'See the newest pastes' }).click();
  await createPaste(page, { title: 'unlisted.txt', text: 'Only for some.', isPrivate: true });
  await page.getByText('Unlisted · Created').waitFor();
  const back = page.getByRole('link', { name: 'Pastes' }).first();
  await back.click();
  const asked = page.getByRole('dialog', { name: 'Leave without its link and its secret?' });
  await asked.getByText('Without its link, nobody can open it.').waitFor();
  await asked.getByText('Without it, nobody can change or delete the paste.').waitFor();
  await asked.getByRole('button', { name: 'Stay' }).click();
  await page.evaluate(() => (navigator.clipboard.writeText = async () => {}));
  await page.getByRole('button', { name: 'Copy the secret' }).click();
  await says(page, 'Secret copied.');
  await back.click();
  await page.getByRole('dialog', { name: 'Leave without its link?' }).getByRole('button', { name: 'Stay' }).click();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await says(page, 'Link copied.');
  await back.click();
  await page.getByRole('heading', { level: 1, name: 'Pastes' }).waitFor();
  await page.context().close();
}

const createMutation = 'mutation ($input: CreatePasteInput!) { createPaste(input: $input) { paste { id } secret userErrors { message } } }';

// pastesArrive: pastes that others create appear immediately if the list is at its top, and
// otherwise after a click on a button. Private and expired pastes are not shown.
export async function pastesArrive({ openAs, api }) {
  const make = async (input) => (await api('Ann', createMutation, { input: { body: 'text', ...input } })).createPaste;
  const page = await openPastes(openAs, 'Cleo');
  await make({ title: 'private one', isPrivate: true });
  await make({ title: 'first arrival' });
  await row(page, 'first arrival').waitFor();
  expect(await page.locator('[data-paste] a').first().textContent(), 'first arrival', 'the newest');
  expect(await row(page, 'private one').count(), 0, 'private pastes in the list');

  for (let n = 0; n < 40; n += 1) await make({ title: `filler ${n}` });
  await row(page, 'filler 39').waitFor();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const before = await page.evaluate(() => scrollY);
  if (before < 300) throw new Error(`the list is too short to scroll: ${before}`);
  await make({ title: 'second arrival' });
  await page.getByRole('button', { name: '1 new paste' }).waitFor();
  expect(await row(page, 'second arrival').count(), 0, 'rows that were added above the view');
  await page.getByRole('button', { name: '1 new paste' }).click();
  await row(page, 'second arrival').waitFor();
  await page.waitForFunction(() => scrollY === 0);

  // An expired paste disappears from the list and from its page without a reload.
  const soon = new Date(Date.now() + 4000).toISOString();
  const { paste } = await make({ title: 'short-lived', expiresAt: soon });
  await row(page, 'short-lived').getByRole('link').click();
  await page.locator('.code-text', { hasText: 'text' }).waitFor();
  expect(new URL(page.url()).pathname.endsWith(paste.id), true, 'the address of the paste');
  await page.getByText('There is no paste with this link.').waitFor();
  await page.getByRole('link', { name: 'See the newest pastes' }).click();
  await row(page, 'second arrival').waitFor();
  expect(await row(page, 'short-lived').count(), 0, 'rows of the paste that has expired');
  await page.context().close();
}

// pasteConflict edits a paste that another holder of the secret changes meanwhile. The typed
// text stays, and replaces the other one only when it is saved again.
export async function pasteConflict({ openAs, api }) {
  const page = await openPastes(openAs, 'Ann');
  const { id, secret } = await createPaste(page, { title: 'notes', text: 'mine', isPrivate: true });
  await page.getByRole('button', { name: 'I have saved the link and the secret' }).click();
  await created(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Edit…' }).click();
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('mine, longer');
  await api('Anonymous', 'mutation ($input: UpdatePasteInput!) { updatePaste(input: $input) { userErrors { message } } }',
    { input: { id, secret, body: 'theirs' } });
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  const conflict = dialog(page).getByText('Somebody else changed this paste while you edited it.');
  await conflict.waitFor();
  expect(await conflict.evaluate((element) => element.getBoundingClientRect().bottom < innerHeight), true,
    'whether the conflict is in view');
  expect(await dialog(page).getByRole('textbox', { name: 'Text' }).inputValue(), 'mine, longer', 'the typed text');
  await dialog(page).getByRole('button', { name: 'Replace their version' }).click();
  await says(page, 'Saved.');
  await page.locator('.code-text', { hasText: 'mine, longer' }).waitFor();

  // What the form shows is what the other version is replaced with, also the fields that only the others have changed.
  const stored = async () => (await api('Ann', 'query ($id: ID!) { paste(id: $id) { title body isPrivate expiresAt } }', { id })).paste;
  const { expiresAt } = await stored();
  const replaced = async (mine, theirs, result) => {
    await page.getByRole('button', { name: 'Edit…' }).click();
    await dialog(page).getByRole('textbox', { name: 'Secret' }).fill(secret);
    await dialog(page).getByRole('textbox', { name: 'Text' }).fill(mine);
    const { updatePaste } = await api('Anonymous',
      'mutation ($input: UpdatePasteInput!) { updatePaste(input: $input) { userErrors { message } } }',
      { input: { id, secret, ...theirs } });
    expect(updatePaste.userErrors, [], 'faults of the change of the others');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await conflict.waitFor();
    // An error in between does not change what is sent.
    await dialog(page).getByRole('textbox', { name: 'Secret' }).fill('');
    await dialog(page).getByRole('button', { name: 'Replace their version' }).click();
    await dialog(page).getByText('Enter the secret of the paste.').waitFor();
    await dialog(page).getByRole('textbox', { name: 'Secret' }).fill(secret);
    await dialog(page).getByRole('button', { name: /^(Save|Replace their version)$/ }).click();
    await says(page, 'Saved.');
    expect(await stored(), result, `the paste after ${mine}`);
  };
  await replaced('confidential', { title: 'theirs', isPrivate: false, clearExpiry: true },
    { title: 'notes', body: 'confidential', isPrivate: true, expiresAt });
  const { updatePaste } = await api('Anonymous',
    'mutation ($input: UpdatePasteInput!) { updatePaste(input: $input) { paste { id } userErrors { message } } }',
    { input: { id, secret, isPrivate: false, clearExpiry: true } });
  expect(updatePaste.userErrors, [], 'faults of publishing the paste');
  await page.reload();
  await page.getByText('Public · Created').waitFor();
  await replaced('for all', { title: 'hidden', isPrivate: true, expiresAt: new Date(Date.now() + 3_600_000).toISOString() },
    { title: 'notes', body: 'for all', isPrivate: false, expiresAt: null });
  await page.context().close();
}

// secretBeforeSignIn: signing in with a token asks before the secret of a new paste is lost, unless the token is refused or the same
// user signs in again.
export async function secretBeforeSignIn({ openAs, viewers }) {
  const tokenOf = (name) => viewers.find((viewer) => viewer.name === name).token;
  const page = await openPastes(openAs, null);
  const signIn = async (token) => {
    await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
    await dialog(page).getByRole('textbox', { name: 'Access token' }).fill(token);
    await dialog(page).getByRole('button', { name: 'Sign in', exact: true }).click();
  };
  await createPaste(page, { title: 'kept.txt', text: 'With a secret.' });
  await signIn(tokenOf('Ann'));
  const asked = page.getByRole('dialog', { name: 'Leave without its secret?' });
  await asked.getByRole('button', { name: 'Stay' }).click();
  await asked.waitFor({ state: 'detached' });
  await dialog(page).getByRole('textbox', { name: 'Access token' }).fill('no token');
  await dialog(page).getByRole('button', { name: 'Sign in', exact: true }).click();
  await dialog(page).getByText('This is not a user token.').waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await created(page).waitFor();
  await signIn(tokenOf('Ann'));
  await asked.getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('link', { name: 'My library' }).waitFor();
  await page.context().close();
}

// pasteMarkup reads a paste whose text is an HTML page.
export async function pasteMarkup({ openAs, api }) {
  const body = '<script>document.title = "owned"</script>\n<img src=x onerror="document.title=\'owned\'">\n';
  const { paste } = (await api('Ann', createMutation, { input: { title: '<b>evil.html</b>', body } })).createPaste;
  const page = await openAs(null, { path: `/app/pastes/${paste.id}` });
  await page.getByRole('heading', { level: 1, name: '<b>evil.html</b>' }).waitFor();
  await page.getByRole('combobox', { name: 'Language' }).selectOption({ label: 'HTML, XML' });
  await page.locator('.hljs-name', { hasText: 'script' }).first().waitFor();
  expect(await shownText(page), body, 'the text');
  expect(await page.locator('.code img, .code script').count(), 0, 'elements that came with the text');
  await page.waitForFunction(() => document.title === '<b>evil.html</b> · Carrel');
  await page.context().close();
}

// pasteFaults keeps typed text when the gateway refuses the change or is unavailable.
export async function pasteFaults({ openAs }) {
  const page = await openPastes(openAs, null);
  await page.route('**/graphql', (route) => {
    if (!route.request().postData()?.includes('createPaste')) return route.fallback();
    return route.fulfill({
      contentType: 'application/graphql-response+json',
      body: JSON.stringify({ errors: [{ message: 'slow down', extensions: { code: 'RATE_LIMITED', retryAfter: 20 } }] }),
    });
  });
  await fillPaste(page, { text: 'typed text' });
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await dialog(page).getByText('Too many requests in a short time. Try again in 20 s.').waitFor();
  expect(await dialog(page).getByRole('textbox', { name: 'Text' }).inputValue(), 'typed text', 'the typed text');
  await page.unroute('**/graphql');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await created(page).waitFor();
  await page.context().close();
}

// pastesOnPhone uses the pages on a small screen.
export async function pastesOnPhone({ openAs }) {
  const page = await openPastes(openAs, null, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
  await fits(page, 'the list');
  await page.getByRole('button', { name: 'New paste' }).click();
  await fits(page, 'the form');
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill(`${'long '.repeat(100)}\n${goProgram}`);
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await created(page).waitFor();
  await fits(page, 'the paste');
  await page.context().close();
}

// newestItems lists the public items of a tenant in the order of their creation.
export async function newestItems({ openAs, api }) {
  const title = 'brand new for everyone';
  await api('Ann', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { userErrors { message } } }', {
    input: { kind: 'NOTE', title, visibility: 'PUBLIC' },
  });
  const page = await openAs('Cleo', { path: '/app' });
  await page.getByRole('link', { name: 'Newest', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Newest items' }).waitFor();
  const titles = page.locator('[data-newest] > a');
  await titles.first().waitFor();
  expect(await titles.first().textContent(), title, 'the newest item');
  const shown = await titles.count();
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.waitForFunction((n) => document.querySelectorAll('[data-newest]').length > n, shown);
  await titles.first().click();
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
  await page.context().close();

  // Visitors choose a tenant.
  const visitor = await openAs(null, { path: '/app/newest' });
  await visitor.getByRole('textbox', { name: 'Organisation' }).fill('demo');
  await visitor.getByRole('button', { name: 'Show' }).click();
  await visitor.getByRole('link', { name: title }).waitFor();
  expect(new URL(visitor.url()).search, '?tenant=demo', 'the address');
  await visitor.goto(visitor.url().replace('demo', 'nobody-here'));
  await visitor.getByText('nobody-here has no public items.').waitFor();
  await visitor.goto(visitor.url().replace('nobody-here', 'not a tenant'));
  await visitor.getByText('is not the short name of an organisation').waitFor();
  await visitor.context().close();
}
