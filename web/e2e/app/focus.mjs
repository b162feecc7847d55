// Where focus goes when what has it leaves the page.
import { confirm, dialog, entry, item, openEntry } from './fixture.mjs';
import { makeNote } from './notes.mjs';

// focusOn waits until focus is on an element with a text.
const focusOn = (page, text) => page.waitForFunction((words) => document.activeElement.textContent === words, text);

// focusAfterBack: after the browser's Back, focus is on the entry of the item that was open, unless it is elsewhere.
export async function focusAfterBack({ api, openAs }) {
  const ann = await openAs('Ann');
  const third = await ann.locator('[data-entry] h3').nth(2).textContent();
  for (const width of [1280, 400]) {
    await ann.setViewportSize({ width, height: 860 });
    await openEntry(ann, third);
    await focusOn(ann, third);
    await item(ann).getByRole('button', { name: 'Share…' }).focus();
    await ann.goBack();
    await item(ann).waitFor({ state: 'detached' });
    await focusOn(ann, third);
    await ann.locator('[data-entry] a:focus').waitFor();
  }
  // Focus in the page stays.
  await ann.setViewportSize({ width: 1280, height: 860 });
  await openEntry(ann, third);
  await ann.getByRole('combobox', { name: 'Order' }).focus();
  await ann.goBack();
  await item(ann).waitFor({ state: 'detached' });
  await ann.getByRole('combobox', { name: 'Order' }).and(ann.locator(':focus')).waitFor();
  // The entry of an item that was removed leaves the results of a search.
  const title = 'Here for a moment';
  await makeNote(api, title, { role: 'MANAGER' });
  await ann.getByRole('searchbox', { name: 'Search in this library' }).fill(title);
  await ann.locator('[data-entry]').nth(1).waitFor({ state: 'detached' });
  await openEntry(ann, title);
  await item(ann).getByRole('button', { name: 'Remove from my library…' }).click();
  await confirm(ann, 'Remove from your library?', 'Remove');
  await entry(ann, title).waitFor({ state: 'detached' });
  await ann.waitForFunction(() => document.activeElement.id === 'main');
  await ann.context().close();
}

// focusAfterSecret: when the panel with the secret of a paste leaves, focus is on the title.
export async function focusAfterSecret({ openAs }) {
  const page = await openAs(null, { path: '/app/pastes' });
  await page.getByRole('button', { name: 'New paste' }).click();
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('notes.txt');
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('For all.');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'I have saved the secret' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'notes.txt' }).and(page.locator(':focus')).waitFor();
  await page.context().close();
}
