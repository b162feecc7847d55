// Changes whose answers are lost: the gateway may have made them, and the page does not say that it has not.
import { choose, dialog, expect, focused, hide, live, says } from './fixture.mjs';

// lose lets the gateway do one operation, once lose.next is its name, and loses the answer. With lose.before, the request is lost.
// lose.done() is called before the page notices.
function losing(page) {
  const lose = { next: '', before: false, done: () => {} };
  return page.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName !== lose.next) return route.fallback();
    lose.next = '';
    if (!lose.before) await route.fetch();
    lose.done();
    return route.abort('connectionreset');
  }).then(() => lose);
}

// aborted removes the errors that the browser reports for what was lost.
function aborted(faults) {
  const others = faults.filter((fault) => !/ERR_CONNECTION_RESET/.test(fault));
  faults.splice(0, faults.length, ...others);
}

const doubt = 'The server could not be reached. This may have taken effect.';
const asked = (page) => page.getByRole('dialog', { name: 'Close without an answer?' });

async function create(api, title) {
  return (await api('Ann', `mutation ($title: String!) { createContent(input: {kind: NOTE, title: $title, visibility: PRIVATE}) {
    content { id } userErrors { message } } }`, { title })).createContent.content.id;
}

// lostShare: an item is shared, and nobody knows: the page reads again who sees it before it says so.
export async function lostShare({ api, openAs, faults }) {
  const id = await create(api, 'Shared in silence');
  const members = async () => (await api('Ann', 'query ($id: ID!) { content(id: $id) { members { edges { node { id } } } } }', { id }))
    .content.members.edges.map(({ node }) => node.id.split(':')[2]);
  const ann = await openAs('Ann');
  await hide(ann);
  await ann.goto(new URL(`/app/item/${id}`, ann.url()).href);
  await ann.getByText('Only you can see this item.').waitFor();
  const lose = await losing(ann);
  const share = dialog(ann).getByRole('button', { name: 'Share', exact: true });
  const pick = async (typed, name) => {
    await dialog(ann).getByRole('combobox', { name: 'People and groups' }).fill(typed);
    await choose(ann, name);
  };
  await ann.getByRole('button', { name: 'Share…' }).click();
  await pick('ben', 'Ben Baker');
  // Until the dialog is closed, the item cannot be read.
  let down = true;
  const reads = [];
  await ann.route('**/graphql', (route) => {
    if (route.request().postDataJSON().operationName !== 'Item') return route.fallback();
    if (down) return route.abort('connectionreset');
    return reads.push(route);
  });
  lose.next = 'ShareContent';
  await share.click();
  await dialog(ann).getByText(doubt).waitFor();
  expect(await ann.getByText('Only you can see this item.').count(), 0, 'what the page and the dialog say while nobody knows');
  await ann.keyboard.press('Escape');
  await asked(ann).getByText('What you sent may have taken effect.').waitFor();
  expect(await ann.getByText('They have not been saved.').count(), 0, 'what is said about changes that may have been saved');
  await asked(ann).getByRole('button', { name: 'Keep editing' }).and(ann.locator(':focus')).click();
  await ann.keyboard.press('Escape');
  down = false;
  const read = ann.waitForRequest((request) => request.postDataJSON()?.operationName === 'Item');
  await asked(ann).getByRole('button', { name: 'Close anyway' }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  await read;
  expect(await ann.getByText('can see this item').count(), 0, 'what is said before the item was read again');
  expect(await focused(ann), 'Share…', 'where focus returns to');
  for (const route of reads.splice(0)) await route.continue();
  await ann.getByText('Only you and Ben Baker can see this item.').waitFor();
  await ann.unrouteAll();

  // Another choice after a lost answer: it is told that the first one was made, and nothing else is sent until it is pressed again.
  const next = await losing(ann);
  await ann.getByRole('button', { name: 'Share…' }).click();
  await pick('eli', 'Eli Evans');
  next.next = 'ShareContent';
  await share.click();
  await dialog(ann).getByText(doubt).waitFor();
  await dialog(ann).getByRole('button', { name: 'Remove Eli Evans', exact: true }).click();
  await pick('cle', 'Cleo Carter');
  await share.click();
  await dialog(ann).getByText('What you sent before was done, although its answer was lost.').waitFor();
  await dialog(ann).getByText('Only you, Ben Baker and Eli Evans can see this item.').waitFor();
  expect(await members(), ['ann', 'ben', 'eli'], 'the members after a choice that was altered');
  await share.click();
  await says(ann, 'Shared with Cleo Carter.');

  // What the gateway has not received is made as it was altered, and nothing else.
  await ann.getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('radio', { name: 'Public' }).check();
  Object.assign(next, { next: 'UpdateContent', before: true });
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await dialog(ann).getByText(doubt).waitFor();
  await dialog(ann).getByRole('radio', { name: 'All of demo' }).check();
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await says(ann, 'Changed the visibility.');
  // An Undo whose answer is lost may have been done.
  Object.assign(next, { next: 'UpdateContent', before: false });
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'The server did not answer. This may have been undone.');
  await ann.getByText('Only you, Ben Baker, Cleo Carter and 1 more person can see this item.').waitFor();

  // A removal that nobody knows of, while the members cannot be read: they are read when the question is closed.
  await ann.getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('button', { name: 'Remove Cleo Carter…' }).click();
  const question = ann.getByRole('dialog', { name: 'Remove Cleo Carter?' });
  down = false;
  await ann.route('**/graphql', (route) => (down && route.request().postDataJSON().operationName === 'Item'
    ? route.abort('connectionreset') : route.fallback()));
  Object.assign(next, { next: 'SetContentMembers', done: () => (down = true) });
  await question.getByRole('button', { name: 'Remove', exact: true }).click();
  await question.getByText(doubt).waitFor();
  await ann.getByText('This could not be refreshed').waitFor();
  down = false;
  next.done = () => {};
  await question.getByRole('button', { name: 'Cancel' }).click();
  await dialog(ann).getByText('Only you, Ben Baker and Eli Evans can see this item.').waitFor();
  await dialog(ann).getByRole('button', { name: 'Done' }).click();

  // The own change is not taken for that of somebody else.
  const edit = ann.getByRole('dialog', { name: 'Edit' });
  const title = edit.getByRole('textbox', { name: 'Title' });
  await ann.getByRole('button', { name: 'Edit…' }).click();
  await title.fill('Named in silence');
  next.next = 'UpdateContent';
  await edit.getByRole('button', { name: 'Save' }).click();
  await ann.getByRole('heading', { level: 1, name: 'Named in silence', includeHidden: true }).waitFor();
  await title.fill('Named again');
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.getByText('What you sent before was done').waitFor();
  expect(await ann.getByText('Somebody else').count(), 0, 'what is said about the own change');
  await edit.getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Saved.');
  await ann.getByRole('heading', { level: 1, name: 'Named again' }).waitFor();
  aborted(faults);
  await ann.context().close();
}

// lostCreation: an item was created, and its form is altered before it is sent again. No second item is created, and the user
// reads which one there is. One that was not created is created as it was altered.
export async function lostCreation({ api, openAs, faults }) {
  const ann = await openAs('Ann');
  await live(ann);
  const lose = await losing(ann);
  const submit = dialog(ann).getByRole('button', { name: 'Create', exact: true });
  const visibility = (name) => dialog(ann).getByRole('radio', { name }).check();
  const start = async (title) => {
    await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
    await dialog(ann).getByRole('radio', { name: 'Note' }).check();
    await dialog(ann).getByRole('textbox', { name: 'Title' }).fill(title);
    await visibility('Public');
  };
  const made = async (title) => (await api('Ann', `query ($text: String!) { principal(id: "u:demo:ann") {
    library(first: 9, filter: {text: $text}) { nodes { title visibility } } } }`, { text: title })).principal.library.nodes
    .map((node) => `${node.title} ${node.visibility}`);
  await start('Salaries');
  lose.next = 'CreateContent';
  await submit.click();
  await dialog(ann).getByText(doubt).waitFor();
  await visibility('Private');
  lose.next = 'CreateContent';
  await submit.click();
  await dialog(ann).getByText(doubt).waitFor();
  await submit.click();
  await dialog(ann).getByText(
    '“Salaries” (Public) was created before you changed this. Create again only if you want a second one.').waitFor();
  expect(await made('Salaries'), ['Salaries PUBLIC'], 'the items after the first one was altered');
  await dialog(ann).getByRole('link', { name: 'Open it' }).click();
  const discarded = ann.getByRole('dialog', { name: 'Discard your changes?' });
  await discarded.getByText('They have not been saved.').waitFor();
  await discarded.getByRole('button', { name: 'Discard' }).click();
  await ann.getByRole('heading', { level: 1, name: 'Salaries' }).waitFor();
  await ann.getByText('Everyone can see this item, signed in or not.').waitFor();

  await start('Wages');
  Object.assign(lose, { next: 'CreateContent', before: true });
  await submit.click();
  await dialog(ann).getByText(doubt).waitFor();
  await visibility('Private');
  await submit.click();
  await says(ann, '“Wages” is in your library.');
  expect(await made('Wages'), ['Wages PRIVATE'], 'the items after the first one was lost');

  // The same again is not created twice, and a refusal leaves no doubt.
  await start('Fees');
  Object.assign(lose, { next: 'CreateContent', before: false });
  await submit.click();
  await dialog(ann).getByText(doubt).waitFor();
  await submit.click();
  await says(ann, '“Fees” is in your library.');
  expect(await made('Fees'), ['Fees PUBLIC'], 'the items after the same was sent twice');
  await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Link' }).fill('ftp://example.org');
  await submit.click();
  await dialog(ann).getByText('Fill this in.').waitFor();
  await ann.keyboard.press('Escape');
  await discarded.getByText('They have not been saved.').waitFor();
  await discarded.getByRole('button', { name: 'Discard' }).click();
  aborted(faults);
  await ann.context().close();
}
