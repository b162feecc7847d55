// The text of a note, in several languages, and edited by two users at the same time.
import { confirm, dialog, expect, item, live, openEntry, says } from './fixture.mjs';

const make = 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }';
const save = 'mutation ($input: SaveRevisionInput!) { saveRevision(input: $input) { revision { number } userErrors { message } } }';

// makeNote creates a note as Ann, on which Cleo has a role by default, and returns its id.
export async function makeNote(api, title, { role = 'VIEWER', ...input } = {}) {
  const members = [{ principalId: 'u:demo:cleo', role }];
  const { content, userErrors } = (await api('Ann', make, { input: { kind: 'NOTE', visibility: 'PRIVATE', title, members, ...input } }))
    .createContent;
  expect(userErrors, [], `faults of creating ${title}`);
  return content.id;
}

// saveText publishes a text as a user, without the page.
export async function saveText(api, name, contentId, input) {
  const { userErrors } = (await api(name, save, { input: { contentId, ...input } })).saveRevision;
  expect(userErrors, [], `faults of saving as ${name}`);
}

// noteOf is the section of a page that shows the text of a note.
export const noteOf = (page) => page.getByRole('region', { name: 'Text', exact: true });

const body = '# Flour\n\nTake **three** cups.\n\n- sift\n- rest\n\n<img src=x onerror="document.title=1"> [bad](javascript:alert(1)) [good](https://example.org/flour)';

// noteTexts: Markdown becomes only elements, a menu changes the language, and an empty note says
// that it is empty.
export async function noteTexts({ api, openAs }) {
  const id = await makeNote(api, 'Bread', { body, locale: 'en' });
  const cleo = await openAs('Cleo');
  await live(cleo);
  await openEntry(cleo, 'Bread');
  const note = noteOf(item(cleo));
  await note.getByRole('heading', { name: 'Flour' }).waitFor();
  expect(await note.locator('strong').textContent(), 'three', 'what is bold');
  expect(await note.getByRole('listitem').allTextContents(), ['sift', 'rest'], 'the list');
  expect(await note.locator('.markdown a').evaluateAll((all) => all.map((one) => one.getAttribute('href'))),
    ['https://example.org/flour'], 'the targets of links');
  expect(await note.locator('img, script').count(), 0, 'elements that a text must not have');
  await note.getByText('<img src=x').waitFor();
  expect(await note.getByRole('combobox', { name: 'Language' }).count(), 0, 'language menus for a text in one language');
  await note.getByText('Version 1, by Ann').waitFor();

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
  await note.getByText('Version 2, by Ann').waitFor();
  await cleo.context().close();

  // The gateway chooses by the browser's languages.
  const french = await openAs('Cleo', { path: `/app/item/${id}`, locale: 'fr-CA' });
  await noteOf(french).getByText('Prendre quatre tasses.').waitFor();
  await french.context().close();

  const none = await makeNote(api, 'Unwritten');
  const page = await openAs('Cleo', { path: `/app/item/${none}` });
  await noteOf(page).getByText('This note has no text yet.').waitFor();
  await page.context().close();
}

export const textOf = async (api, id, locale = null) =>
  (await api('Ann', 'query ($id: ID!, $locale: String) { content(id: $id) { title revision(locale: $locale, strictLocale: true) { number title body } } }', { id, locale })).content;
export const draftsOf = async (api, name, id) => {
  const { nodes } = (await api(name, '{ viewer { drafts(first: 50) { nodes { version title body baseRevision content { id } } } } }'))
    .viewer.drafts;
  return nodes.filter(({ content }) => content.id === id).map(({ content, ...draft }) => draft);
};
export const field = (page, name) => dialog(page).getByRole('textbox', { name });
export const button = (page, name) => dialog(page).getByRole('button', { name, exact: true });
export const savedAsDraft = (page) => dialog(page).getByText('Saved as a draft. Only you can see it.').waitFor();

// hugeNote: a text of 130,000 lines is shown, and the buttons of its note work. If the browser cannot
// show a text, only its panel says so, and the buttons can repair it.
export async function hugeNote({ api, openAs, faults }) {
  const id = await makeNote(api, 'Salt', { body: 'a\n'.repeat(130_000) + '\n' + '*a '.repeat(2000) + 'last' });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const note = noteOf(ann);
  await note.getByText('Version 1, by Ann').waitFor({ timeout: 60_000 });
  expect(await note.locator('.markdown').evaluate((text) => text.textContent.endsWith('last')), true, 'the end of the text is there');
  await note.getByRole('button', { name: 'Edit text…' }).click({ timeout: 60_000 });
  await dialog(ann).getByRole('textbox', { name: 'Text' }).fill('a pinch');
  await dialog(ann).getByRole('button', { name: 'Publish' }).click();
  await note.getByText('a pinch').waitFor();
  await ann.context().close();

  // No text is known that cannot be shown, so the parser is broken.
  const broken = await makeNote(api, 'Pepper', { body: 'unshowable' });
  const page = await openAs('Ann', { path: `/app/item/${broken}` });
  await page.addInitScript(() => {
    const { replace } = String.prototype;
    String.prototype.replace = function replaced(...how) {
      if (String(this) === 'unshowable') throw new Error('cannot be shown');
      return replace.apply(this, how);
    };
  });
  await page.reload();
  const alert = noteOf(page).getByRole('alert');
  await alert.getByText('The browser could not show this text.').waitFor();
  await page.getByRole('region', { name: 'Who sees this' }).waitFor();
  await alert.getByRole('button', { name: 'Try again' }).click();
  await alert.getByText('The browser could not show this text.').waitFor();
  expect(faults.every((fault) => fault.includes('cannot be shown')), true, 'errors of the page are only those that were caused');
  faults.length = 0;
  await openEditor(page);
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('can be shown again');
  await dialog(page).getByRole('button', { name: 'Publish' }).click();
  await noteOf(page).getByText('can be shown again').waitFor();
  expect(await alert.count(), 0, 'panels that failed');
  await page.context().close();
}

// renamedNote: the text of a note that was renamed keeps the new title, and a translation its own one. A suggestion that was made
// before shows that it changes the title.
export async function renamedNote({ api, openAs }) {
  const id = await makeNote(api, 'Gravy', { body: 'stock', locale: 'en' });
  const suggest = 'mutation ($in: SuggestRevisionInput!) { suggestRevision(input: $in) { userErrors { message } } }';
  const { suggestRevision } = await api('Cleo', suggest, { in: { contentId: id, locale: 'en', title: 'Gravy', body: 'stock\nwine' } });
  expect(suggestRevision.userErrors, [], 'faults of suggesting');
  const rename = (title) => api('Ann', 'mutation ($in: UpdateContentInput!) { updateContent(input: $in) { userErrors { message } } }',
    { in: { id, title } });
  const ann = await openAs('Ann');
  await live(ann);
  await openEntry(ann, 'Gravy');
  const note = noteOf(ann);
  const publish = async (text) => {
    await field(ann, 'Text').fill(text);
    await button(ann, 'Publish').click();
    await says(ann, 'Published.');
  };
  const titles = async (locale) => {
    const { title, revision } = await textOf(api, id, locale);
    return [title, revision.title];
  };
  await note.getByText('stock').waitFor();
  await rename('Brown sauce');
  await ann.getByRole('heading', { level: 2, name: 'Brown sauce' }).waitFor();
  expect(await note.getByRole('heading', { name: 'Gravy' }).count(), 0, 'headings with the former title');
  await note.getByRole('button', { name: 'Suggestions (1 open)…' }).click();
  await dialog(ann).locator('del').getByText('Brown sauce').waitFor();
  expect(await dialog(ann).locator('ins').allTextContents(), ['Gravy', 'wine'], 'what the suggestion changes');
  await ann.keyboard.press('Escape');
  await openEditor(ann);
  expect(await field(ann, 'Title').inputValue(), 'Brown sauce', 'the title in the editor');
  await publish('dark stock');
  await note.getByText('dark stock').waitFor();
  expect(await titles('en'), ['Brown sauce', 'Brown sauce'], 'the titles after a change of the text');

  // A rename while the editor is open.
  await openEditor(ann);
  await rename('Gravy again');
  await field(ann, 'Text').fill('light stock');
  await ann.waitForFunction(() => document.querySelector('dialog input').value === 'Gravy again');
  await publish('light stock');
  expect(await titles('en'), ['Gravy again', 'Gravy again'], 'the titles after a rename in between');

  // A translation has a title of its own.
  await saveText(api, 'Ann', id, { locale: 'de', title: 'Bratensoße', body: 'Fond' });
  await note.getByRole('combobox', { name: 'Language' }).waitFor();
  await rename('Dip');
  await ann.getByRole('heading', { level: 2, name: 'Dip' }).waitFor();
  await note.getByRole('combobox', { name: 'Language' }).selectOption({ label: 'German' });
  await note.getByRole('heading', { name: 'Bratensoße' }).waitFor();
  await openEditor(ann);
  expect(await field(ann, 'Title').inputValue(), 'Bratensoße', 'the title of a translation in the editor');
  await publish('Kalbsfond');
  expect(await titles('de'), ['Dip', 'Bratensoße'], 'the titles after a change of the translation');
  await ann.context().close();
}

// openEditor opens the editor of a text by a button, and waits until it has focus.
export async function openEditor(page, name = 'Edit text…') {
  await noteOf(page).getByRole('button', { name }).click();
  await field(page, 'Text').and(page.locator(':focus')).waitFor();
}

// broken answers operations with a name as if the store were unavailable, while is() returns
// true.
export async function broken(page, name, is) {
  await page.route('**/graphql', (route) => {
    if (!is() || route.request().postDataJSON().operationName !== name) return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
}

// drafts: typed text is saved as a draft without a button, survives a reload, is visible to
// nobody else, and is published or discarded.
export async function drafts({ api, openAs }) {
  const id = await makeNote(api, 'Soup');
  const path = `/app/item/${id}`;
  const ann = await openAs('Ann', { path });
  await openEditor(ann, 'Write text…');
  expect(await button(ann, 'Publish').getAttribute('aria-disabled'), 'true', 'publishing before anything was typed');
  let down = true;
  await broken(ann, 'SaveDraft', () => down);
  await field(ann, 'Text').fill('Boil *water*.');
  await dialog(ann).getByText('Not saved. The service is temporarily unavailable.').waitFor();
  // A key does not discard unsaved text.
  await ann.keyboard.press('Escape');
  await ann.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Keep editing' }).click();
  down = false;
  await button(ann, 'Try again').click();
  await savedAsDraft(ann);
  // It is tried again by itself, too.
  down = true;
  await field(ann, 'Text').fill('Boil *water*!');
  await dialog(ann).getByText('Not saved. The service is temporarily unavailable.').waitFor();
  down = false;
  await ann.evaluate(() => dispatchEvent(new Event('focus')));
  await savedAsDraft(ann);
  expect(await draftsOf(api, 'Ann', id), [{ version: 2, title: 'Soup', body: 'Boil *water*!', baseRevision: null }], 'the draft');
  expect((await textOf(api, id)).revision, null, 'what others see of a draft');
  await dialog(ann).getByText('Preview').click();
  expect(await dialog(ann).locator('.markdown em').textContent(), 'water', 'the preview');

  // Closing saves the last keystrokes; the draft is there after a reload.
  await field(ann, 'Text').fill('Boil *water*. Add salt.');
  await ann.keyboard.press('Escape');
  await dialog(ann).waitFor({ state: 'detached' });
  await noteOf(ann).getByText('You have a draft that is not published.').waitFor();
  await ann.reload();
  await openEditor(ann, 'Continue the draft');
  expect(await field(ann, 'Text').inputValue(), 'Boil *water*. Add salt.', 'the draft after a reload');
  await field(ann, 'Title').fill('');
  await button(ann, 'Publish').click();
  await field(ann, 'Title').and(ann.locator('[aria-invalid="true"]')).and(ann.locator(':focus')).waitFor();
  await field(ann, 'Title').fill('Soup of the day');
  await ann.keyboard.press('Enter');
  await savedAsDraft(ann);
  expect((await textOf(api, id)).revision, null, 'what is published after Enter in the title');
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');
  await noteOf(ann).getByText('Boil water. Add salt.').waitFor();
  await ann.getByRole('heading', { level: 1, name: 'Soup of the day' }).waitFor();
  expect(await draftsOf(api, 'Ann', id), [], 'drafts after publishing');
  await noteOf(ann).getByText('You have a draft that is not published.').waitFor({ state: 'detached' });

  await openEditor(ann);
  await field(ann, 'Text').fill('Never mind.');
  await savedAsDraft(ann);
  await button(ann, 'Discard draft').click();
  await confirm(ann, 'Discard your draft?', 'Discard');
  await says(ann, 'Draft discarded.');
  expect([await draftsOf(api, 'Ann', id), (await textOf(api, id)).revision.body], [[], 'Boil *water*. Add salt.'],
    'what is left after discarding');
  await ann.context().close();

  // A user without the right to edit sees no button for it.
  const cleo = await openAs('Cleo', { path });
  await noteOf(cleo).getByText('Boil water. Add salt.').waitFor();
  expect(await noteOf(cleo).getByRole('button', { name: /text…/ }).count(), 0, 'Edit buttons for a viewer');
  await cleo.context().close();
}

// textConflict: two users edit the same text. The second one sees all three texts, merges them,
// and overwrites nothing.
export async function textConflict({ api, openAs }) {
  const id = await makeNote(api, 'Stew', { role: 'EDITOR', body: 'one\ntwo\nthree' });
  const path = `/app/item/${id}`;
  const [ann, cleo] = await Promise.all([openAs('Ann', { path }), openAs('Cleo', { path })]);
  await Promise.all([openEditor(ann), openEditor(cleo)]);
  await field(cleo, 'Text').fill('one\nTWO of mine\nthree');
  await savedAsDraft(cleo);
  await field(ann, 'Text').fill('one\ntwo\nTHREE of Ann');
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');

  await button(cleo, 'Publish').click();
  const conflict = dialog(cleo).getByRole('group', { name: 'The text has changed' });
  await conflict.and(cleo.locator(':focus')).waitFor();
  await conflict.getByText('Ann Archer has published another text').waitFor();
  const changes = async () => [await conflict.locator('del').allTextContents(), await conflict.locator('ins').allTextContents()];
  expect(await changes(), [['two', 'THREE of Ann'], ['TWO of mine', 'three']], 'the current text and the draft');
  await conflict.getByRole('combobox', { name: 'Compare' }).selectOption('theirs');
  expect(await changes(), [['three'], ['THREE of Ann']], 'what they have changed');
  await conflict.getByRole('combobox', { name: 'Compare' }).selectOption('own');
  expect(await changes(), [['two'], ['TWO of mine']], 'what I have changed');
  if (process.env.PICTURES) await cleo.screenshot({ path: `${process.env.PICTURES}/overtaken.png` });
  expect((await textOf(api, id)).revision.body, 'one\ntwo\nTHREE of Ann', 'the text before it is merged');

  // What is missing of the other text is shown before it can be left out, in view on a phone too.
  await cleo.setViewportSize({ width: 390, height: 560 });
  await button(cleo, 'I have merged them').click();
  await conflict.getByText('Your text does not have these parts of Ann Archer.').waitFor();
  await conflict.locator('blockquote').getByText('THREE of Ann').waitFor();
  await cleo.waitForFunction(() => [...document.querySelectorAll('.overtaken blockquote, .overtaken-actions button')].every((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  }));
  await button(cleo, 'Leave them out').waitFor();
  await cleo.setViewportSize({ width: 390, height: 844 });
  expect(await dialog(cleo).evaluate((element) => element.scrollWidth <= element.clientWidth), true, 'whether the editor fits on a phone');
  await cleo.setViewportSize({ width: 1280, height: 860 });
  // What is missing is in view again each time that Publish is pressed.
  await field(cleo, 'Text').focus();
  await dialog(cleo).evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await button(cleo, 'Publish').click();
  const missing = conflict.locator('.missing-parts');
  await missing.and(cleo.locator(':focus')).waitFor();
  expect(await missing.evaluate((element) => element.getBoundingClientRect().top >= document.querySelector('.dialog-head')
    .getBoundingClientRect().bottom && element.getBoundingClientRect().bottom < innerHeight), true, 'whether it is in view');
  expect((await textOf(api, id)).revision.body, 'one\ntwo\nTHREE of Ann', 'the text while a part is missing');
  // Publish is enough once nothing is missing.
  await field(cleo, 'Text').fill('one\nTWO of mine\nTHREE of Ann');
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published.');
  expect((await textOf(api, id)).revision, { number: 2, title: 'Stew', body: 'one\nTWO of mine\nTHREE of Ann' }, 'the merged text');

  // Publish alone shows what is missing, and focus is in the text after a decision.
  await Promise.all([ann.reload(), openEditor(cleo)]);
  const overtake = async (mine, theirs) => {
    await field(cleo, 'Text').fill(mine);
    await savedAsDraft(cleo);
    await saveText(api, 'Ann', id, { title: 'Stew', body: theirs });
    await button(cleo, 'Publish').click();
    await conflict.and(cleo.locator(':focus')).waitFor();
  };
  const inText = () => field(cleo, 'Text').and(cleo.locator(':focus')).waitFor();
  await overtake('mine', 'theirs');
  await button(cleo, 'Publish').click();
  await missing.and(cleo.locator(':focus')).getByText('theirs').waitFor();
  await button(cleo, 'Leave them out').click();
  await conflict.waitFor({ state: 'detached' });
  await inText();
  await overtake('mine, theirs again', 'theirs again');
  await button(cleo, 'I have merged them').click();
  await conflict.waitFor({ state: 'detached' });
  await inText();
  await overtake('mine again', 'theirs at last');
  await button(cleo, 'Use the current text').click();
  await conflict.waitFor({ state: 'detached' });
  await inText();
  expect(await field(cleo, 'Text').inputValue(), 'theirs at last', 'the text that was chosen');
  // Nothing is missing, but a line of theirs was removed: Publish first shows that the text has changed.
  await field(cleo, 'Text').fill('mine\ntheirs at last');
  await savedAsDraft(cleo);
  await cleo.keyboard.press('Escape');
  await dialog(cleo).waitFor({ state: 'detached' });
  await saveText(api, 'Ann', id, { title: 'Stew', body: '' });
  await openEditor(cleo, 'Continue the draft');
  await conflict.waitFor();
  await button(cleo, 'Publish').click();
  await conflict.and(cleo.locator(':focus')).waitFor();
  expect((await textOf(api, id)).revision.body, '', 'the text before the author has seen that it has changed');
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published.');
  expect((await textOf(api, id)).revision.body, 'mine\ntheirs at last', 'the text after');

  // The same draft in two windows: neither overwrites the other without asking.
  await ann.reload();
  const other = await openAs('Ann', { path });
  await Promise.all([openEditor(ann), openEditor(other)]);
  await field(ann, 'Text').fill('first window');
  await savedAsDraft(ann);
  await field(other, 'Text').fill('second window');
  const versions = dialog(other).getByRole('group', { name: 'Two versions of your draft' });
  await versions.waitFor();
  expect((await draftsOf(api, 'Ann', id)).map(({ body }) => body), ['first window'], 'the draft before a choice');
  await button(other, 'Keep this version').click();
  await savedAsDraft(other);
  expect((await draftsOf(api, 'Ann', id)).map(({ body }) => body), ['second window'], 'the draft that was kept');
  await field(ann, 'Text').fill('first window again');
  await button(ann, 'Use the other version').click();
  expect(await field(ann, 'Text').inputValue(), 'second window', 'the draft that was chosen');
  await Promise.all([ann, cleo, other].map((page) => page.context().close()));
}

// history: it shows every revision with its author and the differences between
// two of them, and makes an earlier one current.
export async function history({ api, openAs }) {
  const id = await makeNote(api, 'Pie', { role: 'EDITOR', body: 'apples\nsugar' });
  await saveText(api, 'Cleo', id, { title: 'Pie', body: 'pears\nsugar' });
  await saveText(api, 'Ann', id, { locale: 'de', title: 'Kuchen', body: 'Birnen' });
  for (let n = 2; n < 32; n += 1) await saveText(api, 'Ann', id, { title: 'Pie', body: `plums\nsugar ${n}` });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const language = noteOf(ann).getByRole('combobox', { name: 'Language' });
  await language.selectOption({ label: 'German' });
  await noteOf(ann).getByText('Birnen').waitFor();
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await dialog(ann).getByRole('listitem', { name: 'Version 1' }).waitFor();
  expect(await dialog(ann).getByRole('listitem').count(), 1, 'revisions in German');
  await ann.keyboard.press('Escape');
  await language.selectOption({ label: 'All languages' });
  await noteOf(ann).getByText('sugar 31').waitFor();
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  const line = (number) => dialog(ann).getByRole('listitem', { name: `Version ${number + 1}`, exact: true });
  await line(31).getByText('Current').waitFor();
  const changes = async () => [await dialog(ann).locator('del').allTextContents(), await dialog(ann).locator('ins').allTextContents()];
  await dialog(ann).getByText('sugar 30').waitFor();
  expect(await changes(), [['sugar 30'], ['sugar 31']], 'what has changed last');
  expect(await dialog(ann).getByRole('listitem').count(), 30, 'revisions on the first page');
  await dialog(ann).getByRole('button', { name: 'Show more' }).click();
  await line(1).getByText('Cleo Carter').waitFor();
  expect(await dialog(ann).getByRole('listitem').count(), 32, 'revisions without a locale');
  await line(1).getByRole('button', { name: 'Show changes' }).click();
  await dialog(ann).getByText('apples').waitFor();
  expect(await changes(), [['apples'], ['pears']], 'the changes of revision 1');
  await dialog(ann).getByRole('combobox', { name: 'with' }).selectOption('31');
  await dialog(ann).getByText('sugar 31').waitFor();
  expect(await changes(), [['apples', 'sugar'], ['plums', 'sugar 31']], 'revision 0 and 31');

  await line(1).getByRole('button', { name: 'Set as current' }).click();
  await says(ann, 'Version 2 is current now.');
  await line(31).getByRole('button', { name: 'Set as current' }).waitFor();
  await line(1).getByText('Current').waitFor();
  await line(1).getByRole('button', { name: 'Show changes' }).and(ann.locator(':focus')).waitFor();
  if (process.env.PICTURES) await ann.screenshot({ path: `${process.env.PICTURES}/history.png` });
  expect((await textOf(api, id)).revision, { number: 1, title: 'Pie', body: 'pears\nsugar' },
    'the text after an earlier revision became current');
  await ann.keyboard.press('Escape');
  await noteOf(ann).getByText('pears').waitFor();
  const undo = ann.locator('.notices').getByRole('button', { name: 'Undo' });
  await undo.click();
  await says(ann, 'Undone.');
  await noteOf(ann).getByText('sugar 31').waitFor();
  // What was published meanwhile is not undone.
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await line(30).getByRole('button', { name: 'Set as current' }).click();
  await says(ann, 'Version 31 is current now.');
  await saveText(api, 'Cleo', id, { title: 'Pie', body: 'cherries' });
  await undo.click();
  await says(ann, 'This could not be undone.');
  await line(32).getByText('Current').waitFor();
  expect((await textOf(api, id)).revision.body, 'cherries', 'the text that was published meanwhile');
  await ann.keyboard.press('Escape');
  await ann.context().close();
}

// suggestions: a user without the right to edit suggests a text, and withdraws it or sees the
// decision. An editor sees the differences and decides, and is warned before overwriting a text
// that others have published.
export async function suggestions({ api, openAs }) {
  const id = await makeNote(api, 'Salad', { body: 'lettuce\nsalt' });
  const path = `/app/item/${id}`;
  const [ann, cleo] = await Promise.all([openAs('Ann', { path }), openAs('Cleo', { path })]);
  const suggest = async (text, note = '') => {
    await noteOf(cleo).getByRole('button', { name: 'Suggest a change…' }).click();
    await field(cleo, 'Text').and(cleo.locator(':focus')).fill(text);
    await field(cleo, 'Note to the editors').fill(note);
    await button(cleo, 'Send suggestion').click();
    await says(cleo, 'Suggestion sent.');
  };
  const suggestions = (page, name = /^Suggestions/) => noteOf(page).getByRole('button', { name }).click();
  const card = (page) => dialog(page).getByRole('listitem', { name: 'Suggestion by Cleo Carter: Salad' });

  // A suggestion must differ from the current text.
  await noteOf(cleo).getByRole('button', { name: 'Suggest a change…' }).click();
  await button(cleo, 'Send suggestion').click();
  await dialog(cleo).getByText('Change the title or the text first.').waitFor();
  await cleo.keyboard.press('Escape');
  await suggest('lettuce\nlemon', 'Salt is not healthy.');
  await noteOf(cleo).getByRole('button', { name: 'Suggestions (1 open)…' }).waitFor();
  expect((await textOf(api, id)).revision.body, 'lettuce\nsalt', 'the text while a suggestion is open');

  // An editor sees the differences and the note, and accepts.
  await ann.reload();
  await suggestions(ann, 'Suggestions (1 open)…');
  await card(ann).getByText('Salt is not healthy.').waitFor();
  await card(ann).locator('ins').waitFor();
  expect([await card(ann).locator('del').allTextContents(), await card(ann).locator('ins').allTextContents()],
    [['salt'], ['lemon']], 'the differences');
  if (process.env.PICTURES) await ann.screenshot({ path: `${process.env.PICTURES}/suggestions.png` });
  await card(ann).getByRole('button', { name: 'Accept' }).click();
  await says(ann, 'Accepted and published.');
  await dialog(ann).getByText('There are no open suggestions.').waitFor();
  await ann.keyboard.press('Escape');
  await noteOf(ann).getByText('lemon').waitFor();
  // The history names the author of the suggestion, and the editor that accepted it.
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await dialog(ann).getByRole('listitem', { name: 'Version 2' }).getByText('Ann Archer, who has accepted a suggestion by Cleo Carter')
    .waitFor();
  await ann.keyboard.press('Escape');
  await suggestions(cleo);
  await card(cleo).getByText('Accepted').waitFor();
  await cleo.keyboard.press('Escape');

  // Another text is published while the editor reads: accepting is refused, and the editor is
  // asked again.
  await cleo.reload();
  await noteOf(cleo).getByText('lemon').waitFor();
  await suggest('lettuce\nlime');
  await suggestions(ann);
  await card(ann).locator('ins').waitFor();
  await saveText(api, 'Ann', id, { title: 'Salad', body: 'rocket\nlemon' });
  await card(ann).getByRole('button', { name: 'Accept', exact: true }).click();
  await card(ann).getByText('The text has changed since this was suggested.').waitFor();
  await card(ann).locator('del').getByText('rocket').waitFor();
  expect((await textOf(api, id)).revision.body, 'rocket\nlemon', 'the text that was not overwritten');
  await says(ann, 'Not accepted: the text has changed meanwhile.');
  expect(await card(ann).getByRole('alert').allTextContents(), [''], 'the errors at the suggestion');
  await card(ann).getByRole('button', { name: 'Accept anyway' }).and(ann.locator(':focus')).waitFor();
  // A text that the editor has not seen is not replaced even so.
  await saveText(api, 'Ann', id, { title: 'Salad', body: 'endive\nlemon' });
  await ann.keyboard.press('Enter');
  await card(ann).locator('del').getByText('endive').waitFor();
  expect((await textOf(api, id)).revision.body, 'endive\nlemon', 'the text that was published meanwhile');
  await saveText(api, 'Ann', id, { title: 'Salad', body: 'rocket\nlemon' });
  await card(ann).getByRole('button', { name: 'Reject' }).click();
  await says(ann, 'Rejected.');
  expect((await textOf(api, id)).revision.body, 'rocket\nlemon', 'the text after rejecting');

  // The author withdraws a suggestion before it is decided: it disappears for the editor.
  await cleo.reload();
  await noteOf(cleo).getByText('rocket').waitFor();
  await suggest('rocket\nvinegar');
  await ann.keyboard.press('Escape');
  await suggestions(ann);
  await card(ann).locator('ins').waitFor();
  await suggestions(cleo);
  await card(cleo).filter({ hasText: 'vinegar' }).getByRole('button', { name: 'Withdraw' }).click();
  await says(cleo, 'Withdrawn.');
  await card(ann).getByRole('button', { name: 'Accept', exact: true }).click();
  await says(ann, 'Cleo Carter has withdrawn this suggestion.');
  await dialog(ann).getByText('There are no open suggestions.').waitFor();
  expect((await textOf(api, id)).revision.body, 'rocket\nlemon', 'the text after withdrawing');
  await Promise.all([ann, cleo].map((page) => page.context().close()));
}
