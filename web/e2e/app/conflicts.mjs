// Edit conflicts: an item at its own address, without live updates about changes by others, and
// answers that arrive late.
import { choose, dialog, discard, expect, focused, leave, says } from './fixture.mjs';

const change = 'mutation ($input: UpdateContentInput!) { updateContent(input: $input) { userErrors { message } } }';
const item = 'query ($id: ID!) { content(id: $id) { title description visibility version } }';
const make = 'mutation ($title: String!) { createContent(input: {kind: NOTE, title: $title, visibility: PRIVATE}) { content { id } userErrors { message } } }';

// open creates an item, and opens it as Ann.
async function open({ api, openAs }, title) {
  const { id } = (await api('Ann', make, { title })).createContent.content;
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await ann.getByRole('region', { name: 'Who sees this' }).waitFor();
  return { ann, id };
}

// mergedEdits: changes of two users to different fields are both kept, without a question, and only
// changed fields are sent.
export async function mergedEdits(fixture) {
  const { api } = fixture;
  const { ann, id } = await open(fixture, 'Merged');
  const sent = [];
  ann.on('request', (request) => {
    const body = request.postDataJSON();
    if (body?.operationName === 'UpdateContent') sent.push(body.variables.input);
  });
  await ann.getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Description' }).fill('Mine.');
  await api('Ann', change, { input: { id, title: 'Theirs' } });
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Saved.');
  const { content } = await api('Ann', item, { id });
  expect(content, { title: 'Theirs', description: 'Mine.', visibility: 'PRIVATE', version: 3 }, 'the item that both have changed');
  expect(
    sent.map(({ idempotencyKey, ...input }) => input),
    [1, 2].map((expectedVersion) => ({ id, description: 'Mine.', expectedVersion })),
    'what was sent',
  );

  // A field that is typed back to its old value is not a change.
  await ann.getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Title' }).fill('Others');
  await dialog(ann).getByRole('textbox', { name: 'Title' }).fill('Theirs');
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  expect(sent.length, 2, 'requests sent after no change');
  await ann.context().close();
}

// editConflicts: another user changes the item first, in each dialog. The dialog asks before it
// overwrites their changes or deletes the item.
export async function editConflicts(fixture) {
  const { api } = fixture;
  const { ann, id } = await open(fixture, 'Edited twice');
  const theirs = (input) => api('Ann', change, { input: { id, ...input } });
  const button = (name) => dialog(ann).getByRole('button', { name });

  await ann.getByRole('button', { name: 'Share…' }).click();
  await theirs({ visibility: 'LOGGEDIN', title: 'Edited by both' });
  await dialog(ann).getByRole('radio', { name: 'Public' }).check();
  await button('Change').click();
  const versions = dialog(ann).getByRole('group', { name: /^Two versions: / });
  await versions.getByText('All of demo').waitFor();
  expect(await focused(ann), 'Keep my visibility', 'what has focus when the reader has to choose');
  await button('Keep my visibility').click();
  await button('Change').click();
  await says(ann, 'Changed the visibility.');
  let { content } = await api('Ann', item, { id });
  expect(content, { title: 'Edited by both', description: null, visibility: 'PUBLIC', version: 3 }, 'the item after the conflict');

  // At first the other user's changes cannot be read, and the page says so.
  let broken = true;
  await ann.route('**/graphql', (route) => {
    if (!broken || route.request().postDataJSON().operationName !== 'Item') return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
  await ann.getByRole('button', { name: 'Edit…' }).click();
  const [title, description] = ['Title', 'Description'].map((name) => dialog(ann).getByRole('textbox', { name }));
  await theirs({ title: 'Their title', description: 'Their text.' });
  await title.fill('My title');
  await description.fill('My text.');
  await button('Save').click();
  await dialog(ann).locator('.form-faults p').waitFor();
  broken = false;
  await button('Save').click();
  // Each field has its own question, and both versions can be read.
  await versions.filter({ hasText: 'Their title' }).waitFor();
  await versions.filter({ hasText: 'Their text.' }).waitFor();
  expect(await description.inputValue(), 'My text.', 'the text of the reader next to that of the other user');
  await button('Use their title').click();
  await button('Keep my description').click();
  expect(await title.inputValue(), 'Their title', 'the title that was chosen');
  await button('Save').click();
  await says(ann, 'Saved.');
  ({ content } = await api('Ann', item, { id }));
  expect(content, { title: 'Their title', description: 'My text.', visibility: 'PUBLIC', version: 5 }, 'the item after choosing');

  await ann.getByRole('button', { name: 'Delete…' }).click();
  await theirs({ description: 'Not to be lost.' });
  await button('Delete').click();
  await dialog(ann).getByText('Not deleted: somebody else has changed this item.').waitFor();
  await dialog(ann).getByText('Not to be lost.').waitFor();
  await button('I have seen the changes').click();
  await ann.keyboard.press('Enter');
  await says(ann, '“Their title” was deleted.');
  await ann.context().close();
}

// lateAnswers: late answers are reported, and close only their own dialog.
export async function lateAnswers(fixture) {
  const { ann } = await open(fixture, 'Shared slowly');
  const held = [];
  await ann.route('**/graphql', (route) => {
    if (['ShareContent', 'CreateContent'].includes(route.request().postDataJSON().operationName)) held.push(route);
    else route.fallback();
  });
  const asked = (name) => ann.waitForRequest((request) => request.postDataJSON()?.operationName === name);
  await ann.getByRole('button', { name: 'Share…' }).click();
  await ann.getByRole('combobox', { name: 'People and groups' }).fill('cle');
  await choose(ann, 'Cleo Carter');
  const share = asked('ShareContent');
  await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await share;
  await ann.keyboard.press('Escape');
  await leave(ann);

  await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(ann).getByRole('radio', { name: 'Note' }).check();
  await dialog(ann).getByRole('textbox', { name: 'Title' }).fill('Made slowly');
  const create = asked('CreateContent');
  await dialog(ann).getByRole('button', { name: 'Create', exact: true }).click();
  await create;
  await ann.keyboard.press('Escape');
  await leave(ann);

  await ann.getByRole('button', { name: 'Edit…' }).click();
  const text = dialog(ann).getByRole('textbox', { name: 'Description' });
  await text.fill('Not to be lost.');
  await held[0].continue();
  await says(ann, 'Shared with Cleo Carter.');
  await held[1].continue();
  await says(ann, '“Made slowly” is in your library.');
  expect(await text.inputValue(), 'Not to be lost.', 'what was typed meanwhile');
  await ann.keyboard.press('Escape');
  await discard(ann);
  await ann.context().close();
}
