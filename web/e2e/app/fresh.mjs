// What a page shows follows changes that are no events: of members, of an item by itself, and of a paste.
import { dialog, discard, entry, expect, item, live, offered, openEntry, says } from './fixture.mjs';
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

// freshGroup: the members of a group are read again, also those after the first page, which has two here. What somebody chooses
// meanwhile stays, also when the group is gone.
export async function freshGroup({ api, openAs }) {
  const set = async (changes) => {
    const { setGroupMembers } = await api('Ann', `mutation ($members: [GroupMemberChange!]!) {
      setGroupMembers(input: {groupId: "g:demo:fresh", members: $members}) { userErrors { message } } }`,
    { members: Object.entries(changes).map(([name, role]) => ({ principalId: `u:${name}`, role })) });
    expect(setGroupMembers.userErrors, [], 'faults of setting members');
  };
  await api('Ann', `mutation { createGroup(input: {tenant: "demo", name: "fresh", displayName: "Fresh", visibility: PRIVATE}) {
    userErrors { message } } }`);
  await set({ 'demo:ben': 'MANAGER', 'demo:eli': 'MEMBER' });
  const ben = await openAs('Ben');
  await ben.route('**/graphql', (route) => route.continue({
    postData: route.request().postData().replaceAll('members(first: 50', 'members(first: 2') }));
  await ben.clock.install();
  await ben.goto(new URL('/app/members/g:demo:fresh', ben.url()).href);
  const roleOf = (name) => ben.getByRole('combobox', { name: `Role of ${name}` });
  const shown = (name, role) => ben.waitForFunction(([of, as]) =>
    document.querySelector(`select[aria-label="Role of ${of}"]`)?.value === as, [name, role], { polling: 50 });
  await ben.getByRole('button', { name: 'Show more' }).click();
  await shown('Eli Evans', 'MEMBER');
  await roleOf('Eli Evans').focus();
  await set({ 'demo:eli': 'MANAGER', 'demo:cleo': 'MEMBER' });
  await ben.clock.fastForward(30_000);
  await shown('Eli Evans', 'MANAGER');
  await shown('Cleo Carter', 'MEMBER');
  await roleOf('Eli Evans').and(ben.locator(':focus')).waitFor();

  await ben.getByRole('button', { name: 'Add people…' }).click();
  await ben.keyboard.type('u:acme:zed');
  await offered(ben, 'u:acme:zed').waitFor();
  await ben.keyboard.press('Enter');
  const chosen = dialog(ben).getByRole('button', { name: 'Remove Zed Zhou' });
  await chosen.waitFor();
  await dialog(ben).getByRole('radio', { name: /^Manager/ }).check();
  await set({ 'demo:cleo': null });
  await comeBack(ben);
  await roleOf('Cleo Carter').waitFor({ state: 'detached' });
  await chosen.waitFor();
  // A reading that fails takes nothing away.
  const down = '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}';
  let broken = true;
  await ben.route('**/graphql', (route) => (broken && route.request().postDataJSON().operationName === 'Group'
    ? route.fulfill({ contentType: 'application/graphql-response+json', body: down }) : route.fallback()));
  await comeBack(ben);
  await ben.getByText('This could not be refreshed').waitFor();
  await chosen.waitFor();
  broken = false;
  await set({ 'demo:ben': null });
  await comeBack(ben);
  await ben.locator('main').getByRole('heading', { name: 'Not found', includeHidden: true }).waitFor();
  await chosen.waitFor();
  await dialog(ben).getByRole('radio', { name: /^Manager/ }).and(ben.locator(':checked')).waitFor();
  expect(await ben.locator('main select').count(), 0, 'roles that are shown of a group that is gone');
  broken = true;
  await comeBack(ben);
  await ben.getByText('This could not be refreshed').waitFor();
  await chosen.waitFor();
  broken = false;
  await set({ 'demo:ben': 'MEMBER' });
  await comeBack(ben);
  await ben.getByRole('heading', { level: 1, name: 'Fresh', includeHidden: true }).waitFor();
  await chosen.waitFor();
  await ben.keyboard.press('Escape');
  await discard(ben);
  expect(await ben.getByRole('button', { name: 'Add people…' }).count(), 0, 'buttons for what the reader may no longer do');
  await ben.context().close();
}

// freshPaste: the page of a paste is read again, while what is typed in its dialog stays, and is not saved over a version that
// only the page has read.
export async function freshPaste({ api, openAs }) {
  const { paste, secret } = (await api('Ann',
    'mutation { createPaste(input: {title: "shared text", body: "first"}) { paste { id } secret userErrors { message } } }')).createPaste;
  const change = async (body) => {
    const { updatePaste } = await api('Ann',
      'mutation ($input: UpdatePasteInput!) { updatePaste(input: $input) { userErrors { message } } }',
      { input: { id: paste.id, secret, body } });
    expect(updatePaste.userErrors, [], 'faults of changing the paste');
  };
  const page = await openAs('Ben', { path: `/app/pastes/${paste.id}` });
  await page.clock.install();
  await page.reload();
  const shown = (text) => page.locator('.code-text', { hasText: text }).waitFor();
  await shown('first');
  await page.getByRole('combobox', { name: 'Language' }).selectOption({ label: 'Plain text' });
  await change('second');
  await page.clock.fastForward(30_000);
  await shown('second');
  expect(await page.getByRole('combobox', { name: 'Language' }).inputValue(), 'none', 'the language that was chosen');

  await page.getByRole('button', { name: 'Edit…' }).click();
  await dialog(page).getByRole('textbox', { name: 'Secret' }).fill(secret);
  const text = dialog(page).getByRole('textbox', { name: 'Text' });
  await text.fill('mine');
  await change('third');
  await comeBack(page);
  await shown('third');
  await text.and(page.locator(':focus')).waitFor();
  expect(await text.inputValue(), 'mine', 'what was typed when the paste was read again');
  const conflict = dialog(page).getByText('Somebody else changed this paste while you edited it.');
  const save = (name = 'Save') => dialog(page).getByRole('button', { name, exact: true }).click();
  await save();
  await conflict.waitFor();
  await shown('third');
  // Another change, after the reader was told of one.
  await change('fourth');
  await comeBack(page);
  await shown('fourth');
  const sent = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === 'UpdatePaste');
  await save('Replace their version');
  expect((await (await sent).json()).data.updatePaste.paste, null, 'what was saved over a version that was not announced');
  await conflict.waitFor();
  await save('Replace their version');
  await says(page, 'Saved.');
  await shown('mine');

  await page.getByRole('button', { name: 'Edit…' }).click();
  await text.fill('my last words');
  const down = '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}';
  let broken = true;
  await page.route('**/graphql', (route) => (broken && route.request().postDataJSON().operationName === 'Paste'
    ? route.fulfill({ contentType: 'application/graphql-response+json', body: down }) : route.fallback()));
  await comeBack(page);
  await page.getByText('This could not be refreshed').waitFor();
  expect(await text.inputValue(), 'my last words', 'what was typed when the paste could not be read');
  broken = false;
  await api('Ann', 'mutation ($input: DeletePasteInput!) { deletePaste(input: $input) { userErrors { message } } }',
    { input: { id: paste.id, secret } });
  await comeBack(page);
  await page.locator('main').getByRole('heading', { name: 'Paste not found', includeHidden: true }).waitFor();
  expect(await text.inputValue(), 'my last words', 'what was typed when the paste was gone');
  broken = true;
  const failed = page.waitForResponse((answer) => answer.request().postDataJSON()?.operationName === 'Paste');
  await comeBack(page);
  await (await failed).finished();
  await save();
  await dialog(page).getByText('There is no such paste').waitFor();
  expect(await text.inputValue(), 'my last words', 'what was typed in a paste that cannot be saved');
  await page.keyboard.press('Escape');
  await discard(page);
  await page.getByRole('heading', { name: 'Paste not found' }).waitFor();
  await page.context().close();
}
