// Libraries in the order of titles, and which order a reader has chosen for each library.
import { allOf, entriesOf, expect, fits, item, live, openEntry, scrollTo } from './fixture.mjs';

const largest = 'g:demo:standard-library';

// order is the control of a list, and titles are those that it shows.
export const order = (page) => page.getByRole('combobox', { name: 'Order' });
const titles = (page) => page.locator('[data-entry] h3').allTextContents();

// makeLibrary makes a group whose library has items with these titles, and returns the ids of both. Cleo is a member.
async function makeLibrary(api, name, wanted) {
  const group = `g:demo:${name}`;
  await api('Ann', 'mutation ($in: CreateGroupInput!) { createGroup(input: $in) { userErrors { message } } }',
    { in: { tenant: 'demo', name, displayName: name, visibility: 'LOGGEDIN' } });
  await api('Ann', 'mutation ($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { userErrors { message } } }',
    { in: { groupId: group, members: [{ principalId: 'u:demo:cleo', role: 'MEMBER' }] } });
  const ids = {};
  for (const title of wanted) {
    const { createContent } = await api('Ann',
      'mutation ($in: CreateContentInput!) { createContent(input: $in) { content { id } userErrors { message } } }',
      { in: { kind: 'NOTE', title, visibility: 'PRIVATE', members: [{ principalId: group, role: 'VIEWER' }] } });
    expect(createContent.userErrors, [], `errors of ${title}`);
    ids[title] = createContent.content.id;
  }
  return { group, ids };
}

// shows waits until a list has neighbours in an order: a title, and the one after it.
const shows = (page, ...neighbours) => page.waitForFunction((wanted) => {
  const all = [...document.querySelectorAll('[data-entry] h3')].map((one) => one.textContent);
  const at = all.indexOf(wanted[0]);
  return at >= 0 && wanted.every((title, n) => all[at + n] === title);
}, neighbours);

// titleOrder: Cleo reads by title while Ann renames items. Each moves to its new place, in both directions, or
// leaves the loaded part.
export async function titleOrder({ api, openAs }) {
  const chapters = Array.from({ length: 42 }, (_, n) => `Chapter ${n + 1}`);
  const { group, ids } = await makeLibrary(api, 'shelf', [...chapters.toReversed(), 'zebra', 'Äpfel', 'Apple pie', '9 lives']);
  const rename = (from, title) => api('Ann', 'mutation ($in: UpdateContentInput!) { updateContent(input: $in) { userErrors { message } } }',
    { in: { id: ids[from], title } });
  const cleo = await openAs('Cleo', { path: `/app/library/${group}` });
  await live(cleo);
  await order(cleo).selectOption({ label: 'A to Z' });
  await shows(cleo, '9 lives', 'Äpfel', 'Apple pie', ...chapters.slice(0, 12));
  await live(cleo);
  expect(new URL(cleo.url()).search, '?order=a-z', 'the address');
  expect((await cleo.locator('.group-name').allTextContents()).slice(0, 3), ['0–9', 'A', 'C'], 'the headings');

  // Ann renames by the client, an item that Cleo sees.
  const ann = await openAs('Ann', { path: `/app/library/${group}` });
  await openEntry(ann, 'Apple pie');
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  await ann.getByRole('textbox', { name: 'Title' }).fill('Chapter 3, with apples');
  await ann.getByRole('button', { name: 'Save' }).click();
  await shows(cleo, '9 lives', 'Äpfel', 'Chapter 1', 'Chapter 2', 'Chapter 3', 'Chapter 3, with apples', 'Chapter 4');

  // Beyond the loaded part, and back; the other direction.
  await rename('Chapter 2', 'Zoo');
  await shows(cleo, 'Chapter 1', 'Chapter 3');
  if ((await titles(cleo)).includes('Zoo')) throw new Error('an item is shown that belongs beyond the loaded part');
  await scrollTo(cleo, 'bottom');
  await shows(cleo, 'Chapter 42', 'zebra', 'Zoo');
  await order(cleo).selectOption({ label: 'Z to A' });
  await shows(cleo, 'Zoo', 'zebra', 'Chapter 42');
  await live(cleo);
  await rename('Chapter 42', 'Zoology');
  await shows(cleo, 'Zoology', 'Zoo', 'zebra', 'Chapter 41');
  await rename('Chapter 42', 'Chapter 40, again');
  await shows(cleo, 'Zoo', 'zebra', 'Chapter 41', 'Chapter 40, again', 'Chapter 40');
  await scrollTo(cleo, 'bottom');
  expect(await entriesOf(cleo), await allOf(api, 'Cleo', group, 'DESC', 'TITLE'), 'the library, from Z to A');

  expect(await cleo.evaluate(() => noticed.filter((text) => text.includes('position'))), [], 'notices of positions of another order');

  // The view does not follow an item that moves far away from it.
  await order(cleo).selectOption({ label: 'A to Z' });
  await shows(cleo, 'Chapter 1', 'Chapter 3');
  await live(cleo);
  await cleo.locator(`[data-entry="${ids['Chapter 20']}"]`).evaluate((element) => scrollBy(0, element.getBoundingClientRect().top + 10));
  await cleo.waitForFunction(() => new URLSearchParams(location.search).has('at'));
  const other = cleo.locator(`[data-entry="${ids['Chapter 22']}"]`);
  const top = () => other.evaluate((element) => Math.round(element.getBoundingClientRect().top));
  const before = await top();
  await rename('Chapter 20', 'A beginning');
  await shows(cleo, '9 lives', 'A beginning', 'Äpfel');
  const moved = Math.abs((await top()) - before);
  if (moved > 1) throw new Error(`the entries in view have moved by ${moved} pixels`);
  await cleo.reload();
  await shows(cleo, 'Chapter 23', 'Chapter 24');

  // Another order begins at the top, also beside an open item.
  await openEntry(cleo, 'Chapter 24');
  await order(cleo).selectOption({ label: 'Z to A' });
  await shows(cleo, 'Zoo', 'zebra', 'Chapter 41');
  await cleo.waitForFunction(() => scrollY === 0);
  await Promise.all([ann, cleo].map((page) => page.context().close()));
}

// keptOrder: the order is remembered for each library, and in the address.
export async function keptOrder({ openAs, base }) {
  const path = `/app/library/${largest}`;
  const page = await openAs('Ann', { path, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const isAt = (search) => page.waitForFunction((wanted) => location.search === wanted, search);
  const chosen = async (label) => expect(await order(page).evaluate((select) => select.selectedOptions[0].label), label, 'the order');
  const first = page.locator('[data-entry]').first();
  await first.waitFor();
  await order(page).selectOption({ label: 'Oldest first' });
  await isAt('?order=oldest');
  // With the button to the newest end there is least space.
  await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
  await fits(page, 'a library with the button to its newest end');
  await order(page).selectOption({ label: 'Z to A' });
  await isAt('?order=z-a');
  await first.waitFor();
  await fits(page, 'a library by title');
  const button = page.getByRole('button', { name: 'Jump to newest' });
  await page.evaluate(() => scrollTo(0, 2 * innerHeight));
  await page.waitForFunction(() => new URLSearchParams(location.search).has('at'));
  expect(await button.count(), 0, 'buttons to the newest end of a list by title');

  // Only this library has the order, also by a link.
  await page.goto(base + path);
  await isAt('?order=z-a');
  await chosen('Z to A');
  await page.goto(`${base}/app/library/u:demo:ann`);
  await first.waitFor();
  await chosen('Newest first');
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('link', { name: 'The standard library', exact: true }).first().click();
  await isAt('?order=z-a');
  await first.waitFor();

  // An address with another order is shown as it is, and stays in that order.
  await page.goto(`${base}${path}?order=newest`);
  await first.waitFor();
  await chosen('Newest first');
  await page.locator('[data-entry] a').first().click();
  await item(page).waitFor();
  await chosen('Newest first');
  await page.goto(base + path);
  await isAt('?order=z-a');
  await order(page).selectOption({ label: 'Newest first' });
  await isAt('');
  await page.reload();
  await first.waitFor();
  await chosen('Newest first');
  await page.context().close();
}
