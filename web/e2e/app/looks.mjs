// The appearance of libraries and items (days, density, avatars, Markdown), the shortcut keys, the
// link to GraphiQL, the profile, and the expiry of an item.
import { dialog, entriesOf, entry, expect, fits, focused, item, live, openEntry } from './fixture.mjs';

const largest = 'g:demo:standard-library';

const create = async (api, name, input) => {
  const { createContent } = await api(name,
    'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }', { input });
  expect(createContent.userErrors, [], 'errors of a new item');
  return createContent.content.id;
};

// fullWidth: no space is reserved for a missing scrollbar.
export async function fullWidth({ openAs, base }) {
  const page = await openAs('Ann');
  for (const path of ['/app/find', '/app/groups', `/app/library/${largest}`]) {
    await page.goto(base + path);
    await page.getByRole('main').getByRole('heading').first().waitFor();
    const [banner, width] = await page.evaluate(() => [document.querySelector('.banner').getBoundingClientRect().right, innerWidth]);
    expect(banner, width, `the right end of the banner of ${path}`);
  }
  await page.context().close();
}

// jumpToNewest: a button that stays in view leads to the newest entry from anywhere, in both
// orders.
export async function jumpToNewest({ api, openAs, base }) {
  const id = await create(api, 'Ann', { kind: 'NOTE', title: 'The newest of all', visibility: 'PRIVATE' });
  const page = await openAs('Ann', { viewport: { width: 1000, height: 600 } });
  await page.locator('[data-entry]').first().waitFor();
  const jump = page.getByRole('button', { name: 'Jump to newest' });
  expect(await jump.count(), 0, 'buttons to the newest entry when it is in view');
  await page.locator('[data-entry]').nth(20).scrollIntoViewIfNeeded();
  await jump.waitFor();
  const bar = await jump.boundingBox();
  if (bar.y < 0 || bar.y > 60) throw new Error(`the button is at ${bar.y}`);
  // The bar and the heading of a day do not cover each other.
  const [below, day] = await page.evaluate(() => [document.querySelector('.library-bar').getBoundingClientRect().bottom,
    document.querySelector('.group-name').getBoundingClientRect().top]);
  if (day < below - 1 && day > 0) throw new Error(`a heading at ${day} is under the bar that ends at ${below}`);
  await jump.click();
  await page.waitForFunction((entry) => scrollY === 0 && document.activeElement.closest('[data-entry]')?.dataset.entry === entry, id);
  await jump.waitFor({ state: 'detached' });

  // Oldest first, the newest are at the end, which is read at once.
  let pages = 0;
  page.on('request', (request) => (pages += request.postData()?.includes('LibraryPage') ? 1 : 0));
  await page.goto(`${base}/app/library/u:demo:ann?order=oldest`);
  await page.locator('[data-entry]').first().waitFor();
  await jump.click();
  await page.waitForFunction((entry) => document.activeElement.closest('[data-entry]')?.dataset.entry === entry, id);
  await page.getByText('No more items').waitFor();
  await jump.waitFor({ state: 'detached' });
  if (pages > 3) throw new Error(`${pages} pages were read to get to the end`);
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id });
  await page.context().close();
}

// compactView shows more items, and is remembered.
export async function compactView({ openAs, base }) {
  const page = await openAs('Ann', { path: `/app/library/${largest}` });
  const first = page.locator('[data-entry]').first();
  await first.waitFor();
  const height = async () => (await first.boundingBox()).height;
  const roomy = await height();
  const button = page.getByRole('button', { name: 'Compact list' });
  expect(await button.getAttribute('aria-pressed'), 'false', 'compact at first');
  await button.click();
  await button.and(page.locator('[aria-pressed="true"]')).waitFor();
  if ((await height()) > roomy / 2) throw new Error(`a compact item is ${await height()} high instead of ${roomy}`);
  await page.reload();
  await first.waitFor();
  await button.and(page.locator('[aria-pressed="true"]')).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, 'a compact library');
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.goto(`${base}/app/library/u:demo:ann`);
  await button.click();
  await page.reload();
  await button.and(page.locator('[aria-pressed="false"]')).waitFor();
  await page.context().close();
}

// dayHeadings are named in the reader's time zone.
export async function dayHeadings({ api, openAs }) {
  const id = await create(api, 'Ann', { kind: 'NOTE', title: 'Of today', visibility: 'PRIVATE' });
  const page = await openAs('Ann');
  await entry(page, 'Of today').waitFor();
  const names = () => page.locator('.group-name').allTextContents();
  expect((await names())[0], 'Today', 'the first day');
  // The same page a day later.
  await page.clock.install({ time: Date.now() + 24 * 3600 * 1000 });
  await page.reload();
  await entry(page, 'Of today').waitFor();
  expect((await names())[0], 'Yesterday', 'the first day, a day later');
  // And a day later, without reloading.
  await page.clock.fastForward('24:00:00');
  await page.locator('.group-name').first().filter({ hasNotText: 'Yesterday' }).waitFor();
  if (!/\d{4}$/.test((await names())[0])) throw new Error(`two days later it is ${(await names())[0]}`);
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id });
  await page.context().close();
}

// avatars differ even if the initials are equal.
export async function avatars({ api, openAs }) {
  for (const name of ['twin-1', 'twin-2']) {
    await api('Ann', 'mutation ($name: String!) { createGroup(input: {tenant: "demo", name: $name, displayName: "Twin Tower", visibility: LOGGEDIN}) { userErrors { message } } }', { name });
  }
  const page = await openAs('Ann', { path: '/app/find?q=twin' });
  await page.getByRole('link', { name: 'Twin Tower' }).nth(1).waitFor();
  const looks = await page.locator('.principals .monogram')
    .evaluateAll((all) => all.map((one) => [one.textContent, getComputedStyle(one).backgroundColor]));
  expect(looks.map(([letters]) => letters), ['TT', 'TT'], 'initials');
  if (looks[0][1] === looks[1][1]) throw new Error(`both avatars are ${looks[0][1]}`);
  await page.context().close();
}

const hostile = [
  '# Heading',
  'A **bold** word, https://example.org/plain and [a link](https://example.org/named).',
  '',
  '<img src="https://evil.example/a.png" onerror="globalThis.hit = 1"><script>globalThis.hit = 1</script>',
  '![a picture](https://evil.example/b.png)',
  '[run](javascript:globalThis.hit=1) [data](data:text/html,x) [inside](/dev/viewers)',
  '',
  '- one',
  '- two',
  '',
  'هذا نص، وفيه كلمة Carrel في الوسط.',
  '',
  '* واحد',
  '',
  '```',
  'نص',
  '```',
].join('\n');

// markdown is rendered in an item and removed in the list. Nothing in it runs or is loaded;
// requests to other origins are faults of the page anyway.
export async function markdown({ api, openAs, base }) {
  const id = await create(api, 'Ann', { kind: 'NOTE', title: 'Marked down', description: hostile, visibility: 'PRIVATE' });
  const page = await openAs('Ann');
  await entry(page, 'Marked down').getByText('Heading A bold word, https://example.org/plain and a link.').waitFor();
  await openEntry(page, 'Marked down');
  const text = item(page).locator('.markdown');
  await text.getByRole('heading', { level: 3, name: 'Heading' }).waitFor();
  expect(await text.getByRole('listitem').allTextContents(), ['one', 'two', 'واحد'], 'the lists');
  expect(await text.locator('strong').allTextContents(), ['bold'], 'what is bold');
  const links = await text.getByRole('link').evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.rel, link.target]));
  const rel = 'noopener noreferrer nofollow';
  expect(
    links,
    // Markup is text here, and an address in a text is a link.
    ['https://example.org/plain', 'https://example.org/named', 'https://evil.example/a.png',
      'https://evil.example/b.png'].map((href) => [href, rel, '_blank']),
    'the links',
  );
  await text.getByText('<img src="https://evil.example/a.png').waitFor();
  const fromRight = await text.locator(':scope > *, li').evaluateAll((all) => all
    .filter((one) => getComputedStyle(one).direction === 'rtl').map((one) => one.tagName));
  expect(fromRight, ['P', 'UL', 'LI'], 'what is from right to left');
  expect(await text.locator('pre').evaluate((one) => getComputedStyle(one).direction), 'ltr', 'the direction of code');
  expect(await page.locator('main img, main script, main iframe, main style').count(), 0, 'elements from the text');
  expect(await page.evaluate(() => globalThis.hit ?? null), null, 'scripts that have run');
  await page.goto(`${base}/app/item/${id}`);
  await page.getByRole('heading', { level: 3, name: 'Heading' }).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, 'an item in Markdown');
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id });
  await page.context().close();
}

// shortcutKeys move through a list and lead to the search, but not while the user types.
export async function shortcutKeys({ openAs, base }) {
  const page = await openAs('Ann', { path: `/app/library/${largest}` });
  await page.locator('[data-entry]').first().waitFor();
  await live(page);
  const ids = await entriesOf(page);
  const current = () => page.evaluate(() => document.activeElement.closest('[data-entry]')?.dataset.entry ?? null);
  await page.keyboard.press('j');
  expect(await current(), ids[0], 'the first item after j');
  for (let i = 0; i < 8; i += 1) await page.keyboard.press('j');
  expect(await current(), ids[8], 'the item after eight more');
  await page.keyboard.press('k');
  expect(await current(), ids[7], 'the item after k');
  // The element with focus is in view, and not under the bar.
  const [top, bottom, bar, height] = await page.evaluate(() => {
    const box = document.activeElement.closest('[data-entry]').getBoundingClientRect();
    return [box.top, box.bottom, document.querySelector('.library-bar').getBoundingClientRect().bottom, innerHeight];
  });
  if (top < bar || bottom > height) throw new Error(`the item is at ${top} to ${bottom}, in view is ${bar} to ${height}`);
  await page.keyboard.press('Enter');
  await item(page).getByRole('heading', { level: 2 }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('j');
  expect(await current(), ids[8], 'the item after the open one');
  await page.keyboard.press('Enter');
  await page.waitForFunction((id) => new URLSearchParams(location.search).get('item') === id, ids[8]);

  // Esc closes the open item also while the list has focus, which stays there, but not while the user types.
  const opened = () => page.evaluate(() => new URLSearchParams(location.search).get('item'));
  await item(page).getByRole('heading', { level: 2 }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Escape');
  await item(page).waitFor({ state: 'detached' });
  expect([await opened(), await current()], [null, ids[9]], 'the open item, and the one with focus, after Esc in the list');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await item(page).getByRole('heading', { level: 2 }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.press('Escape');
  expect(await opened(), ids[8], 'the open item after Esc in the search field');
  await page.keyboard.press('Tab');

  await page.keyboard.press('?');
  await dialog(page).getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
  const before = await page.evaluate(() => document.activeElement.closest('dialog') !== null);
  await page.keyboard.press('j');
  expect([before, await page.evaluate(() => document.activeElement.closest('dialog') !== null)], [true, true], 'focus in the dialog');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });

  // The search field is that of the page in view, or else that of the search page.
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Search in this library' }).and(page.locator(':focus')).waitFor();
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('heading', { level: 1, name: 'My groups' }).waitFor();
  await page.keyboard.press('/');
  const search = page.getByRole('searchbox', { name: 'Words of an item' });
  await search.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('j/k?');
  expect(await search.inputValue(), 'j/k?', 'what was typed');
  expect(await dialog(page).count(), 0, 'dialogs opened by typing');
  await search.fill('e');
  const found = page.locator('.principals li');
  // The results of an earlier text stay until those of this one are there.
  await found.first().filter({ hasText: 'Eli Evans' }).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Search' }).click();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  expect(await focused(page), await found.nth(1).getByRole('link').textContent(), 'the second one that was found');
  // With a modifier it is another key.
  await page.goto(`${base}/app/groups`);
  await page.locator('main li').first().waitFor();
  await page.keyboard.press('Control+/');
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await dialog(page).getByText('Next item', { exact: true }).waitFor();
  expect(new URL(page.url()).pathname, '/app/groups', 'the page after Control and /');
  await page.context().close();
}

// graphiqlLink leads to GraphiQL with the query of the page, and back.
export async function graphiqlLink({ openAs, base }) {
  const page = await openAs('Ann', { path: `/app/library/${largest}` });
  await page.locator('[data-entry]').first().waitFor();
  // By keyboard: the link is below the list, which grows when its end is in view, so the link may
  // move away between the two halves of a click.
  await page.getByRole('link', { name: 'Open in GraphiQL' }).press('Enter');
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: 'query Library(' }).waitFor();
  await page.locator('.graphiql-editor-tool .view-lines').first().filter({ hasText: largest }).waitFor();
  await page.getByRole('link', { name: 'Open the app' }).click();
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await page.getByRole('link', { name: 'API documentation' }).press('Enter');
  await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).waitFor();
  // A second link opens a second tab, also if tabs were stored; variables may be missing.
  await page.goto(`${base}/?query=${encodeURIComponent('query Linked { viewer { id } }')}`);
  const linked = page.locator('.graphiql-tab').filter({ hasText: 'Linked' });
  await linked.and(page.locator('[aria-selected="true"]')).waitFor();
  await page.reload();
  await linked.and(page.locator('[aria-selected="true"]')).waitFor();
  expect(await linked.count(), 1, 'tabs of a link that was loaded twice');
  await page.context().close();
}

// profilePage: users change their own name, email and visibility.
export async function profilePage({ api, openAs }) {
  const { user: before } = await api('Zed', '{ user(id: "u:acme:zed") { displayName email visibility } }');
  const page = await openAs('Zed');
  await page.getByRole('banner').getByRole('button', { name: 'Zed Zhou' }).click();
  await dialog(page).getByRole('button', { name: 'Edit profile…' }).click();
  const field = (name) => dialog(page).getByRole('textbox', { name });
  await field('Name').and(page.locator(':focus')).waitFor();
  await dialog(page).getByText('People of other organisations share with you by your id: u:acme:zed').waitFor();
  await field('Email').fill('zed');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await field('Email').and(page.locator('[aria-invalid="true"]')).waitFor();
  await field('Email').fill('zed@acme.example');
  await field('Name').fill('Zed Zapata');
  await dialog(page).getByRole('radio', { name: 'Private' }).check();
  await dialog(page).getByText('Managers of items shared with you, and of your groups, still see your name.').waitFor();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('banner').getByRole('button', { name: 'Zed Zapata' }).waitFor();
  const { user } = await api('Zed', '{ user(id: "u:acme:zed") { displayName email visibility } }');
  expect(user, { displayName: 'Zed Zapata', email: 'zed@acme.example', visibility: 'PRIVATE' }, 'the profile');
  await api('Zed', 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { userErrors { message } } }',
    { input: { id: 'u:acme:zed', ...before } });
  await page.context().close();
}

// expiry is set, changed and removed, in the time zone of the reader.
export async function expiry({ api, openAs }) {
  const id = await create(api, 'Ann', { kind: 'NOTE', title: 'Passing', visibility: 'PRIVATE' });
  const page = await openAs('Ann', { path: `/app/item/${id}`, timezoneId: 'Asia/Kathmandu' });
  const read = async () => (await api('Ann', 'query ($id: ID!) { content(id: $id) { expiresAt version } }', { id })).content;
  const save = () => dialog(page).getByRole('button', { name: 'Save' }).click();
  const open = () => page.getByRole('button', { name: 'Expiry…' }).click();
  const field = dialog(page).getByLabel('Date and time');
  await open();
  await dialog(page).getByRole('radio', { name: 'On a date' }).check();
  await save();
  await dialog(page).getByText('Enter a date and a time.').waitFor();
  await field.fill('2001-01-01T10:00');
  await save();
  await field.and(page.locator('[aria-invalid="true"]')).waitFor();
  await field.fill('2099-01-01T05:45');
  await save();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await read(), { expiresAt: '2099-01-01T00:00:00.000000Z', version: 1 }, 'the item with an expiry');
  await page.getByRole('definition').filter({ hasText: '1 January 2099' }).waitFor();
  await open();
  expect(await field.inputValue(), '2099-01-01T05:45', 'what the field shows');
  await dialog(page).getByRole('radio', { name: 'Never' }).check();
  await save();
  await dialog(page).waitFor({ state: 'detached' });
  expect((await read()).expiresAt, null, 'the expiry that was removed');
  await page.getByText('1 January 2099').waitFor({ state: 'detached' });
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id });
  await page.context().close();
}

// firstItemAbove: the first item is in the upper half of the window, on the desktop and on a phone:
// filters are behind one button. It shows how many are on.
export async function firstItemAbove({ openAs }) {
  const phone = { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true };
  for (const [name, options] of [['Ann', { viewport: { width: 1280, height: 720 } }], ['Ann', phone], ['Cleo', phone]]) {
    const page = await openAs(name, options);
    for (const path of [null, `/app/library/${largest}`]) {
      if (path) await page.goto(new URL(path, page.url()).href);
      const [first, height] = await page.locator('[data-entry]').first()
        .evaluate((element) => [element.getBoundingClientRect().top, innerHeight]);
      expect(first < height / 2, true,
        `whether the first item at ${first} is in the upper half of ${height}, at ${path ?? 'the own library'}`);
      await fits(page, path ?? 'the own library');
    }
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByRole('button', { name: 'Notes', exact: true }).click();
    await page.getByRole('button', { name: 'Filters (1)' }).click();
    await page.getByRole('button', { name: 'Links', exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Notes', exact: true }).and(page.locator('[aria-pressed="true"]')).waitFor();
    await page.context().close();
  }
}

// newItem: the form shows who will see a new item before it is created. A note has its text, and a
// link needs no scheme.
export async function newItem({ api, openAs }) {
  const page = await openAs('Ann');
  await page.getByRole('banner').getByRole('button', { name: 'New' }).click();
  const inView = (locator) => locator.evaluate((element) => element.getBoundingClientRect()
    .bottom < document.querySelector('.form-end').getBoundingClientRect().top);
  expect(await inView(dialog(page).getByRole('radio', { name: 'Private' })), true, 'whether the visibility is in view');
  await dialog(page).getByText('Only people it is shared with, and administrators.').waitFor();
  await dialog(page).getByRole('radio', { name: 'Public' }).check();
  await dialog(page).getByText('Everyone, signed in or not. It is listed under Newest.').waitFor();
  await dialog(page).getByRole('radio', { name: 'Private' }).check();
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('Typed by hand');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await dialog(page).getByText('Enter the address of a web page, such as example.com/page.').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Link' }).fill('example.com/x');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await item(page).getByRole('link', { name: 'example.com/x' }).waitFor();

  await page.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(page).getByRole('radio', { name: 'Note' }).check();
  expect(await inView(dialog(page).getByRole('radio', { name: 'Private' })), true, 'whether the visibility of a note is in view');
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('With a text');
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('Written at *once*.');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await item(page).getByRole('heading', { level: 2, name: 'With a text' }).waitFor();
  await item(page).getByText('Written at once.').waitFor();
  const id = new URL(page.url()).searchParams.get('item');
  const { content } = await api('Ann', 'query ($id: ID!) { content(id: $id) { visibility revision { body } } }', { id });
  expect(content, { visibility: 'PRIVATE', revision: { body: 'Written at *once*.' } }, 'the note');
  await page.context().close();
}

// strangeTitles: titles and names are shown without the characters that change the direction of text, and a long title has no more
// than three lines in a list. A page that finds nothing leads on.
export async function strangeTitles({ api, openAs }) {
  const [title, shown] = ['invoice \u202egnp.exe', 'invoice gnp.exe'];
  const id = await create(api, 'Ann', { kind: 'NOTE', title, visibility: 'PUBLIC', body: 'Pay.' });
  await api('Ann', 'mutation { createGroup(input: {tenant: "demo", name: "strange", displayName: "Payers\\u202e for all", visibility: LOGGEDIN}) { userErrors { message } } }');
  await api('Ann', 'mutation ($id: ID!) { shareContent(input: {contentId: $id, principalIds: ["g:demo:strange"], role: VIEWER}) { userErrors { message } } }',
    { id });
  const page = await openAs('Ann');
  const about = page.locator(`[data-entry="${id}"]`);
  await about.getByText('Ann Archer').waitFor();
  await about.getByRole('link').click();
  await item(page).getByRole('heading', { level: 2 }).first().waitFor();
  await page.waitForFunction(() => document.title === 'invoice gnp.exe · Carrel');
  expect(await page.locator('h2 bdi').or(about.locator('h3 bdi')).allTextContents(), [shown, shown], 'the titles');
  await item(page).getByText(/Version 1, by Ann Archer, \d/).waitFor();
  await item(page).getByRole('button', { name: 'History…' }).click();
  await dialog(page).getByText('Current', { exact: true }).waitFor();
  expect(await dialog(page).locator('.revisions bdi').allTextContents(), [shown], 'the titles in the history');
  await page.keyboard.press('Escape');
  await item(page).getByRole('button', { name: 'Share…' }).click();
  await dialog(page).getByRole('link', { name: 'Payers for all', exact: true }).waitFor();
  expect(await dialog(page).locator('.about bdi').textContent(), shown, 'the title in Share');
  await page.keyboard.press('Escape');

  // In lists, a long title has three lines.
  const long = await create(api, 'Ann', { kind: 'NOTE', title: 'so long '.repeat(35), visibility: 'PUBLIC' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Back to the library' }).click();
  for (const line of [page.locator(`[data-entry="${long}"] h3`), page.locator(`[data-newest="${long}"] > a`)]) {
    await line.waitFor();
    expect(await line.evaluate((element) => Math.round(element.clientHeight / parseFloat(getComputedStyle(element).lineHeight))), 3,
      'the lines of a long title');
    await page.getByRole('link', { name: 'Newest', exact: true }).click();
  }

  // A long name is broken where people are chosen.
  const word = 'Donaudampfschifffahrt'.repeat(6);
  await api('Ann', `mutation { createGroup(input: {tenant: "demo", name: "long-word", displayName: "${word}", visibility: LOGGEDIN}) {
    userErrors { message } } }`);
  await page.goto(new URL(`/app/item/${long}`, page.url()).href);
  await page.getByRole('button', { name: 'Share…' }).click();
  await dialog(page).getByRole('combobox').first().fill('g:demo:long-word');
  await page.keyboard.press('Enter');
  const right = await dialog(page).getByRole('button', { name: `Remove ${word}` }).evaluate((one) => one.getBoundingClientRect().right);
  if (right > 390) throw new Error(`the button of a long name ends at ${right} of 390 pixels`);

  const visitor = await openAs(null, { path: '/app/item/c:demo:nothing-here' });
  await visitor.getByText('There is no such item').waitFor();
  await visitor.getByRole('main').getByRole('button', { name: 'sign in' }).waitFor();
  await visitor.getByRole('main').getByRole('link', { name: 'search' }).click();
  await visitor.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
  await Promise.all([page.context().close(), visitor.context().close()]);
}
