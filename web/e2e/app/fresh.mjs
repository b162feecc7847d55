// What a page shows of an item follows changes that are no events: of its members, and of an item by itself.
import { dialog, entry, expect, item, live, openEntry, says } from './fixture.mjs';
import { noteOf, openEditor, saveText } from './notes.mjs';

const make = 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }';
const members = 'mutation ($id: ID!, $members: [ContentMemberChange!]!) { setContentMembers(input: {contentId: $id, members: $members}) { userErrors { message } } }';
const show = 'mutation ($id: ID!, $visibility: LibraryVisibility!) { updateContent(input: {id: $id, visibility: $visibility}) { userErrors { message } } }';

// setup creates a note of Ann, which Ben may edit, and returns functions that change it without a page.
async function setup(api, title) {
  const input = { kind: 'NOTE', title, visibility: 'PRIVATE', body: 'first', members: [{ principalId: 'u:demo:ben', role: 'EDITOR' }] };
  const { id } = (await api('Ann', make, { input })).createContent.content;
  const role = async (name, to) => {
    const { setContentMembers } = await api('Ann', members, { id, members: [{ principalId: `u:demo:${name}`, role: to }] });
    expect(setContentMembers.userErrors, [], `faults of setting the role of ${name}`);
  };
  const membersNow = async () => (await api('Ann', 'query ($id: ID!) { content(id: $id) { members { nodes { id } } } }', { id }))
    .content.members.nodes.map((node) => node.id);
  return { id, role, membersNow, visible: (visibility) => api('Ann', show, { id, visibility }) };
}

const comeBack = (page) => page.evaluate(() => dispatchEvent(new Event('focus')));

// itemByItself: the page of an item is read again while it is visible and when the reader comes back, and an open editor stays
// as it is.
export async function itemByItself({ api, openAs }) {
  const { id, role, visible } = await setup(api, 'By itself');
  const ben = await openAs('Ben', { path: `/app/item/${id}` });
  await ben.clock.install();
  await ben.reload();
  await ben.getByText(/^Only you, Ann Archer/).waitFor();
  await noteOf(ben).getByText('first').waitFor();
  await visible('PUBLIC');
  await saveText(api, 'Ann', id, { title: 'By itself', body: 'second' });
  await ben.clock.fastForward(30_000);
  await ben.getByText('Everyone can see this item, signed in or not.').waitFor();
  await noteOf(ben).getByText('second').waitFor();

  await openEditor(ben);
  const text = dialog(ben).getByRole('textbox', { name: 'Text' });
  await text.pressSequentially('my words, ');
  await visible('PRIVATE');
  await comeBack(ben);
  await ben.locator('main').getByText(/^Only you, Ann Archer/).waitFor();
  await text.and(ben.locator(':focus')).waitFor();
  await text.pressSequentially('all of them ');
  expect(await text.inputValue(), 'my words, all of them second', 'what was typed while the item was read again');
  await dialog(ben).getByRole('button', { name: 'Publish' }).click();
  await says(ben, 'Published.');

  await role('ben', null);
  await ben.context().setOffline(true);
  await ben.getByText('You are offline.').waitFor();
  await ben.context().setOffline(false);
  await ben.getByRole('heading', { name: 'Not found' }).waitFor();
  await ben.context().close();
}

// freshRows: the rows of a library say with whom an item is shared now, though a change of members is no event. Focus and the
// position stay, and a failure is not shown.
export async function freshRows({ api, openAs }) {
  const { role, visible } = await setup(api, 'In a row');
  await visible('PUBLIC');
  const ann = await openAs('Ann');
  const ben = await openAs('Ben', { path: '/app/library/u:demo:ann' });
  for (const page of [ann, ben]) {
    await page.clock.install();
    await page.reload();
    await live(page);
  }
  const row = entry(ann, 'In a row');
  await row.getByText('shared with Ben Baker').waitFor();
  await row.getByRole('link').focus();
  await ann.evaluate(() => scrollTo(0, 40));
  await role('eli', 'VIEWER');
  await ann.clock.fastForward(30_000);
  await row.getByText('shared with 2').waitFor();
  await row.getByRole('link').and(ann.locator(':focus')).waitFor();
  expect(await ann.evaluate(() => scrollY), 40, 'the position after rows were read again');

  // What fails is tried again by itself.
  let asked = 0;
  await ann.route('**/graphql', (route) => {
    if (route.request().postDataJSON().operationName !== 'Entries') return route.fallback();
    asked += 1;
    if (asked > 1) return route.fallback();
    const errors = [{ message: 'down', extensions: { code: 'UNAVAILABLE' } }];
    return route.fulfill({ contentType: 'application/graphql-response+json', body: JSON.stringify({ errors }) });
  });
  await role('eli', null);
  const failed = ann.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === 'Entries');
  await comeBack(ann);
  await (await failed).finished();
  await row.getByText('shared with 2').waitFor();
  expect(await ann.getByRole('alert').filter({ hasText: /\S/ }).count(), 0, 'alerts after rows could not be read');
  await comeBack(ann);
  await row.getByText('shared with Ben Baker').waitFor();
  expect(asked, 2, 'requests for rows');

  // Another user who has that library open.
  const theirs = entry(ben, 'In a row');
  await theirs.getByText('by Ann Archer').waitFor();
  await theirs.getByText('shared with you').waitFor();
  await role('eli', 'VIEWER');
  await comeBack(ben);
  await theirs.getByText('shared with 2 or more').waitFor();
  for (const page of [ann, ben]) await page.context().close();
}

// staleMembers: the members of an item in a live library are read again by the Share dialog, and a role is not given to somebody
// who was removed meanwhile.
export async function staleMembers({ api, openAs }) {
  const { id, role, membersNow } = await setup(api, 'Two tabs');
  await role('eli', 'VIEWER');
  const ann = await openAs('Ann');
  await ann.clock.install();
  await ann.reload();
  await live(ann);
  await openEntry(ann, 'Two tabs');
  await entry(ann, 'Two tabs').getByText('shared with 2').waitFor();
  const shared = dialog(ann).getByRole('region', { name: 'Shared with' });
  const open = () => item(ann).getByRole('button', { name: 'Share…' }).click();
  const done = () => dialog(ann).getByRole('button', { name: 'Done' }).click();
  const eli = shared.getByRole('combobox', { name: 'Role of Eli Evans' });

  // Without timers, only the dialog reads.
  await ann.clock.pauseAt(Date.now() + 3600 * 1000);
  await role('eli', null);
  await open();
  await shared.getByText('Ben Baker').waitFor();
  await eli.waitFor({ state: 'detached' });
  await ann.clock.resume();
  await done();
  await item(ann).getByText('Only you and Ben Baker can see this item.').waitFor();
  await entry(ann, 'Two tabs').getByText('shared with Ben Baker').waitFor();
  await role('eli', 'VIEWER');
  await comeBack(ann);
  await entry(ann, 'Two tabs').getByText('shared with 2').waitFor();

  // The role of somebody who was removed while the dialog was open.
  await open();
  await eli.waitFor();
  await role('eli', null);
  await eli.selectOption('EDITOR');
  await says(ann, 'Eli Evans was removed meanwhile.');
  await eli.waitFor({ state: 'detached' });
  expect(await membersNow(), ['u:demo:ann', 'u:demo:ben'], 'the members after a role of somebody who was removed');
  await shared.getByRole('combobox', { name: 'Role of Ben Baker' }).selectOption('VIEWER');
  await says(ann, 'Ben Baker is now a viewer.');
  await role('ben', null);
  await dialog(ann).getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'This could not be undone.');
  expect(await membersNow(), ['u:demo:ann'], 'the members after the change of a role was undone');
  await ann.context().close();
}
