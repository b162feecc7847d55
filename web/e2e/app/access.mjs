// The Share dialog and the dialogs of removals say the truth about who gains and who loses access, and keep each choice that
// is not saved.
import { choose, confirm, dialog, discard, entry, expect, focused, item, leave, live, offered, openEntry, says } from './fixture.mjs';

async function create(api, title, input = {}) {
  const made = await api('Ann', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }',
    { input: { kind: 'NOTE', title, visibility: 'PRIVATE', ...input } });
  return made.createContent.content.id;
}

const openShare = async (page) => {
  await page.getByRole('button', { name: 'Share…' }).click();
  await page.getByRole('combobox', { name: 'People and groups' }).and(page.locator(':focus')).waitFor();
};

// otherOrganisations: an item that all of demo can see is shared with a user of another organisation, who can see it only
// until that user is removed.
export async function otherOrganisations({ api, openAs }) {
  const title = 'For all of demo';
  const id = await create(api, title, { visibility: 'LOGGEDIN', members: [{ principalId: 'u:demo:ben', role: 'VIEWER' }] });
  const path = `/app/item/${id}`;
  const [ann, zed] = await Promise.all([openAs('Ann', { path }), openAs('Zed')]);
  await live(zed);
  const share = async () => {
    await openShare(ann);
    await ann.keyboard.type('u:acme:zed');
    await offered(ann, 'u:acme:zed').waitFor();
    await ann.keyboard.press('Enter');
    await dialog(ann).getByText('Zed Zhou will be able to see this item. It appears in their library.').waitFor();
    await dialog(ann).getByRole('radio', { name: 'Editor' }).check();
    await dialog(ann).getByText('Can also edit the title, description and text.').waitFor();
    await dialog(ann).getByRole('radio', { name: 'Viewer' }).check();
    await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
    await says(ann, 'Shared with Zed Zhou.');
    await dialog(ann).waitFor({ state: 'detached' });
    await entry(zed, title).waitFor();
  };
  await share();
  await openEntry(zed, title);

  // The preview of a visibility names everyone who keeps access, in the words that follow the change.
  await openShare(ann);
  await dialog(ann).getByRole('radio', { name: 'Private' }).check();
  const last = 'Administrators of demo can, too. Everyone else in demo loses access.';
  await dialog(ann).getByText(`Then only you, Zed Zhou and Ben Baker can see this item. ${last}`).waitFor();
  await dialog(ann).getByRole('radio', { name: 'All of demo' }).check();

  await dialog(ann).getByRole('button', { name: 'Remove Ben Baker…' }).click();
  await ann.getByText('Everyone who is signed in to demo can see it, so Ben Baker can still open it.').waitFor();
  await ann.getByRole('dialog', { name: 'Remove Ben Baker?' }).getByRole('button', { name: 'Cancel' }).click();
  await dialog(ann).getByRole('button', { name: 'Remove Zed Zhou…' }).click();
  await ann.getByText('Zed Zhou can no longer open it, unless they have access in another way.').waitFor();
  const hidden = await ann.getByRole('dialog', { name: 'Remove Zed Zhou?' }).evaluate((asked) =>
    asked.querySelector('form p').getBoundingClientRect().top < asked.querySelector('.dialog-head').getBoundingClientRect().bottom);
  expect(hidden, false, 'whether the first line of the question is hidden');
  await confirm(ann, 'Remove Zed Zhou?', 'Remove');
  await says(ann, 'Zed Zhou was removed.');
  await entry(zed, title).waitFor({ state: 'detached' });
  await zed.goto(new URL(path, zed.url()).href);
  await zed.getByText('There is no such item').waitFor();
  await dialog(ann).getByRole('button', { name: 'Done' }).click();

  // The other dialog says the same. What cannot be undone has no button that undoes it.
  await zed.getByRole('link', { name: 'My library' }).click();
  await live(zed);
  await share();
  await openEntry(zed, title);
  await item(zed).getByRole('button', { name: 'Remove from my library…' }).click();
  await dialog(zed).getByText('Unless you have access in another way, you can no longer open it').waitFor();
  await confirm(zed, 'Remove from your library?', 'Remove');
  await says(zed, `“${title}” was removed from your library.`);
  expect(await zed.getByRole('button', { name: 'Undo' }).count(), 0, 'Undo buttons for what cannot be undone');
  const ben = await openAs('Ben');
  await openEntry(ben, title);
  await item(ben).getByRole('button', { name: 'Remove from my library…' }).click();
  await dialog(ben).getByText('Everyone who is signed in to demo can see it, so you can still open it, and add it again as a viewer.').waitFor();
  await confirm(ben, 'Remove from your library?', 'Remove');
  await ben.getByRole('button', { name: 'Undo' }).click();
  await says(ben, 'Undone.');

  // A viewer cannot give access to others.
  await entry(ben, title).waitFor();
  await openEntry(ben, title);
  await openShare(ben);
  await ben.keyboard.type('u:acme:zed');
  await offered(ben, 'u:acme:zed').waitFor();
  await ben.keyboard.press('Enter');
  await dialog(ben).getByText('Only managers of this item can share it with people of other organisations.').waitFor();
  await dialog(ben).getByRole('button', { name: 'Share', exact: true }).click();
  await dialog(ben).getByText(/^Zed Zhou: /).waitFor();
  await Promise.all([ann, ben, zed].map((page) => page.context().close()));
}

// sharedAgain: the Share dialog says what sharing changes for people who have the item already, which is never a lower role.
export async function sharedAgain({ api, openAs }) {
  const id = await create(api, 'Twice', { members: [{ principalId: 'u:demo:ben', role: 'EDITOR' }] });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const rolesNow = async () => Object.fromEntries((await api('Ann',
    'query ($id: ID!) { content(id: $id) { members { edges { role node { id } } } } }', { id }))
    .content.members.edges.map(({ role, node }) => [node.id.split(':')[2], role]));
  const pick = async (typed, name) => {
    await ann.keyboard.type(typed);
    await offered(ann, name).waitFor();
    await ann.keyboard.press('Enter');
    await dialog(ann).getByRole('button', { name: `Remove ${name}`, exact: true }).waitFor();
  };
  const preview = (text) => dialog(ann).getByRole('status').getByText(text, { exact: true }).waitFor();
  const share = () => dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await openShare(ann);
  await pick('ben', 'Ben Baker');
  await preview('Ben Baker is an editor already, and stays one.');
  await share();
  await says(ann, 'Ben Baker is an editor already, and stays one.');
  expect(await rolesNow(), { ann: 'MANAGER', ben: 'EDITOR' }, 'the roles after sharing with a lower one');

  await openShare(ann);
  await pick('ben', 'Ben Baker');
  await pick('cle', 'Cleo Carter');
  await preview('Cleo Carter will be able to see this item. It appears in their library. Ben Baker is an editor already, and stays one.');
  await share();
  await says(ann, 'Shared with Cleo Carter. Ben Baker is an editor already, and stays one.');
  await openShare(ann);
  await pick('ben', 'Ben Baker');
  await dialog(ann).getByRole('radio', { name: 'Manager' }).check();
  await preview('Ben Baker will be able to change, share and delete this item.');
  await share();
  await says(ann, 'Ben Baker is now a manager.');
  expect(await rolesNow(), { ann: 'MANAGER', ben: 'MANAGER', cleo: 'VIEWER' }, 'the roles at the end');
  await ann.context().close();
}

// twoChoices: saving the visibility keeps the chosen people, and sharing keeps the chosen visibility, also when the second
// choice is made while the first one is being sent.
export async function twoChoices({ api, openAs }) {
  const title = 'Two choices';
  const id = await create(api, title, { visibility: 'PUBLIC' });
  const stored = async () => {
    const { visibility, members } = (await api('Ann',
      'query ($id: ID!) { content(id: $id) { visibility members { edges { node { id } } } } }', { id })).content;
    return [visibility, ...members.edges.map(({ node }) => node.id)];
  };
  const [ann, cleo] = await Promise.all([openAs('Ann', { path: `/app/item/${id}` }), openAs('Cleo')]);
  await live(cleo);
  const pick = async (typed, name) => {
    await dialog(ann).getByRole('combobox', { name: 'People and groups' }).fill(typed);
    await choose(ann, name);
  };
  await openShare(ann);
  await dialog(ann).getByRole('radio', { name: 'Private' }).check();
  await pick('cle', 'Cleo Carter');
  await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await says(ann, 'Shared with Cleo Carter.');
  await entry(cleo, title).waitFor();
  expect(await stored(), ['PUBLIC', 'u:demo:ann', 'u:demo:cleo'], 'the item after sharing');
  await dialog(ann).getByText('Then only you and Cleo Carter can see this item.').waitFor();
  await dialog(ann).getByRole('radio', { name: 'Private' }).and(ann.locator(':checked')).waitFor();
  await dialog(ann).getByRole('button', { name: 'Remove Cleo Carter', exact: true }).waitFor({ state: 'detached' });
  expect(await focused(ann), 'People and groups', 'what has focus after sharing');
  await ann.keyboard.press('Escape');
  await ann.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Keep editing' }).click();

  await pick('eli', 'Eli Evans');
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await says(ann, 'Changed the visibility.');
  await entry(cleo, title).getByText('Private').waitFor();
  await dialog(ann).getByRole('button', { name: 'Change' }).waitFor({ state: 'detached' });
  await dialog(ann).getByRole('radio', { name: 'Private' }).and(ann.locator(':focus')).waitFor();
  await dialog(ann).getByText('Eli Evans will be able to see this item.').waitFor();
  // The notice is in the dialog, where it can be used. Then nothing is left to save but the people.
  await dialog(ann).getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  expect(await stored(), ['PUBLIC', 'u:demo:ann', 'u:demo:cleo'], 'the item after the change was undone');
  await dialog(ann).getByRole('radio', { name: 'Public' }).and(ann.locator(':checked')).waitFor();
  await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  await says(ann, 'Shared with Eli Evans.');

  // A person who is chosen before the answer is there is kept, too.
  const change = await hold(ann, 'UpdateContent');
  await openShare(ann);
  await dialog(ann).getByRole('radio', { name: 'All of demo' }).check();
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await pick('ben', 'Ben Baker');
  await change.release();
  await says(ann, 'Changed the visibility.');
  await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  expect(await stored(), ['LOGGEDIN', 'u:demo:ann', 'u:demo:ben', 'u:demo:cleo', 'u:demo:eli'], 'the item after all that');
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

// hold keeps the requests of an operation from the gateway until release() is called, once there is one.
async function hold(page, name) {
  const held = [];
  let over = false;
  const asked = page.waitForRequest((request) => request.postDataJSON()?.operationName === name);
  await page.route('**/graphql', (route) => {
    if (over || route.request().postDataJSON().operationName !== name) route.fallback();
    else held.push(route);
  });
  return {
    asked,
    release: async (answer = (route) => route.continue()) => {
      await asked;
      over = true;
      for (const route of held) await answer(route);
    },
  };
}

// closedWhileSaving: while a change is being sent, no dialog says that it has not been saved.
export async function closedWhileSaving({ api, openAs }) {
  const id = await create(api, 'Slowly saved');
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const waiting = ann.getByRole('dialog', { name: 'Close while this is being saved?' });
  let sent = await hold(ann, 'UpdateContent');
  await openShare(ann);
  await dialog(ann).getByRole('radio', { name: 'Public' }).check();
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await sent.asked;
  await ann.keyboard.press('Escape');
  await waiting.getByText('It may still take effect.').waitFor();
  await waiting.getByRole('button', { name: 'Keep waiting' }).and(ann.locator(':focus')).click();
  await ann.keyboard.press('Escape');
  await leave(ann);
  await sent.release();
  await says(ann, 'Changed the visibility.');
  await ann.getByText('Everyone can see this item, signed in or not.').waitFor();

  // An answer that comes while the question is asked ends it: after an error, the text is still there, and was not saved.
  sent = await hold(ann, 'UpdateContent');
  await ann.getByRole('button', { name: 'Edit…' }).click();
  const text = dialog(ann).getByRole('textbox', { name: 'Description' });
  await text.fill('An hour of work.');
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await sent.asked;
  await ann.keyboard.press('Escape');
  await waiting.waitFor();
  await sent.release((route) => route.fulfill({ contentType: 'application/graphql-response+json',
    body: '{"errors":[{"message":"no","extensions":{"code":"BAD_USER_INPUT"}}]}' }));
  await waiting.waitFor({ state: 'detached' });
  await dialog(ann).getByRole('button', { name: 'Save' }).waitFor();
  expect(await text.inputValue(), 'An hour of work.', 'what was typed when it could not be saved');
  await ann.keyboard.press('Escape');
  await ann.getByText('They have not been saved.').waitFor();
  await discard(ann);
  await ann.context().close();
}
