// Takes the screenshots of the reference client for README, docs/pages.md and docs/pastes.md, from
// a gateway with fresh demo data. `npm run pictures` takes all of them, after `make build`.
// Arguments select some of them by name.
//
//   .ci/with-gateway node web/e2e/app-pictures.mjs docs [NAME...]
import { baseAddress, expect, start } from './browser.mjs';
import { openFixture, dialog, item, live, openEntry } from './app/fixture.mjs';
import { noteOf, openEditor, saveText } from './app/notes.mjs';

const [folder = '.', ...names] = process.argv.slice(2);
const base = baseAddress();
const browser = await start();
const { openAs, api, faults } = await openFixture(browser, base);

const take = (page, name) => page.screenshot({ path: `${folder}/app-${name}.png` });

async function beside() {
  const page = await openAs('Ann', { path: '/app/library/g:demo:standard-library', viewport: { width: 1280, height: 800 } });
  await page.getByRole('heading', { level: 1, name: 'The standard library' }).waitFor();
  const title = await page.locator('[data-entry] h3').nth(1).textContent();
  await openEntry(page, title);
  await live(page);
  await take(page, 'library');
  await page.context().close();
}

async function share() {
  await api('Ann', 'mutation { createContent(input: {kind: NOTE, title: "Plans for the reading room", visibility: PRIVATE, members: [{principalId: "u:demo:ben", role: EDITOR}]}) { userErrors { message } } }');
  const page = await openAs('Ann', { viewport: { width: 1280, height: 800 } });
  await openEntry(page, 'Plans for the reading room');
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
  await dialog(page).getByText('will be able to see this item.').waitFor();
  await take(page, 'share');
  await page.context().close();
}

async function conflict() {
  const page = await openAs('Ann', { colorScheme: 'dark', viewport: { width: 1280, height: 800 } });
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
  const page = await openAs('Cleo', { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await page.locator('[data-entry]').first().waitFor();
  await live(page);
  await take(page, 'phone');
  await page.context().close();
}

// openNote opens one of the notes of the demo data by its URL.
async function openNote(name, note, size = { width: 1100, height: 760 }) {
  const page = await openAs(name, { path: `/app/open?url=${encodeURIComponent(`https://demo.example/notes/${note}`)}`, viewport: size });
  await noteOf(page).getByText(/Version \d+, by/).waitFor();
  return page;
}

const openDialog = (page, name) => noteOf(page).getByRole('button', { name }).click();

async function text() {
  const page = await openNote('Ann', 'welcome');
  await noteOf(page).getByRole('combobox', { name: 'Language' }).selectOption({ label: 'German' });
  await noteOf(page).getByText(/German. Version \d+, by/).waitFor();
  await take(page, 'text');
  await page.context().close();
}

async function history() {
  const page = await openNote('Ann', 'welcome');
  await openDialog(page, 'History…');
  await dialog(page).locator('ins').first().waitFor();
  await take(page, 'history');
  await page.context().close();
}

async function suggestions() {
  const page = await openNote('Ann', 'welcome');
  await openDialog(page, /^Suggestions/);
  await dialog(page).locator('ins').first().waitFor();
  await take(page, 'suggestions');
  await page.context().close();
}

// editing shows Ben's draft, after Ann has published another text.
async function editing() {
  const page = await openNote('Ben', 'review-checklist', { width: 1100, height: 900 });
  const { id, revision } =
    (await api('Ben', '{ contentByUrl(url: "https://demo.example/notes/review-checklist") { id revision(locale: "en") { title body } } }')).contentByUrl;
  await openEditor(page);
  await saveText(api, 'Ann', id, { locale: 'en', title: revision.title,
    body: `${revision.body.trim()}\n* Is each exported name documented?\n` });
  await dialog(page).getByRole('textbox', { name: 'Title' }).press('End');
  await page.keyboard.type(' before it is merged');
  await dialog(page).getByRole('button', { name: 'Publish' }).click();
  await dialog(page).getByRole('group', { name: 'The text has changed' }).and(page.locator(':focus')).waitFor();
  await take(page, 'editing');
  await page.context().close();
}

async function branches() {
  const page = await openNote('Ann', 'welcome');
  await openDialog(page, 'Branches…');
  await dialog(page).getByRole('button', { name: 'Create branch' }).click();
  const second = dialog(page).getByRole('listitem', { name: 'Branch 2' });
  await second.getByRole('button', { name: 'Set as working' }).click();
  await second.getByText('Working', { exact: true }).waitFor();
  await second.getByRole('button', { name: 'Show texts' }).click();
  await noteOf(page).getByText('This is branch 2.').waitFor();
  await openDialog(page, 'Branches…');
  await second.getByText('You are reading this one').waitFor();
  await page.locator('.notices > p').waitFor({ state: 'detached' });
  await take(page, 'branches');
  await page.context().close();
}

// paste shows a new paste. Its secret is valid only in this gateway.
async function paste() {
  const page = await openAs(null, { path: '/app/pastes', viewport: { width: 1100, height: 860 } });
  await page.getByRole('button', { name: 'New paste' }).click();
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('worker.go');
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill(worker);
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('region', { name: 'Paste created' }).waitFor();
  await page.locator('.hljs-keyword').first().waitFor();
  await take(page, 'paste');
  await page.context().close();
}

const worker = `package main

import "fmt"

// work prints the jobs that it receives, until there are no more.
func work(jobs <-chan int) {
	for n := range jobs {
		fmt.Printf("job %d is done\\n", n)
	}
}
`;

const pictures = { library: beside, share, conflict, phone, text, history, suggestions, editing, branches, paste };
expect(names.filter((name) => !(name in pictures)), [], 'unknown pictures');

try {
  for (const [name, picture] of Object.entries(pictures)) if (names.length === 0 || names.includes(name)) await picture();
  if (faults.length > 0) throw new Error(`the page had errors:\n${faults.join('\n')}`);
} finally {
  await browser.close();
}
