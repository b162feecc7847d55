// What axe-core finds in the main views.
import { readFile } from 'node:fs/promises';
import { dialog, item, offered, openEntry, signIn } from './fixture.mjs';
import { makeNote, noteOf, saveText } from './notes.mjs';

const axe = await readFile(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

// check runs axe-core wide in light colours and narrow in dark ones, without the rules that are off.
async function check(page, what, { looks = [[1280, 'light'], [320, 'dark']], off = [] } = {}) {
  const faults = [];
  const options = { resultTypes: ['violations'], rules: Object.fromEntries(off.map((rule) => [rule, { enabled: false }])) };
  for (const [width, colorScheme] of looks) {
    await page.setViewportSize({ width, height: 860 });
    await page.emulateMedia({ colorScheme });
    const violations = await page.evaluate(async (how) => (await globalThis.axe.run(how)).violations
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`)), options);
    faults.push(...violations.map((text) => `${what}, ${width} px, ${colorScheme}: ${text}`));
  }
  return faults;
}

const report = (faults) => {
  if (faults.length > 0) throw new Error(`${faults.length} violations:\n${faults.join('\n')}`);
};

export async function accessible({ api, openAs }) {
  const faults = [];
  const page = await openAs(null);
  await page.evaluate(axe);
  const view = async (what) => {
    faults.push(...(await check(page, what)));
    await page.setViewportSize({ width: 1280, height: 860 });
  };
  await page.getByRole('heading', { level: 1 }).waitFor();
  await view('the start page');
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).waitFor();
  await view('signing in');
  await page.keyboard.press('Escape');
  await signIn(page, 'Ann');
  await page.locator('[data-entry]').first().waitFor();
  await page.getByRole('button', { name: 'Filters' }).click();
  await view('a library');
  const title = await page.getByRole('article').getByRole('heading', { level: 3 }).first().textContent();
  await openEntry(page, title);
  await view('an item');
  await item(page).getByRole('button', { name: 'Share…' }).click();
  await dialog(page).getByRole('combobox', { name: 'People and groups' }).fill('cleo');
  await offered(page, 'Cleo Carter').waitFor();
  await view('sharing');
  await dialog(page).getByRole('combobox', { name: 'People and groups' }).fill('');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('banner').getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('link', { name: 'Library team', exact: true }).waitFor();
  await view('groups');
  await page.getByRole('link', { name: 'Members of Library team' }).click();
  await page.getByRole('heading', { level: 2, name: 'Members' }).waitFor();
  await view('the members of a group');
  await page.getByRole('banner').getByRole('link', { name: 'Pastes' }).click();
  await page.locator('.pastes li').first().waitFor();
  await view('pastes');
  await page.locator('.pastes li a').first().click();
  await page.locator('.code').waitFor();
  await view('a paste');
  report(faults);
  await page.context().close();
}

// accessibleDialogs looks at the dialogs that the other scene does not open.
export async function accessibleDialogs({ api, openAs }) {
  const faults = [];
  const id = await makeNote(api, 'Axe', { body: 'one' });
  await saveText(api, 'Ann', id, { title: 'Axe', body: 'two' });
  const page = await openAs('Ann');
  await page.evaluate(axe);
  const opens = async (from, name, ready = dialog(page)) => {
    await from.getByRole('button', { name, exact: true }).click();
    await ready.first().waitFor();
    faults.push(...(await check(page, `the dialog of ${name}`)));
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  };
  await opens(page.getByRole('banner'), 'New');
  await opens(page.getByRole('contentinfo'), 'Keyboard shortcuts');
  await openEntry(page, 'Axe');
  for (const name of ['Edit…', 'Expiry…', 'Remove from my library…', 'Delete…']) await opens(item(page), name);
  await opens(noteOf(page), 'Edit text…', dialog(page).getByRole('textbox', { name: 'Text' }));
  await opens(noteOf(page), 'History…', dialog(page).locator('ins'));
  await opens(noteOf(page), 'Branches…', dialog(page).getByRole('listitem'));
  for (const name of ['Add a language…', 'Suggestions…']) await opens(noteOf(page), name);
  await page.getByRole('banner').getByRole('link', { name: 'Groups' }).click();
  await opens(page.getByRole('main'), 'New group');
  await page.getByRole('link', { name: 'Members of Library team' }).click();
  for (const name of ['Add people…', 'Edit group…', 'Leave…', 'Delete group…']) await opens(page.getByRole('main'), name);
  await page.getByRole('banner').getByRole('link', { name: 'Pastes' }).click();
  await opens(page.getByRole('main'), 'New paste');
  report(faults);
  await page.context().close();
}

// accessibleGraphiql opens it anew for each colour scheme, which the editors read once. In GraphiQL's
// own tabs, the button that closes a tab is within it.
export async function accessibleGraphiql({ openAs }) {
  const faults = [];
  for (const colorScheme of ['light', 'dark']) {
    const page = await openAs(null, { path: '/', colorScheme });
    await page.evaluate(axe);
    // The colours of the words follow later than the words.
    await page.waitForFunction(() => new Set([...document.querySelectorAll('.graphiql-query-editor .view-line span span')]
      .map(({ className }) => className)).size > 3, null, { polling: 100 });
    faults.push(...(await check(page, 'GraphiQL', { looks: [[1280, colorScheme], [320, colorScheme]], off: ['nested-interactive'] })));
    await page.context().close();
  }
  report(faults);
}
