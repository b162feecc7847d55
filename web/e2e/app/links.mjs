// Links to items: copying them, and opening an item by its URL.
import { dialog, expect, fits, focused, says } from './fixture.mjs';
import { broken, makeNote, noteOf } from './notes.mjs';

const move = 'mutation ($id: ID!, $url: String) { moveContent(input: {id: $id, url: $url}) { userErrors { message } } }';
const url = 'https://kitchen.example/gazpacho?a&b=2';

// copyLink: the canonical link is copied to the clipboard, or shown selected in a field.
export async function copyLink({ api, openAs, base }) {
  const id = await makeNote(api, 'Gazpacho', { url: 'HTTPS://Kitchen.example//gazpacho/?b=2&a#top', body: 'cold' });
  const ann = await openAs('Ann', { path: `/app/item/${id}`, permissions: ['clipboard-read', 'clipboard-write'] });
  const copy = (name) => ann.getByRole('button', { name, exact: true }).click();
  const clipboard = () => ann.evaluate(() => navigator.clipboard.readText());
  await noteOf(ann).getByText('cold').waitFor();
  await copy('Copy canonical link');
  await says(ann, 'Canonical link copied.');
  expect(await clipboard(), url, 'the canonical link');
  await copy('Copy link');
  await says(ann, 'Link copied.');
  expect(await clipboard(), `${base}/app/item/${id}`, 'the link');

  // A browser may refuse to copy, or have no clipboard.
  const byHand = (name) => ann.getByRole('textbox', { name, exact: true });
  const selected = () => ann.evaluate(() => document.activeElement.value.slice(document.activeElement.selectionStart,
    document.activeElement.selectionEnd));
  await ann.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))));
  await copy('Copy canonical link');
  await byHand('Canonical link').and(ann.locator(':focus')).waitFor();
  expect(await selected(), url, 'what is selected');
  await ann.getByRole('alert').getByText('The browser does not allow copying.').waitFor();
  await ann.evaluate(() => document.activeElement.setSelectionRange(0, 0));
  await copy('Copy canonical link');
  await ann.waitForFunction(() => document.activeElement.selectionEnd > 0);
  expect(await selected(), url, 'what is selected the second time');
  await ann.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }));
  await copy('Copy link');
  await byHand('Link').and(ann.locator(':focus')).waitFor();
  expect(await selected(), `${base}/app/item/${id}`, 'what is selected without a clipboard');
  expect(await byHand('Canonical link').count(), 0, 'the field of the former link');
  await ann.evaluate(() => delete navigator.clipboard && delete navigator.clipboard.writeText);
  await copy('Copy canonical link');
  await says(ann, 'Canonical link copied.');
  expect(await byHand('Link').count(), 0, 'the field once copying works');

  // Without a URL there is nothing to copy.
  await api('Ann', move, { id, url: null });
  await ann.reload();
  await noteOf(ann).getByText('cold').waitFor();
  expect(await ann.getByRole('button', { name: 'Copy canonical link' }).count(), 0, 'the canonical link of an item without a URL');
  await ann.context().close();
}

// openByUrl: any form of a URL leads to its item. A malformed URL is reported at its field, and
// a missing item looks like an invisible one.
export async function openByUrl({ api, openAs }) {
  const place = 'https://kitchen.example/ramen';
  const id = await makeNote(api, 'Ramen', { url: place, body: 'noodles' });
  const ann = await openAs('Ann');
  const field = (page, name) => page.getByRole('main').getByRole('textbox', { name });
  const open = async (page, text) => {
    await field(page, 'URL of an item').fill(text);
    await page.keyboard.press('Enter');
  };
  const faultAt = async (page, name, why) => {
    await field(page, name).and(page.locator('[aria-invalid="true"]')).waitFor();
    const text = await field(page, name).evaluate((element) => element.getAttribute('aria-describedby').split(' ')
      .map((each) => document.getElementById(each).textContent));
    expect(text.at(-1), why, `what is wrong with ${name}`);
  };
  const isThere = (page) => page.getByRole('heading', { level: 1, name: 'Ramen' }).waitFor();

  // Through the search, whose field accepts a URL too.
  await ann.getByRole('link', { name: 'Search' }).click();
  await ann.getByRole('searchbox').fill(' HTTPS://Kitchen.example:443//ramen/#broth');
  await ann.getByRole('link', { name: 'Open the item with this URL' }).waitFor();
  expect(await ann.getByText('No matches').count(), 0, 'messages that no person matches');
  await ann.keyboard.press('Enter');
  await isThere(ann);
  await ann.waitForURL(`**/app/item/${id}`);
  await ann.goBack();
  await ann.getByRole('searchbox').fill('');
  await ann.getByRole('link', { name: 'open an item by its URL' }).click();

  await ann.getByRole('button', { name: 'Open', exact: true }).click();
  await faultAt(ann, 'URL of an item', 'Enter a URL, such as https://example.com/page.');
  for (const [text, why] of [
    ['ftp://kitchen.example', 'A URL begins with http:// or https://.'],
    ['kitchen/ramen', 'A URL begins with http:// or https://.'],
    ['https://kitchen.example:65536/', 'The port of a URL lies between 1 and 65535.'],
  ]) {
    await open(ann, text);
    await ann.getByText(why, { exact: true }).waitFor();
    await faultAt(ann, 'URL of an item', why);
    expect(await ann.getByText('No item found').count(), 0, `found for ${text}`);
  }
  // Typing an organisation does not move focus back to the URL.
  await field(ann, 'Organisation').fill('Not one');
  expect((await focused(ann)).trim(), 'Organisation', 'what has focus while an organisation is typed');
  await ann.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await dialog(ann).getByText('Show this list').waitFor();
  await ann.keyboard.press('Escape');
  await dialog(ann).waitFor({ state: 'detached' });
  await ann.getByRole('button', { name: 'Keyboard shortcuts' }).and(ann.locator(':focus')).waitFor();
  await open(ann, 'https://kitchen.example/ramen');
  await field(ann, 'Organisation').and(ann.locator('[aria-invalid="true"]')).and(ann.locator(':focus')).waitFor();
  expect(await field(ann, 'URL of an item').getAttribute('aria-invalid'), 'false', 'the URL when the organisation is malformed');
  await field(ann, 'Organisation').fill('acme');
  await open(ann, 'https://Kitchen.example/ramen/');
  await ann.getByText('No item of acme has the URL https://kitchen.example/ramen, or you do not have access to it.').waitFor();
  await field(ann, 'Organisation').fill('');
  await open(ann, 'https://kitchen.example/udon');
  await ann.getByText('No item of demo has the URL https://kitchen.example/udon').waitFor();
  // It exists now: the same URL is requested again.
  await api('Ann', move, { id, url: 'https://kitchen.example/udon' });
  await ann.getByRole('button', { name: 'Open', exact: true }).click();
  await isThere(ann);
  await api('Ann', move, { id, url: place });

  // A link to a page of this client leads there, and one to no page of it is a URL like others.
  const { origin } = new URL(ann.url());
  await ann.goto(`${origin}/app/open`);
  await open(ann, `${origin}/app/item/${id}`);
  await isThere(ann);
  await ann.goBack();
  await open(ann, `${origin}/app/library/u:demo:ben?order=oldest`);
  await ann.getByRole('heading', { level: 1, name: 'Ben Baker' }).waitFor();
  await ann.waitForURL('**/app/library/u:demo:ben?order=oldest');
  await ann.goBack();
  await open(ann, `${origin}/app/nowhere`);
  await ann.getByText('No item of demo has the URL').waitFor();

  await broken(ann, 'ItemByUrl', () => true);
  await ann.goto(`${ann.url().replace(/\/app.*/, '')}/app/open?url=${encodeURIComponent(place)}`);
  await ann.getByRole('heading', { name: 'Could not open the URL' }).waitFor();
  await ann.unrouteAll();
  await ann.getByRole('button', { name: 'Try again' }).click();
  await isThere(ann);
  await ann.context().close();
  await unseen({ openAs, place, open, field, faultAt, isThere });
}

// unseen: a user who may not see the item, and an anonymous visitor.
async function unseen({ openAs, place, open, field, faultAt, isThere }) {
  const ben = await openAs('Ben', { path: '/app/open' });
  await open(ben, place);
  await ben.getByText('No item of demo has the URL https://kitchen.example/ramen, or you do not have access to it.').waitFor();
  await ben.context().close();

  const page = await openAs(null, { path: '/app/open', viewport: { width: 360, height: 740 } });
  await open(page, place);
  await field(page, 'Organisation').and(page.locator('[aria-invalid="true"]')).and(page.locator(':focus')).waitFor();
  await faultAt(page, 'Organisation', 'Enter an organisation, because you are not signed in.');
  await field(page, 'Organisation').fill('demo');
  await page.keyboard.press('Enter');
  await page.getByText('or you need to sign in to see it.').waitFor();
  await fits(page, 'opening by URL');
  // The page stays when the visitor signs in, and opens the item.
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).getByRole('button', { name: /^Ann\b/ }).click();
  await isThere(page);
  await page.context().close();
}
