// Reading: paging in both directions, addresses of positions, the keyboard, and network failures.
import { allOf, dialog, entriesOf, entry, expect, fits, focused, item, openEntry, says, scrollTo } from './fixture.mjs';
import { order } from './titles.mjs';

const largest = 'g:demo:standard-library';

// pagingBothWays reads a library to its end, reloads the page in the middle of it, and reads from
// there to either end.
export async function pagingBothWays({ api, openAs }) {
  const want = await allOf(api, 'Anonymous', largest, 'DESC');
  if (want.length < 100) throw new Error(`the library holds ${want.length} entries: too few to scroll through`);
  const page = await openAs(null);
  await page.getByRole('link', { name: 'Browse the demo' }).click();
  await page.getByRole('heading', { level: 1, name: 'The standard library' }).waitFor();
  await page.getByText(`${want.length} items · public items only`).waitFor();
  await page.locator('[data-entry]').first().waitFor();
  if ((await entriesOf(page)).length > 60) throw new Error('entries far from the view were read');
  await scrollTo(page, 'bottom');
  expect(await entriesOf(page), want, 'the library, newest first');

  // The address contains the position, so the page can be reloaded there.
  const middle = want[80];
  await scrollTo(page, 'top');
  await page.waitForFunction(() => !new URLSearchParams(location.search).has('at'));
  await page.locator(`[data-entry="${middle}"]`).evaluate((element) => element.scrollIntoView({ block: 'start' }));
  await page.waitForFunction(() => new URLSearchParams(location.search).has('at'));
  // Going back leads to the same position, without reading it again.
  let pages = 0;
  page.on('request', (request) => (pages += request.postData()?.includes('LibraryPage') ? 1 : 0));
  // A click of the mouse would scroll up to the link first, which is another position.
  await page.getByRole('link', { name: 'Search' }).evaluate((link) => link.click());
  await page.getByRole('heading', { level: 1, name: 'Search', exact: true }).waitFor();
  await page.goBack();
  await inView(page, middle);
  expect(pages, 0, 'pages that were read again after going back');
  await page.reload();
  await page.locator(`[data-entry="${middle}"]`).waitFor();
  const [first] = await entriesOf(page);
  if (first === want[0]) throw new Error('the page starts at the beginning of the library');
  // Entries that are added above the view do not move it.
  await page.waitForFunction(() => scrollY > 0);
  await scrollTo(page, 'top');
  await scrollTo(page, 'bottom');
  expect(await entriesOf(page), want, 'the library, from the middle to both ends');

  await scrollTo(page, 'top');
  await order(page).selectOption({ label: 'Oldest first' });
  await page.locator(`[data-entry="${want.at(-1)}"]`).waitFor();
  await scrollTo(page, 'bottom');
  expect(await entriesOf(page), await allOf(api, 'Anonymous', largest, 'ASC'), 'the library, oldest first');
  await page.context().close();
}

// inView waits until an entry is the first or second one in view.
function inView(page, id) {
  return page.waitForFunction((entry) => {
    const top = document.querySelector(`[data-entry="${CSS.escape(entry)}"]`)?.getBoundingClientRect().top ?? NaN;
    return top >= 0 && top < innerHeight / 3;
  }, id);
}

// keyboard walks the list, opens an item and comes back, without a mouse.
export async function keyboard({ openAs, base }) {
  const page = await openAs('Ann');
  await page.locator('[data-entry]').first().waitFor();
  await page.waitForFunction(() => document.activeElement.id === 'main');
  // The start page leads to the library, which can also be loaded directly.
  for (const load of [() => page.goto(`${base}/app`), () => page.reload()]) {
    await load();
    await page.locator('[data-entry]').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page), 'Skip to content', `the first stop of the Tab key at ${page.url()}`);
  }
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => document.activeElement.id), 'main', 'the focus after the skip link');

  await page.locator('[data-entry] a').first().focus();
  const titles = await page.locator('[data-entry] h3').allTextContents();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await focused(page), titles[2], 'two entries down');
  expect(await page.locator('[data-entry] a[tabindex="0"]').count(), 1, 'entries that the Tab key reaches');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await item(page).getByRole('heading', { level: 2, name: titles[1], exact: true }).waitFor();
  await page.waitForFunction((title) => document.activeElement.textContent === title, titles[1]);
  await page.keyboard.press('Escape');
  await item(page).waitFor({ state: 'detached' });
  await page.waitForFunction((title) => document.activeElement.textContent === title, titles[1]);

  // Back and forward are those of the browser.
  await page.keyboard.press('Enter');
  await item(page).waitFor();
  const address = page.url();
  await page.goBack();
  await item(page).waitFor({ state: 'detached' });
  await page.goForward();
  await item(page).waitFor();
  expect(page.url(), address, 'the address after back and forward');
  await page.goBack();
  await item(page).waitFor({ state: 'detached' });

  // Changing the order by keyboard keeps the focus.
  const first = await page.locator('[data-entry] a').first().textContent();
  await order(page).focus();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((newest) => (document.querySelector('[data-entry] a')?.textContent ?? newest) !== newest, first);
  expect(await focused(page), 'Order', 'what has focus in the other order');
  await page.context().close();
}

// errorMessages: the page shows what failed, and retries.
export async function errorMessages({ openAs, base }) {
  const page = await openAs(null);
  let broken = true;
  await page.route('**/graphql', (route) => {
    if (!broken || !route.request().postData().includes('LibraryPage')) return route.fallback();
    return route.fulfill({
      contentType: 'application/graphql-response+json',
      body: JSON.stringify({ errors: [{ message: 'down', extensions: { code: 'UNAVAILABLE' } }] }),
    });
  });
  await page.goto(`${base}/app/library/${largest}`);
  await page.getByText('The service is temporarily unavailable.').waitFor();
  const again = page.waitForResponse((response) => response.request().postData()?.includes('LibraryPage'));
  await page.getByRole('button', { name: 'Try again' }).click();
  await again;
  await page.getByText('The service is temporarily unavailable.').waitFor();
  broken = false;
  // The page also retries by itself, so the button may be gone.
  await page.getByRole('button', { name: 'Try again' }).click({ timeout: 5000 }).catch(() => {});
  await page.locator('[data-entry]').first().waitFor();

  broken = true;
  await page.locator('[data-entry]').last().scrollIntoViewIfNeeded();
  await page.getByText('The next items could not be loaded.').waitFor();
  const before = (await entriesOf(page)).length;
  broken = false;
  // Whoever scrolls to the button loads the next items, too: it may be gone.
  await page.getByRole('button', { name: 'Try again' }).evaluateAll((buttons) => buttons.forEach((button) => button.click()));
  await page.waitForFunction((n) => document.querySelectorAll('[data-entry]').length > n, before);

  // An invalid cursor leads to the start.
  await page.goto(`${base}/app/library/${largest}?at=nonsense`);
  await says(page, 'That position no longer exists.');
  await page.locator('[data-entry]').first().waitFor();

  for (const [path, words, title] of [
    ['/app/library/g:demo:internal', 'There is no such library, or you need to sign in to see it.', 'Not found'],
    ['/app/members/g:demo:internal', 'There is no such group, or you need to sign in to see it.', 'Not found'],
    ['/app/item/c:demo:nothing', 'There is no such item', 'Not found'],
    ['/app/groups', 'Sign in to see the groups that you are in.', 'My groups'],
    ['/app/nowhere', 'There is no page at this address.', 'Page not found'],
  ]) {
    await page.goto(base + path);
    await page.getByText(words).waitFor();
    await page.waitForFunction((name) => document.title === `${name} · Carrel`, title);
  }
  await page.context().setOffline(true);
  await page.getByText('You are offline.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('You are offline.').waitFor({ state: 'detached' });
  await page.context().close();
}

// storeDown opens the client signed in while the store is unavailable: it says so, shows the
// navigation all the same, and continues when the store is back.
export async function storeDown({ openAs, base }) {
  const page = await openAs('Ann');
  let broken = true;
  await page.route('**/graphql', (route) => {
    if (!broken) return route.fallback();
    return route.fulfill({
      contentType: 'application/graphql-response+json',
      body: JSON.stringify({ errors: [{ message: 'down', extensions: { code: 'UNAVAILABLE' } }] }),
    });
  });
  await page.goto(`${base}/app`);
  await page.getByRole('heading', { name: 'Could not load your library' }).waitFor();
  await page.getByText('The service is temporarily unavailable.').waitFor();
  await page.getByRole('link', { name: 'Groups' }).waitFor();
  const aside = await page.locator('main > .state').evaluate((element) => {
    const [state, main] = [element, element.parentElement].map((one) => one.getBoundingClientRect());
    return Math.abs(state.left + state.right - main.left - main.right) / 2;
  });
  if (aside > 1) throw new Error(`the error message is ${aside} pixels beside the middle of the page`);
  broken = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  // It is tried again by itself, too.
  broken = true;
  await page.clock.install();
  await page.goto(`${base}/app/groups`);
  await page.getByRole('heading', { name: 'Could not load this' }).waitFor();
  broken = false;
  await page.clock.fastForward(30_000);
  await page.getByRole('heading', { level: 1, name: 'My groups' }).waitFor();
  await page.getByRole('heading', { name: 'Could not load this' }).waitFor({ state: 'detached' });
  await page.context().close();
}

// phone reads on a small screen with the dark theme, and returns to the same position.
export async function phone({ openAs, base }) {
  const page = await openAs('Ann', { viewport: { width: 360, height: 740 }, colorScheme: 'dark', hasTouch: true, isMobile: true });
  await page.locator('[data-entry]').first().waitFor();
  await fits(page, 'a library');
  const [menu, row] = await page.locator('.ways').evaluate((ways) => [ways.getBoundingClientRect().height,
    ways.firstElementChild.getBoundingClientRect().height]);
  if (menu > 1.3 * row) throw new Error(`the menu is ${menu} high, one row of it ${row}`);
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  const far = page.locator('[data-entry]').nth(20);
  await far.scrollIntoViewIfNeeded();
  const title = await far.getByRole('heading').textContent();
  const top = () => entry(page, title).evaluate((element) => Math.round(element.getBoundingClientRect().top));
  const place = await top();
  await openEntry(page, title);
  await fits(page, 'an item');
  await item(page).getByRole('button', { name: 'Share…' }).click();
  await page.getByRole('combobox', { name: 'People and groups' }).waitFor();
  await fits(page, 'the share dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Back to the library' }).click();
  await item(page).waitFor({ state: 'detached' });
  expect(await top(), place, 'position of the entry after coming back');

  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (light === dark) throw new Error(`light and dark are both ${dark}`);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), light, 'the theme after loading the page again');

  for (const [path, heading, row] of [
    ['/app/groups', 'My groups', 'li'],
    ['/app/find?q=ann', 'Search', 'li'],
    ['/app/members/g:demo:standard-library', 'The standard library', 'li'],
    ['/app/library/g:demo:standard-library', 'The standard library', '[data-entry]'],
  ]) {
    await page.goto(base + path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.locator('main').locator(row).first().waitFor();
    await fits(page, path);
  }
  await page.context().close();
}

// longNotice: a notice about an item with a long title has its button in the window, wide or narrow, light or dark.
export async function longNotice({ api, openAs }) {
  const titles = [`https://example.org/${'a-path/'.repeat(12)}end`, 'D'.repeat(80), 'W'.repeat(120)];
  for (const [width, colorScheme] of [[390, 'light'], [390, 'dark'], [1280, 'light'], [1280, 'dark']]) {
    for (const title of titles) {
      const input = { kind: 'NOTE', title, visibility: 'PUBLIC', members: [{ principalId: 'u:demo:cleo', role: 'VIEWER' }] };
      await api('Ann', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { userErrors { message } } }', { input });
    }
    const cleo = await openAs('Cleo', { viewport: { width, height: 740 }, colorScheme });
    for (const title of titles) {
      await openEntry(cleo, title);
      await item(cleo).getByRole('button', { name: 'Remove from my library…' }).click();
      await dialog(cleo).getByRole('button', { name: 'Remove', exact: true }).click();
      const notice = cleo.locator('.notices p').filter({ hasText: `“${title.slice(0, 60)}…” was removed from your library.` });
      await notice.getByRole('button', { name: 'Undo' }).waitFor();
      await fits(cleo, 'a page with a notice');
      if (process.env.PICTURES) await cleo.screenshot({ path: `${process.env.PICTURES}/notice-${width}-${colorScheme}-${title[0]}.png` });
      expect(await notice.evaluate((element) => [element, element.querySelector('button')].map((part) => {
        const { left, right } = part.getBoundingClientRect();
        return left >= 0 && right <= innerWidth && part.scrollWidth <= part.clientWidth;
      })), [true, true], `whether the notice and its button are in a window of ${width}`);
      await entry(cleo, title).waitFor({ state: 'detached' });
    }
    await cleo.context().close();
  }
}
