// Typed text is not lost by a key, by changes of others, by a token that expires, or by a network
// failure.
import { dialog, discard, entriesOf, entry, expect, focused, item, live, openEntry, says, scrollTo } from './fixture.mjs';

const make = 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }';
const drop = 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }';
const members = 'mutation ($id: ID!, $members: [ContentMemberChange!]!) { setContentMembers(input: {contentId: $id, members: $members}) { userErrors { message } } }';

async function create(api, title, input = {}) {
  return (await api('Ann', make, { input: { kind: 'NOTE', visibility: 'PRIVATE', title, ...input } })).createContent.content.id;
}

// down answers operations with a name as if the store were unavailable, while broken() returns
// true.
function down(page, name, broken) {
  return page.route('**/graphql', (route) => {
    if (!broken() || route.request().postDataJSON().operationName !== name) return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
}

// discardedEdits: closing a dialog, the page or the tab asks before it discards typed text.
export async function discardedEdits({ api, openAs }) {
  const id = await create(api, 'Typed over');
  const ann = await openAs('Ann');
  await openEntry(ann, 'Typed over');
  const address = ann.url();
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  const edit = ann.getByRole('dialog', { name: 'Edit' });
  const text = edit.getByRole('textbox', { name: 'Description' });

  // Without anything typed it closes at once.
  await ann.keyboard.press('Escape');
  await edit.waitFor({ state: 'detached' });
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  await text.fill('Not saved yet.');
  const asked = ann.getByRole('dialog', { name: 'Discard your changes?' });
  const kept = async (what) => {
    await asked.getByRole('button', { name: 'Keep editing' }).and(ann.locator(':focus')).click();
    await asked.waitFor({ state: 'detached' });
    expect(await text.inputValue(), 'Not saved yet.', `what was typed, after ${what}`);
    expect(ann.url(), address, `the address after ${what}`);
  };
  await ann.keyboard.press('Escape');
  await kept('Escape');
  // On a second Escape, browsers close a dialog without asking.
  await ann.keyboard.press('Escape');
  await ann.keyboard.press('Escape');
  await asked.waitFor({ state: 'detached' });
  expect(await text.inputValue(), 'Not saved yet.', 'what was typed, after Escape twice');
  // They may also close it without a key, for example on a back gesture.
  await edit.evaluate((element) => element.close());
  await kept('a close by the browser');
  await edit.getByRole('button', { name: 'Close' }).click();
  await kept('Close');
  await edit.getByRole('button', { name: 'Cancel' }).click();
  await kept('Cancel');
  await ann.evaluate(() => history.back());
  await kept('Back');

  const closing = ann.waitForEvent('dialog');
  const closed = ann.close({ runBeforeUnload: true });
  const question = await closing;
  expect(question.type(), 'beforeunload', 'what the browser asks before it closes the tab');
  await question.dismiss();
  await closed;
  expect(await text.inputValue(), 'Not saved yet.', 'what was typed, after closing the tab');

  // Discarding continues the navigation.
  await ann.evaluate(() => history.back());
  await asked.waitFor();
  await discard(ann);
  await item(ann).waitFor({ state: 'detached' });
  const { content } = await api('Ann', 'query ($id: ID!) { content(id: $id) { description } }', { id });
  expect(content, { description: null }, 'what was stored');

  await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Title' }).fill('Never made');
  await ann.keyboard.press('Escape');
  await discard(ann);
  await ann.context().close();
}

// textKeptAfterDeletion: an item is deleted, or access to it is lost, while it is edited. The text
// stays, and becomes a new item.
export async function textKeptAfterDeletion({ api, openAs }) {
  const id = await create(api, 'Doomed');
  const ann = await openAs('Ann');
  await live(ann);
  await openEntry(ann, 'Doomed');
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  const text = dialog(ann).getByRole('textbox', { name: 'Description' });
  await text.fill('An hour of work.');
  // Changes of others to a field that the reader has not touched are shown and announced.
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, title: "Doomed all the same"}) { userErrors { message } } }',
    { id });
  await dialog(ann).getByRole('status').getByText('Somebody else has changed the title meanwhile.').waitFor();
  expect(await dialog(ann).getByRole('textbox', { name: 'Title' }).inputValue(), 'Doomed all the same', 'the title in the form');
  await api('Ann', drop, { id });
  await dialog(ann).getByText('This item was deleted, or you no longer have access to it.').waitFor();
  expect(await text.inputValue(), 'An hour of work.', 'what was typed when the item was deleted');
  expect(await focused(ann), 'Description', 'what has focus when the item was deleted');
  await ann.evaluate(() => (navigator.clipboard.writeText = async (all) => (globalThis.copied = all)));
  await dialog(ann).getByRole('button', { name: 'Copy text' }).click();
  await dialog(ann).getByText('Copied.').waitFor();
  expect(await ann.evaluate(() => globalThis.copied), 'Doomed all the same\n\nAn hour of work.', 'what was copied');
  await dialog(ann).getByRole('button', { name: 'Create as new item' }).click();
  await says(ann, '“Doomed all the same” was created in your library.');
  await ann.getByRole('heading', { level: 1, name: 'Doomed all the same' }).waitFor();
  await ann.getByText('An hour of work.').waitFor();
  if (ann.url().endsWith(id)) throw new Error('the deleted item is shown');

  // Without live updates, the loss is noticed on saving.
  await ann.getByRole('button', { name: 'Edit…' }).click();
  await api('Ann', drop, { id: decodeURIComponent(new URL(ann.url()).pathname.split('/item/')[1]) });
  await dialog(ann).getByRole('textbox', { name: 'Description' }).fill('Once more.');
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await dialog(ann).getByRole('button', { name: 'Create as new item' }).waitFor();
  expect(await text.inputValue(), 'Once more.', 'what was typed when the item was gone');
  await ann.keyboard.press('Escape');
  await discard(ann);

  // A user who has typed nothing sees a message, and the dialog closes.
  const other = await create(api, 'Doomed as well');
  await ann.getByRole('link', { name: 'My library' }).click();
  await live(ann);
  await openEntry(ann, 'Doomed as well');
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).waitFor();
  await api('Ann', drop, { id: other });
  await says(ann, 'This item was deleted, or you no longer have access to it.');
  await dialog(ann).waitFor({ state: 'detached' });
  await ann.context().close();
}

// removedFromGroup: a user who is removed from a group loses its library, but not the typed text.
export async function removedFromGroup({ api, openAs }) {
  const made = await api('Ann',
    'mutation { createGroup(input: {tenant: "demo", name: "brief", displayName: "Brief", visibility: PRIVATE}) { group { id } userErrors { message } } }');
  const { id } = made.createGroup.group;
  const change = (role) =>
    api('Ann', 'mutation ($id: ID!, $members: [GroupMemberChange!]!) { setGroupMembers(input: {groupId: $id, members: $members}) { userErrors { message } } }', { id, members: [{ principalId: 'u:demo:cleo', role }] });
  await change('MEMBER');
  const content = await create(api, 'Of the group', { members: [{ principalId: id, role: 'EDITOR' }] });
  const cleo = await openAs('Cleo', { path: `/app/library/${id}` });
  await live(cleo);
  await openEntry(cleo, 'Of the group');
  await item(cleo).getByRole('button', { name: 'Edit…' }).click();
  await dialog(cleo).getByRole('textbox', { name: 'Description' }).fill('By a member.');
  await change(null);
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, title: "Of the group alone"}) { userErrors { message } } }',
    { id: content });
  await cleo.getByText('There is no such library').waitFor();
  await dialog(cleo).getByText('This item was deleted, or you no longer have access to it.').waitFor();
  expect(await dialog(cleo).getByRole('textbox', { name: 'Description' }).inputValue(), 'By a member.',
    'what was typed by a removed member');
  await dialog(cleo).getByRole('button', { name: 'Create as new item' }).click();
  await says(cleo, '“Of the group” was created in your library.');
  await cleo.context().close();
}

// lostEditorRole: an editor edits texts, and keeps the typed text after losing the role.
export async function lostEditorRole({ api, openAs }) {
  const id = await create(api, 'Edited by Cleo', { visibility: 'PUBLIC', members: [{ principalId: 'u:demo:cleo', role: 'EDITOR' }] });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  const edit = cleo.getByRole('button', { name: 'Edit…' });
  await edit.click();
  await dialog(cleo).getByRole('textbox', { name: 'Title' }).fill('Edited well by Cleo');
  await dialog(cleo).getByRole('button', { name: 'Save' }).click();
  await says(cleo, 'Saved.');
  await cleo.getByRole('heading', { level: 1, name: 'Edited well by Cleo' }).waitFor();
  for (const name of ['Expiry…', 'Delete…']) {
    expect(await cleo.getByRole('button', { name }).count(), 0, `what an editor is offered: ${name}`);
  }
  await edit.click();
  await dialog(cleo).getByRole('textbox', { name: 'Title' }).fill('Edited once more');
  await api('Ann', members, { id, members: [{ principalId: 'u:demo:cleo', role: 'VIEWER' }] });
  await dialog(cleo).getByRole('button', { name: 'Save' }).click();
  await dialog(cleo).getByText('You may no longer edit this item.').waitFor();
  expect(await dialog(cleo).getByRole('textbox', { name: 'Title' }).inputValue(), 'Edited once more', 'what was typed');
  await cleo.context().close();
}

// lostWhileWriting: an author who is removed while writing a text reads that, copies it, and can go on if the role comes back. A
// text that is too long says how long it may be.
export async function lostWhileWriting({ api, openAs, faults }) {
  const id = await create(api, 'Written by Ben', { body: 'old', members: [{ principalId: 'u:demo:ben', role: 'EDITOR' }] });
  const ben = await openAs('Ben', { path: `/app/item/${id}` });
  const role = (to) => api('Ann', members, { id, members: [{ principalId: 'u:demo:ben', role: to }] });
  const text = dialog(ben).getByRole('textbox', { name: 'Text' });
  const button = (name) => dialog(ben).getByRole('button', { name, exact: true });
  const lost = dialog(ben).getByText('You can no longer edit this note. Copy your text before you leave.');
  await ben.getByRole('button', { name: 'Edit text…' }).click();
  await text.fill('two pages');
  await dialog(ben).getByText('Saved as a draft. Only you can see it.').waitFor();
  await role(null);
  await text.fill('two pages, and a third');
  await button('Publish').click();
  await lost.waitFor();
  expect(await dialog(ben).getByRole('alert').allInnerTexts(), ['You can no longer edit this note. Copy your text before you leave.'],
    'all that the editor says');
  expect([await button('Try again').count(), await button('Publish').count()], [0, 0], 'buttons that cannot help');
  await ben.evaluate(() => (navigator.clipboard.writeText = async (all) => (globalThis.copied = all)));
  await button('Copy text').click();
  await dialog(ben).getByText('Copied.').waitFor();
  expect(await ben.evaluate(() => globalThis.copied), 'Written by Ben\n\ntwo pages, and a third', 'what was copied');
  await ben.keyboard.press('Escape');
  await ben.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Keep editing' }).click();

  // The page notices the loss, and the return of the role: here when a save was refused, then when publishing was.
  const comeBack = () => ben.evaluate(() => dispatchEvent(new Event('focus')));
  const regain = async () => {
    await comeBack();
    await ben.locator('main').getByText('There is no such item').waitFor();
    await role('EDITOR');
    await comeBack();
    await lost.waitFor({ state: 'detached' });
    await dialog(ben).getByText('Saved as a draft. Only you can see it.').waitFor();
  };
  await regain();
  await role(null);
  await button('Publish').click();
  await lost.waitFor();
  await regain();

  await text.fill('a'.repeat(2 ** 20));
  await dialog(ben).getByText('Not saved. This text is too long. Shorten it to about 500,000 letters (512 KB).').waitFor();
  expect(await button('Try again').count(), 0, 'buttons that cannot shorten a text');
  expect(faults.every((fault) => fault.includes('413')), true, 'errors of the page are only those that were caused');
  faults.length = 0;
  await text.fill('a'.repeat(2 ** 19 + 1));
  await dialog(ben).locator('.field').getByText('This text is too long.').waitFor();
  await text.fill('three pages');
  await button('Publish').click();
  await says(ben, 'Published.');

  // Who has typed nothing reads a message, and the dialog closes.
  await ben.getByRole('button', { name: 'Edit text…' }).click();
  await text.waitFor();
  await role('VIEWER');
  await comeBack();
  await says(ben, 'You can no longer edit this note.');
  await dialog(ben).waitFor({ state: 'detached' });
  await ben.context().close();
}

// expiredToken: a token expires while the user types. The user signs in again above the dialog,
// and saves.
export async function expiredToken({ api, openAs, faults }) {
  const id = await create(api, 'Typed slowly');
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await ann.getByRole('button', { name: 'Edit…' }).click();
  const edit = ann.getByRole('dialog', { name: 'Edit' });
  const text = edit.getByRole('textbox', { name: 'Description' });
  await text.fill('Typed for an hour.');
  await ann.route('**/dev/viewers', (route) => route.fulfill({ json: { viewers: [] } }));
  await ann.route('**/graphql', (route) => route.fulfill({ status: 401, contentType: 'application/json',
    body: '{"errors":[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]}' }));
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.getByRole('button', { name: 'Sign in again' }).click();
  await ann.unrouteAll();
  // Signing in as somebody else would discard everything, so the page asks.
  const signIn = ann.getByRole('dialog', { name: 'Sign in again' });
  await signIn.getByText('Your sign-in has expired. You were Ann Archer.').waitFor();
  await signIn.getByRole('button', { name: /^Cleo\b/ }).click();
  await ann.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Keep editing' }).click();
  await signIn.getByRole('button', { name: /^Ann\b/ }).click();
  await signIn.waitFor({ state: 'detached' });
  expect(await text.inputValue(), 'Typed for an hour.', 'what was typed before signing in again');
  await edit.getByRole('button', { name: 'Sign in again' }).waitFor({ state: 'detached' });
  await edit.getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Saved.');
  expect(await ann.getByText('Your sign-in has expired.').count(), 0, 'warnings after signing in again');
  // The browser itself reports every 401; these are expected.
  const others = faults.filter((fault) => !/status of 401/.test(fault));
  faults.splice(0, faults.length, ...others);
  await ann.context().close();
}

// signedInAgain: with a new token of the same viewer, a long list keeps its length and its
// scroll position.
export async function signedInAgain({ openAs, faults }) {
  const ann = await openAs('Ann');
  await live(ann);
  await scrollTo(ann, 'bottom');
  await ann.route('**/dev/viewers', (route) => route.fulfill({ json: { viewers: [] } }));
  await ann.route('**/graphql', (route) => route.fulfill({ status: 401, contentType: 'application/json',
    body: '{"errors":[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]}' }));
  const ids = await entriesOf(ann);
  const chosen = ann.locator('[data-entry]').last();
  await chosen.getByRole('link').click();
  await ann.getByRole('button', { name: 'Sign in again' }).waitFor();
  await ann.unrouteAll();
  let pages = 0;
  ann.on('request', (request) => (pages += request.postData()?.includes('LibraryPage') ? 1 : 0));
  await ann.getByRole('button', { name: 'Sign in again' }).click();
  await dialog(ann).getByRole('button', { name: /^Ann\b/ }).click();
  await item(ann).getByRole('region', { name: 'Who sees this' }).waitFor();
  await live(ann);
  expect((await entriesOf(ann)).slice(0, ids.length), ids, 'the entries after signing in again');
  expect(pages, 0, 'pages that were read again');
  const others = faults.filter((fault) => !/status of 401/.test(fault));
  faults.splice(0, faults.length, ...others);
  await ann.context().close();
}

// offline: failures are reported as long as there is no network.
export async function offline({ api, openAs, faults }) {
  const id = await create(api, 'On a train');
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await ann.getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Description' }).fill('In a tunnel.');
  await ann.context().setOffline(true);
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await dialog(ann).getByText('You are offline.').waitFor();
  // Nothing was sent, and so nothing may have taken effect.
  await ann.keyboard.press('Escape');
  await ann.getByText('They have not been saved.').waitFor();
  await ann.getByRole('button', { name: 'Keep editing' }).click();
  await ann.context().setOffline(false);
  await dialog(ann).getByText('You are offline.').waitFor({ state: 'detached' });
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Saved.');

  // Failed reads are repeated as soon as the network is back.
  await ann.getByRole('link', { name: 'Search' }).click();
  await ann.getByRole('link', { name: 'Ann Archer' }).waitFor();
  await ann.context().setOffline(true);
  await ann.getByRole('searchbox').fill('cart');
  await ann.getByRole('heading', { name: 'Could not load this' }).waitFor();
  await ann.context().setOffline(false);
  await ann.getByRole('link', { name: 'Cleo Carter' }).waitFor();

  // If the browser wrongly reports that it is offline, an answer from the gateway corrects that.
  // Answers to repeated reads may still arrive, and correct it at once.
  const warning = 'You are offline. What you see may have changed since.';
  await ann.waitForFunction((words) => {
    dispatchEvent(new Event('offline'));
    return document.body.innerText.includes(words);
  }, warning, { polling: 50 });
  await ann.getByRole('link', { name: 'Groups' }).click();
  await ann.getByText(warning).waitFor({ state: 'detached' });
  const others = faults.filter((fault) => !/ERR_INTERNET_DISCONNECTED/.test(fault));
  faults.splice(0, faults.length, ...others);
  await ann.context().close();
}

// keptAfterFailure: content that cannot be read again stays on the page, with the reason.
export async function keptAfterFailure({ api, openAs }) {
  const id = await create(api, 'Read before', { description: 'It stays.' });
  const ann = await openAs('Ann');
  await live(ann);
  let broken = true;
  await down(ann, 'Item', () => broken);
  await entry(ann, 'Read before').getByRole('link').click();
  // Its text is known from the library.
  await item(ann).getByText('The service is temporarily unavailable.').waitFor();
  await item(ann).getByText('It stays.').waitFor();
  broken = false;
  // The button is gone if a change of the library has already read the item again.
  await item(ann).getByRole('button', { name: 'Try again' }).click({ timeout: 5000 }).catch(() => {});
  await item(ann).getByRole('region', { name: 'Who sees this' }).waitFor();

  let headless = true;
  broken = true;
  await down(ann, 'LibraryHead', () => headless);
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, title: "Read since"}) { userErrors { message } } }', { id });
  await item(ann).getByText('The service is temporarily unavailable.').waitFor();
  await item(ann).getByText('It stays.').waitFor();
  await item(ann).getByRole('region', { name: 'Who sees this' }).waitFor();
  // A failure of the library's header is shown beside the item.
  await ann.getByText('This could not be refreshed').nth(1).waitFor();
  await ann.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await entry(ann, 'Read since').waitFor();
  broken = false;
  headless = false;
  // One button may refresh what both are for, so the second one may be gone before it is clicked.
  const retry = ann.getByRole('button', { name: 'Try again' });
  for (let tries = 0; tries < 5 && (await retry.count()) > 0; tries += 1) await retry.first().click({ timeout: 5000 }).catch(() => {});
  await ann.waitForFunction(() => document.querySelectorAll('.outdated').length === 0);
  await ann.context().close();
}

// itemForGroup: creating an item in a group's library shows where the item will be.
export async function itemForGroup({ api, openAs }) {
  const ann = await openAs('Ann', { path: '/app/library/g:demo:library-team' });
  const name = await ann.getByRole('heading', { level: 1 }).textContent();
  const start = async (title) => {
    await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
    await dialog(ann).getByRole('radio', { name: 'Note' }).check();
    await dialog(ann).getByRole('textbox', { name: 'Title' }).fill(title);
  };
  await live(ann);
  await start('For the team');
  await dialog(ann).getByRole('radio', { name: new RegExp(`^My library and ${name}`) }).and(ann.locator(':checked')).waitFor();
  await dialog(ann).getByRole('button', { name: 'Create', exact: true }).click();
  await says(ann, `“For the team” is in your library, and shared with ${name}.`);
  await ann.getByRole('heading', { level: 1, name }).waitFor();
  await entry(ann, 'For the team').waitFor();

  await ann.goto(new URL('/app/library/g:demo:library-team', ann.url()).href);
  await live(ann);
  await start('For me');
  await dialog(ann).getByRole('radio', { name: 'Only my library' }).check();
  await dialog(ann).getByRole('button', { name: 'Create', exact: true }).click();
  await says(ann, '“For me” is in your library.');
  await ann.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await entry(ann, 'For me').waitFor();
  const { group } = await api('Ann',
    '{ group(id: "g:demo:library-team") { library(first: 5, orderBy: {field: LAST_MODIFIED, direction: DESC}) { nodes { title } } } }');
  expect(group.library.nodes.map(({ title }) => title).filter((title) => /^For (me|the team)$/.test(title)),
    ['For the team'], 'the items of the group');

  await ann.goto(new URL('/app/find', ann.url()).href);
  await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
  await dialog(ann).getByText('The item will be in your own library.').waitFor();
  await ann.context().close();
}

// smallScreen: on a phone, Create and error messages are in view.
export async function smallScreen({ openAs }) {
  const ann = await openAs('Ann', { viewport: { width: 360, height: 600 } });
  await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
  const button = dialog(ann).getByRole('button', { name: 'Create', exact: true });
  const inView = async (what) => {
    const hidden = await button.evaluate((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return bottom > innerHeight || !element.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    });
    if (hidden) throw new Error(`Create is out of view ${what}`);
  };
  await inView('at first');
  await button.click();
  await dialog(ann).getByRole('alert').getByText('Check Title and Link.').waitFor();
  await inView('when fields are wrong');
  expect(await focused(ann), 'Title', 'the field that gets focus');
  await dialog(ann).getByRole('alert').getByRole('button', { name: 'Link' }).click();
  expect(await focused(ann), 'Link', 'the field that gets focus from the summary');
  await ann.context().close();
}
