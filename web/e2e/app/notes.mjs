// The text of a note: read in several languages.
import { expect, item, live, openEntry } from './desk.mjs';

const make = 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }';
const save = 'mutation ($input: SaveRevisionInput!) { saveRevision(input: $input) { revision { number } userErrors { message } } }';

// makeNote creates a note of Ann's that Cleo may see, and is its id.
export async function makeNote(api, title, input = {}) {
  const members = [{ principalId: 'u:demo:cleo', role: 'VIEWER' }];
  const { content, userErrors } = (await api('Ann', make, { input: { kind: 'NOTE', visibility: 'PRIVATE', title, members, ...input } })).createContent;
  expect(userErrors, [], `faults of creating ${title}`);
  return content.id;
}

// saveText publishes a text as somebody, beside the page.
export async function saveText(api, name, contentId, input) {
  const { userErrors } = (await api(name, save, { input: { contentId, ...input } })).saveRevision;
  expect(userErrors, [], `faults of saving as ${name}`);
}

export const noteOf = (page) => page.getByRole('region', { name: 'Text', exact: true });

const body = '# Flour\n\nTake **three** cups.\n\n- sift\n- rest\n\n<img src=x onerror="document.title=1"> [bad](javascript:alert(1)) [good](https://example.org/flour)';

// texts: Markdown as elements and nothing else, a switch for languages, and an
// empty note that says so.
export async function texts({ api, sit }) {
  const id = await makeNote(api, 'Bread', { body, locale: 'en' });
  const cleo = await sit('Cleo');
  await live(cleo);
  await openEntry(cleo, 'Bread');
  const note = noteOf(item(cleo));
  await note.getByRole('heading', { name: 'Flour' }).waitFor();
  expect(await note.locator('strong').textContent(), 'three', 'what is bold');
  expect(await note.getByRole('listitem').allTextContents(), ['sift', 'rest'], 'the list');
  expect(await note.locator('.markdown a').evaluateAll((all) => all.map((one) => one.getAttribute('href'))), ['https://example.org/flour'], 'where links lead');
  expect(await note.locator('img, script').count(), 0, 'elements that a text must not have');
  await note.getByText('<img src=x').waitFor();
  expect(await note.getByRole('combobox', { name: 'Language' }).count(), 0, 'a switch for one language');
  await note.getByText('Revision 0, by Ann').waitFor();

  // Another language appears while the note is open, and can be chosen.
  await saveText(api, 'Ann', id, { locale: 'fr_CA', title: 'Du pain', body: 'Prendre *trois* tasses.' });
  const language = note.getByRole('combobox', { name: 'Language' });
  await language.waitFor();
  expect(await language.locator('option').allTextContents(), ['English', 'Canadian French'], 'the languages');
  await language.selectOption({ label: 'Canadian French' });
  await note.getByRole('heading', { name: 'Du pain' }).waitFor();
  expect(await note.locator('.note-text').getAttribute('lang'), 'fr-CA', 'the language of the element');
  expect(await note.getByText('Take three').count(), 0, 'the other text');
  await saveText(api, 'Ann', id, { locale: 'fr_CA', title: 'Du pain', body: 'Prendre quatre tasses.' });
  await note.getByText('Prendre quatre tasses.').waitFor();
  await note.getByText('Revision 1, by Ann').waitFor();
  await cleo.context().close();

  // The gateway chooses by the languages of the browser.
  const french = await sit('Cleo', { path: `/app/item/${id}`, locale: 'fr-CA' });
  await noteOf(french).getByText('Prendre quatre tasses.').waitFor();
  await french.context().close();

  const none = await makeNote(api, 'Unwritten');
  const page = await sit('Cleo', { path: `/app/item/${none}` });
  await noteOf(page).getByText('This note has no text yet.').waitFor();
  await page.context().close();
}
