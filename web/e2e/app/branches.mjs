// Branches and languages of the text of a note, with two editors and a visitor.
import { dialog, expect, item, live, openEntry, says } from './fixture.mjs';
import { broken, makeNote, noteOf, openEditor, saveText } from './notes.mjs';

const members = [
  { principalId: 'u:demo:cleo', role: 'EDITOR' },
  { principalId: 'u:demo:ben', role: 'VIEWER' },
];
const line = (page, number) => dialog(page).getByRole('listitem', { name: `Branch ${number}`, exact: true });
const button = (page, name) => dialog(page).getByRole('button', { name, exact: true });
const field = (page, name) => dialog(page).getByRole('textbox', { name });
const badgesOf = (page, number) => line(page, number).locator('.badge').allTextContents();
const savedAsDraft = (page) => dialog(page).getByText('Saved as a draft. Only you can see it.').waitFor();
const openDialog = (page, name) => noteOf(page).getByRole('button', { name }).click();
const create = async (page, choice) => {
  await dialog(page).getByRole('combobox', { name: 'New branch' }).selectOption(choice);
  await button(page, 'Create branch').click();
};
const chosenCopy = (page) => dialog(page).getByRole('combobox', { name: 'New branch' }).locator('option:checked').textContent();
const branchesOf = async (api, id) => {
  const query = 'query ($id: ID!) { content(id: $id) { branches { nodes { number isCurrent isWorking copiedFrom } } revision { branch number body } } }';
  const { branches, revision } = (await api('Ann', query, { id })).content;
  return { branches: branches.nodes.map(({ number, isCurrent, isWorking, copiedFrom }) => [number, isCurrent, isWorking, copiedFrom]),
    revision };
};

// branches: editors prepare a branch while the visitor reads another one; then the visitor sees
// all of it at once.
export async function branches({ api, openAs }) {
  const id = await makeNote(api, 'Curry', { members, body: 'rice\nlentils' });
  const [ann, cleo, ben] = await Promise.all(['Ann', 'Cleo', 'Ben'].map((name) => openAs(name)));
  for (const page of [ann, cleo, ben]) {
    await live(page);
    await openEntry(page, 'Curry');
    await noteOf(page).getByText('lentils').waitFor();
  }
  expect(await noteOf(ben).getByRole('button').allTextContents(), ['Suggest a change…', 'Suggestions…'], 'what a visitor is offered');

  // Two branches: a copy and an empty one, which visitors cannot be shown.
  await openDialog(ann, 'Branches…');
  await line(ann, 1).waitFor();
  expect(await badgesOf(ann, 1), ['Current', 'Working'], 'the first branch');
  expect(await line(ann, 1).getByRole('button').allTextContents(), ['Show texts'], 'the buttons of the first branch');
  expect(await chosenCopy(ann), 'Copy of branch 1 (current)', 'what is copied by default');
  await button(ann, 'Create branch').click();
  await says(ann, 'Branch 2 was created.');
  await line(ann, 2).getByText('Copied from branch 1').waitFor();
  await create(ann, 'Empty');
  await says(ann, 'Branch 3 was created.');
  await line(ann, 3).getByText('Created').waitFor();
  await line(ann, 3).getByRole('button', { name: 'Set as current' }).click();
  await line(ann, 3).getByRole('alert').getByText('Branch 3 is empty: publish a version in it first.').waitFor();
  expect(await line(ann, 2).locator('.fault').count(), 0, 'errors at another branch');
  expect((await branchesOf(api, id)).branches, [[1, true, true, null], [2, false, false, 1], [3, false, false, null]], 'the branches');
  await line(ann, 2).getByRole('button', { name: 'Show texts' }).click();
  await noteOf(ann).getByText('This is branch 2. Visitors see branch 1.').waitFor();
  await noteOf(ann).getByText('lentils').waitFor();

  // A text that is published in the branch is shown only to editors who open the branch.
  await openEditor(ann);
  await ann.getByRole('dialog', { name: 'Edit the text: branch 2' }).getByText('Visitors do not see branch 2.').waitFor();
  await field(ann, 'Text').fill('rice\nchickpeas');
  await button(ann, 'Publish').click();
  await says(ann, 'Published in branch 2.');
  await noteOf(ann).getByText('chickpeas').waitFor();
  expect((await branchesOf(api, id)).revision, { branch: 1, number: 0, body: 'rice\nlentils' }, 'what visitors see');
  await openDialog(ann, 'History…');
  await ann.getByRole('dialog', { name: 'History: branch 2' }).locator('ins').waitFor();
  expect(await dialog(ann).getByRole('listitem').count(), 2, 'revisions of branch 2');
  await ann.keyboard.press('Escape');
  await prepare(api, { id, ann, cleo });
  await show({ ann, cleo, ben });
  await Promise.all([ann, cleo, ben].map((page) => page.context().close()));
}

// prepare lets both editors write in branch 2 at the same time.
async function prepare(api, { id, ann, cleo }) {
  await openDialog(cleo, 'Branches…');
  await line(cleo, 2).getByRole('button', { name: 'Set as working' }).click();
  await says(cleo, 'Editors work on branch 2 now.');
  await line(cleo, 2).getByText('Working', { exact: true }).waitFor();
  await line(cleo, 2).getByRole('button', { name: 'Show texts' }).and(cleo.locator(':focus')).waitFor();
  expect([await badgesOf(cleo, 1), await badgesOf(cleo, 2)], [['Current'], ['Working']], 'the branches of another editor');
  expect(await chosenCopy(cleo), 'Copy of branch 1 (current)', 'what is copied by default when editors work on another branch');
  await cleo.keyboard.press('Escape');
  await noteOf(cleo).getByText('Editors work on branch 2.').waitFor();
  await noteOf(cleo).getByRole('button', { name: 'Show branch 2' }).click();
  await noteOf(cleo).getByText('chickpeas').waitFor();

  await Promise.all([openEditor(ann), openEditor(cleo)]);
  await field(cleo, 'Text').fill('bread\nchickpeas');
  await savedAsDraft(cleo);
  await field(ann, 'Text').fill('rice\nbeans');
  await button(ann, 'Publish').click();
  await says(ann, 'Published in branch 2.');
  await button(cleo, 'Publish').click();
  const conflict = dialog(cleo).getByRole('group', { name: 'The text has changed' });
  await conflict.getByText('Ann Archer has published another text').waitFor();
  await field(cleo, 'Text').fill('bread\nbeans');
  await button(cleo, 'I have merged them').click();
  await conflict.waitFor({ state: 'detached' });
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published in branch 2.');
  expect((await branchesOf(api, id)).revision, { branch: 1, number: 0, body: 'rice\nlentils' }, 'what visitors see meanwhile');
}

// show makes branch 2 current: the visitor sees it at once, and the other editor sees it in the
// open list.
async function show({ ann, cleo, ben }) {
  await openDialog(cleo, 'Branches…');
  await line(cleo, 2).waitFor();
  expect(await ben.getByText('beans').count(), 0, 'what a visitor has seen of branch 2');
  await openDialog(ann, 'Branches…');
  await line(ann, 2).getByText('You are reading this one').waitFor();
  await line(ann, 2).getByRole('button', { name: 'Set as current' }).click();
  await says(ann, 'Visitors see branch 2 now.');
  await line(ann, 2).getByText('Current', { exact: true }).waitFor();
  await line(cleo, 2).getByText('Current', { exact: true }).waitFor();
  expect(await line(cleo, 1).getByRole('button').allTextContents(), ['Show texts', 'Set as working', 'Set as current'],
    'the buttons of the former current branch');
  await noteOf(item(ben)).getByText('beans').waitFor();
  expect(await noteOf(ben).getByText('branch').count(), 0, 'texts about branches that a visitor sees');
  expect(await chosenCopy(ann), 'Copy of branch 2 (current)', 'what is copied now');
  await create(ann, 'Copy of branch 2 (current)');
  await line(ann, 4).getByText('Copied from branch 2').waitFor();
  await ann.keyboard.press('Escape');
  await noteOf(ann).getByText('beans').waitFor();
  expect(await noteOf(ann).getByText('This is branch 2.').count(), 0, 'the branch that visitors see is not marked');
  // The other editor goes back to a branch that visitors do not see any more.
  await line(cleo, 1).getByRole('button', { name: 'Show texts' }).click();
  await noteOf(cleo).getByText('This is branch 1. Visitors see branch 2.').waitFor();
  await noteOf(cleo).getByText('lentils').waitFor();
  await openEditor(cleo);
  await dialog(cleo).getByText('Visitors do not see branch 1.').waitFor();
  expect(await dialog(cleo).getByText('everyone who can open').count(), 0, 'notice of what visitors see in another branch');
  await cleo.keyboard.press('Escape');
  await dialog(cleo).waitFor({ state: 'detached' });
  // What is published in branch 2 is published to visitors now.
  await openEditor(ann);
  await dialog(ann).getByText('Branch 2: everyone who can open the item sees what you publish.').waitFor();
  expect(await dialog(ann).getByText('Visitors do not see').count(), 0, 'notice in the branch that visitors see');
  await field(ann, 'Text').fill('bread\nchard');
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');
  await noteOf(ben).getByText('chard').waitFor();
  await openDialog(cleo, 'Branches…');
  await line(cleo, 2).getByRole('button', { name: 'Show texts' }).click();
  await noteOf(cleo).getByText('chard').waitFor();
  // A reader of the current branch sees the new one when another one becomes current.
  await openDialog(ann, 'Branches…');
  await line(ann, 1).getByRole('button', { name: 'Set as current' }).click();
  await says(ann, 'Visitors see branch 1 now.');
  await noteOf(ben).getByText('lentils').waitFor();
  await noteOf(cleo).getByText('lentils').waitFor();
  expect(await noteOf(cleo).getByText('This is branch').count(), 0, 'the branch that became current is not marked');
  // The list says which branch the page shows, also after it has changed.
  await openDialog(cleo, 'Branches…');
  await line(cleo, 1).getByText('You are reading this one').waitFor();
  await line(cleo, 2).getByRole('button', { name: 'Set as current' }).click();
  await line(cleo, 2).getByText('You are reading this one').waitFor();
  expect(await dialog(cleo).getByText('You are reading this one').count(), 1, 'branches that the page shows');
  await cleo.keyboard.press('Escape');
  await noteOf(cleo).getByText('chard').waitFor();
}

const setMembers = 'mutation ($id: ID!, $members: [ContentMemberChange!]!) { setContentMembers(input: {contentId: $id, members: $members}) { userErrors { message } } }';

// branchFaults: errors from the gateway are shown next to the action that failed, and a user who
// may no longer edit sees only the current branch.
export async function branchFaults({ api, openAs }) {
  const id = await makeNote(api, 'Risotto', { members, body: 'rice' });
  const cleo = await openAs('Cleo');
  await live(cleo);
  await openEntry(cleo, 'Risotto');
  let down = true;
  await broken(cleo, 'NoteBranches', () => down);
  await openDialog(cleo, 'Branches…');
  await dialog(cleo).getByRole('heading', { name: 'Could not load the branches' }).waitFor();
  down = false;
  await dialog(cleo).getByRole('button', { name: 'Try again' }).click();
  await line(cleo, 1).waitFor();

  // The form does not offer a branch that does not exist, so the test changes the request.
  let other = 99;
  await cleo.route('**/graphql', (route) => {
    const body = route.request().postDataJSON();
    if (other === null || body.operationName !== 'CreateBranch') return route.fallback();
    body.variables.input.copyFrom = other;
    return route.continue({ postData: JSON.stringify(body) });
  });
  await button(cleo, 'Create branch').click();
  const choice = dialog(cleo).getByRole('combobox', { name: 'New branch' });
  await choice.and(cleo.locator('[aria-invalid="true"]')).and(cleo.locator(':focus')).waitFor();
  expect(await choice.evaluate((element) => document.getElementById(element.getAttribute('aria-describedby')).textContent),
    'There is no branch 99; the branches of this item are 1 to 1.', 'the error at the choice');
  other = null;

  // The answer is lost after the branch was created: it is not created twice.
  let lose = true;
  await cleo.route('**/graphql', async (route) => {
    if (!lose || route.request().postDataJSON().operationName !== 'CreateBranch') return route.fallback();
    lose = false;
    await route.fetch();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"lost","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
  await button(cleo, 'Create branch').click();
  await dialog(cleo).getByText('The service is temporarily unavailable.').waitFor();
  await button(cleo, 'Create branch').click();
  await says(cleo, 'Branch 2 was created.');
  expect((await branchesOf(api, id)).branches.length, 2, 'branches after a lost answer');

  await saveText(api, 'Ann', id, { branch: 2, title: 'Risotto', body: 'saffron' });
  await line(cleo, 2).getByRole('button', { name: 'Show texts' }).click();
  await noteOf(cleo).getByText('saffron').waitFor();
  await openDialog(cleo, 'Branches…');
  await line(cleo, 2).waitFor();
  await api('Ann', setMembers, { id, members: [{ principalId: 'u:demo:cleo', role: 'VIEWER' }] });
  await line(cleo, 2).getByRole('button', { name: 'Set as current' }).click();
  await line(cleo, 2).getByRole('alert').getByText('Only an editor or a manager of the item may do this.').waitFor();
  expect((await branchesOf(api, id)).revision.branch, 1, 'the branch that visitors see');
  await cleo.keyboard.press('Escape');
  await noteOf(cleo).getByText('rice').waitFor();
  expect(await noteOf(cleo).getByText('branch').count(), 0, 'texts about branches after the role was lost');
  expect(await noteOf(cleo).getByRole('button', { name: /Branches|History|language/ }).count(), 0,
    'buttons for a user who may no longer edit');
  await cleo.context().close();
}

// languages: a language is added by its code, which is checked. A text that somebody else
// published first is not overwritten.
export async function languages({ api, openAs }) {
  const id = await makeNote(api, 'Gnocchi', { members, locale: 'en', body: 'potatoes' });
  const path = `/app/item/${id}`;
  const [ann, cleo] = await Promise.all([openAs('Ann', { path }), openAs('Cleo', { path })]);
  const code = dialog(ann).getByRole('combobox', { name: 'Language' });
  const refused = async (text, why) => {
    await code.fill(text);
    await ann.keyboard.press('Enter');
    await dialog(ann).locator('.fault').getByText(why, { exact: true }).waitFor();
    await code.and(ann.locator('[aria-invalid="true"]')).and(ann.locator(':focus')).waitFor();
  };
  await openDialog(ann, 'Add a language…');
  await refused('', 'Enter the name of a language, such as German, or its code, such as de or de_CH.');
  await refused('Klingonese', 'Enter the name of a language, such as German, or its code, such as de or de_CH.');
  await refused('EN', 'There is a text in English already. Choose it under Language.');
  await refused('qq', 'qq is not the code of a language.');
  await refused('de-zz', 'de_ZZ is not the code of a language and a country.');
  let down = true;
  await broken(ann, 'Revision', () => down);
  await code.fill('de-ch');
  await dialog(ann).getByRole('status').getByText('Swiss High German').waitFor();
  await ann.keyboard.press('Enter');
  await dialog(ann).getByText('The service is temporarily unavailable.').waitFor();
  expect(await code.inputValue(), 'de-ch', 'what was typed');
  down = false;
  await button(ann, 'Write the text').click();
  const editor = ann.getByRole('dialog', { name: 'Edit the text: Swiss High German' });
  await editor.getByText('There is no text in Swiss High German yet.').waitFor();
  await field(ann, 'Text').and(ann.locator(':focus')).fill('Kartoffeln');
  await savedAsDraft(ann);
  await ann.keyboard.press('Escape');
  await dialog(ann).waitFor({ state: 'detached' });
  await noteOf(ann).getByText('There is no text in Swiss High German yet.').waitFor();
  const language = noteOf(ann).getByRole('combobox', { name: 'Language' });
  expect(await language.locator('option').allTextContents(), ['English', 'Swiss High German (no text yet)'],
    'the languages before there is a text');
  await language.selectOption({ label: 'English' });
  await noteOf(ann).getByText('potatoes').waitFor();

  // Another editor adds the same language meanwhile.
  await openDialog(cleo, 'Add a language…');
  await dialog(cleo).getByRole('combobox', { name: 'Language' }).fill('de_CH');
  await cleo.keyboard.press('Enter');
  await field(cleo, 'Text').and(cleo.locator(':focus')).fill('Härdöpfel');
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published.');
  await noteOf(cleo).getByText('Härdöpfel').waitFor();
  expect(await noteOf(cleo).getByRole('combobox', { name: 'Language' }).locator('option:checked').textContent(),
    'Swiss High German', 'the language that is shown');
  await openDialog(ann, 'Add a language…');
  await code.fill('de_ch');
  await ann.keyboard.press('Enter');
  // The earlier draft still exists, and is not published over the other text.
  const conflict = dialog(ann).getByRole('group', { name: 'The text has changed' });
  await conflict.getByText('Cleo Carter has published another text').waitFor();
  expect(await field(ann, 'Text').inputValue(), 'Kartoffeln', 'the draft of a language');
  await conflict.getByRole('button', { name: 'Use the current text' }).click();
  await conflict.waitFor({ state: 'detached' });
  expect(await field(ann, 'Text').inputValue(), 'Härdöpfel', 'the text that was chosen');
  await Promise.all([ann, cleo].map((page) => page.context().close()));

  // The first text of all may be in a language; a branch has languages of its own.
  const none = await makeNote(api, 'Polenta', { members });
  const page = await openAs('Ann', { path: `/app/item/${none}` });
  await noteOf(page).getByText('This note has no text yet.').waitFor();
  await openDialog(page, 'Add a language…');
  await dialog(page).getByRole('combobox', { name: 'Language' }).fill('IT');
  await page.keyboard.press('Enter');
  await field(page, 'Text').and(page.locator(':focus')).fill('mais');
  await button(page, 'Publish').click();
  await says(page, 'Published.');
  await noteOf(page).getByText('Italian. Version 1').waitFor();
  await openDialog(page, 'Branches…');
  await line(page, 1).getByText('Italian').waitFor();
  await create(page, 'Empty');
  await line(page, 2).getByRole('button', { name: 'Show texts' }).click();
  await noteOf(page).getByText('Branch 2 has no text yet.').waitFor();
  await openDialog(page, 'Add a language…');
  await dialog(page).getByRole('combobox', { name: 'Language' }).fill('it');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Edit the text: Italian, branch 2' }).getByText('There is no text in Italian in branch 2 yet.')
    .waitFor();
  await page.keyboard.press('Escape');
  await noteOf(page).getByText('There is no text in Italian in branch 2 yet.').waitFor();
  await saveText(api, 'Ann', none, { branch: 2, locale: 'it', title: 'Polenta', body: 'farina' });
  // A reader without Italian sees that there is an Italian text, and can choose it.
  await page.reload();
  await noteOf(page).getByText('This note has no text in your language. Choose another one.').waitFor();
  const choice = noteOf(page).getByRole('combobox', { name: 'Language' });
  expect(await choice.locator('option').allTextContents(), ['Choose...', 'Italian'], 'the languages to choose from');
  await choice.selectOption({ label: 'Italian' });
  await noteOf(page).getByText('mais').waitFor();
  await page.context().close();
}
