// Users of the reference client in a browser, and their actions. Every wait is for something that
// the page shows, never for a time.
import { expect, patience, watch } from '../browser.mjs';

// openFixture returns functions that open pages. faults collects everything that pages must not do.
export async function openFixture(browser, base) {
  const { viewers } = await (await fetch(new URL('/dev/viewers', base))).json();
  const faults = [];

  // api sends a request to the gateway as a viewer, without the page.
  const api = async (name, query, variables) => {
    const { token } = viewers.find((viewer) => viewer.name === name);
    const answer = await fetch(new URL('/graphql', base), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await answer.json();
    if (errors) throw new Error(`as ${name}: ${JSON.stringify(errors)}`);
    return data;
  };

  // openAs opens the client in a separate browser context, as a viewer or anonymously.
  const openAs = async (name, { path = '/app', ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    await watch(page, base, faults);
    await page.addInitScript(takeNotice);
    await page.goto(new URL(path, base).href);
    if (name) await signIn(page, name);
    return page;
  };
  return { api, openAs, faults, viewers };
}

// signIn signs in as a demo viewer.
export async function signIn(page, name) {
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('dialog').getByRole('button', { name: new RegExp(`^${name}\\b`) }).click();
  await page.getByRole('link', { name: 'My library' }).waitFor();
}

// entry is the entry of a list with a title, item the item that is open next to a list, and dialog
// the open dialog.
export const entry = (page, title) => page.getByRole('article')
  .filter({ has: page.getByRole('heading', { level: 3, name: title, exact: true }) });
export const item = (page) => page.getByRole('complementary', { name: 'Item' });
export const dialog = (page) => page.getByRole('dialog');

// openEntry opens an item from a list, and waits until all of it is shown.
export async function openEntry(page, title) {
  await entry(page, title).getByRole('link').click();
  await item(page).getByRole('heading', { level: 2, name: title, exact: true }).waitFor();
  await item(page).getByRole('region', { name: 'Who sees this' }).waitFor();
}

// live waits until the page reports that live updates are on.
export function live(page) {
  return page.getByText('Changes by others appear here as they happen.').waitFor({ state: 'attached' });
}

// discard confirms that changes may be discarded.
export async function discard(page) {
  await page.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Discard' }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

// leave closes a dialog whose changes are being sent.
export async function leave(page) {
  await page.getByRole('dialog', { name: 'Close while this is being saved?' }).getByRole('button', { name: 'Close anyway' }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

// confirm confirms an action, once focus is on a button that is safe to press with Enter.
export async function confirm(page, title, verb) {
  const asked = page.getByRole('dialog', { name: title });
  await asked.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
  await asked.getByRole('button', { name: verb, exact: true }).click();
}

// allOf returns the ids of a whole library from the API, in order.
export async function allOf(api, viewer, id, direction, field = 'LAST_MODIFIED') {
  const query = `query ($id: ID!, $after: Cursor, $orderBy: LibraryOrder!) {
    principal(id: $id) { library(first: 100, after: $after, orderBy: $orderBy) {
      nodes { id } pageInfo { hasNextPage endCursor } } } }`;
  const ids = [];
  let after = null;
  do {
    const { library } = (await api(viewer, query, { id, after, orderBy: { field, direction } })).principal;
    ids.push(...library.nodes.map((node) => node.id));
    after = library.pageInfo.hasNextPage ? library.pageInfo.endCursor : null;
  } while (after);
  return ids;
}

// entriesOf returns the entries of the page, in order.
export function entriesOf(page) {
  return page.locator('[data-entry]').evaluateAll((all) => all.map((element) => element.dataset.entry));
}

// scrollTo scrolls to an end of the library, page after page.
export async function scrollTo(page, end) {
  const there = end === 'bottom' ? page.getByText('No more items') : null;
  await page.waitForFunction(
    ([bottom]) => {
      scrollTo(0, bottom ? document.body.scrollHeight : 0);
      return bottom ? document.querySelector('.colophon') : !document.querySelector('.end-previous');
    },
    [end === 'bottom'],
    { polling: 50 },
  );
  await there?.waitFor();
}

// takeNotice records, in the page, the notices at its foot. They are only shown for a few
// seconds, which may pass before the test reads them. When a dialog closes, its notice moves to the page; it is still
// the same one.
export function takeNotice() {
  globalThis.noticed = [];
  let last = 0;
  new MutationObserver((changes) => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
      if (!(node instanceof Element && node.matches('.notices > p')) || Number(node.dataset.number) <= last) continue;
      last = Number(node.dataset.number);
      noticed.push(node.textContent);
    }
  }).observe(document, { childList: true, subtree: true });
}

// says waits until a message has been shown at the foot of the page since the last call.
export function says(page, words) {
  return page.waitForFunction((wanted) => {
    const at = noticed.findIndex((text) => text.includes(wanted));
    return at >= 0 && noticed.splice(0, at + 1).length > 0;
  }, words, { polling: 50 });
}

// offered returns a user in the list of a search field, once the list matches the text in the
// field.
export const offered = (page, name) => page.locator('.picker-list[aria-busy="false"]').getByRole('option', { name });

// choose selects a user in the list with the arrow keys.
export async function choose(page, name) {
  await offered(page, name).waitFor();
  for (let steps = await page.getByRole('option').count(); steps > 0; steps -= 1) {
    if ((await offered(page, name).getAttribute('aria-selected')) === 'true') break;
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
}

// hide makes a page believe that it is hidden: it reads nothing by itself, so what it shows was read for another reason.
export const hide = (page) => page.addInitScript(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' }));

// fits fails if a page is wider than its window.
export async function fits(page, what) {
  const [has, may] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (has > may) throw new Error(`${what} is ${has} wide in a window of ${may}`);
}

// focused returns the accessible name of the element with focus, as far as tests need it.
export function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent;
  });
}

export { expect };
