// Takes the pictures of the reference client that the README shows, of a gateway
// with the demo data as it was made.
//
//   .ci/with-gateway node web/e2e/app-pictures.mjs docs
import { baseAddress, start } from './browser.mjs';
import { desks, dialog, item, live, openEntry } from './app/desk.mjs';

const folder = process.argv[2] ?? '.';
const base = baseAddress();
const browser = await start();
const { sit, api, faults } = await desks(browser, base);

const take = (page, name) => page.screenshot({ path: `${folder}/app-${name}.png` });

async function beside() {
  const page = await sit('Ann', { path: '/app/library/g:demo:standard-library', viewport: { width: 1280, height: 800 } });
  await page.getByRole('heading', { level: 1, name: 'The standard library' }).waitFor();
  const title = await page.locator('[data-entry] h3').nth(1).textContent();
  await openEntry(page, title);
  await live(page);
  await take(page, 'library');
  await page.context().close();
}

async function share() {
  const page = await sit('Ann', { viewport: { width: 1280, height: 800 } });
  await openEntry(page, 'encoding/gob');
  await live(page);
  await item(page).getByRole('button', { name: 'Share…' }).click();
  const field = page.getByRole('combobox', { name: 'People and groups' });
  for (const [typed, name] of [
    ['cleo', 'Cleo Carter'],
    ['every', 'Everyone at demo'],
  ]) {
    await field.fill(typed);
    await dialog(page).getByRole('option', { name }).click();
  }
  await field.pressSequentially('fa');
  await dialog(page).getByRole('option').first().waitFor();
  await take(page, 'share');
  await page.context().close();
}

async function quarrel() {
  const page = await sit('Ann', { colorScheme: 'dark', viewport: { width: 1280, height: 800 } });
  await openEntry(page, 'encoding/gob');
  await live(page);
  await item(page).getByRole('button', { name: 'Edit…' }).click();
  await dialog(page).getByRole('textbox', { name: 'Description' }).fill('Streams of gobs: binary values between an encoder and a decoder.');
  await api('Ann', 'mutation { updateContent(input: {id: "c:demo:encoding-gob", description: "Gobs, which only Go reads."}) { userErrors { message } } }');
  await dialog(page).getByRole('group', { name: 'Two versions: Description' }).waitFor();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page).getByRole('button', { name: 'Keep my description' }).and(page.locator(':focus')).waitFor();
  await take(page, 'conflict');
  await page.context().close();
}

async function phone() {
  const page = await sit('Cleo', { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await page.locator('[data-entry]').first().waitFor();
  await live(page);
  await take(page, 'phone');
  await page.context().close();
}

try {
  await beside();
  await share();
  await quarrel();
  await phone();
  if (faults.length > 0) throw new Error(`the page complained:\n${faults.join('\n')}`);
} finally {
  await browser.close();
}
