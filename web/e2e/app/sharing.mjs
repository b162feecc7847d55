// Sharing: other users see each change at once.
import { allOf, choose, confirm, dialog, entriesOf, entry, expect, focused, item, live, offered, openEntry, says,
  scrollTo } from './fixture.mjs';

// title is the title of an item that only this test uses.
const title = 'On carrels';

// itemLifecycle: two users see an item that is created, shared with two users and a group, changed,
// edited by both at once, removed and deleted.
export async function itemLifecycle(fixture) {
  const ann = await fixture.openAs('Ann');
  const cleo = await fixture.openAs('Cleo');
  await Promise.all([live(ann), live(cleo)]);

  const id = await create(ann);
  await shareByKeyboard(ann);
  await entry(cleo, title).waitFor();
  const members = (await fixture.api('Ann', '{ content(id: $id) { members { edges { role node { id } } } } }'.replace('$id',
    JSON.stringify(id)))).content.members.edges;
  expect(
    Object.fromEntries(members.map(({ role, node }) => [node.id, role])),
    { 'g:demo:everyone': 'EDITOR', 'u:demo:ann': 'MANAGER', 'u:demo:ben': 'EDITOR', 'u:demo:cleo': 'EDITOR' },
    'the members of the item',
  );

  await openEntry(cleo, title);
  await edit(ann, cleo);
  await conflict(fixture, ann, id);
  await visibility(fixture, ann, cleo, id);
  await removeFromLibrary(fixture, cleo, id);
  await remove(ann, id);
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

async function create(page) {
  await page.getByRole('button', { name: 'New' }).click();
  await page.getByRole('textbox', { name: 'Title' }).and(page.locator(':focus')).waitFor();
  await page.getByRole('textbox', { name: 'Link' }).fill('ftp://example.org');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  // Each fault is shown at its field, and focus moves to the first of them.
  await page.getByRole('textbox', { name: 'Title' }).and(page.locator('[aria-invalid="true"]')).waitFor();
  await page.getByRole('textbox', { name: 'Link' }).and(page.locator('[aria-invalid="true"]')).waitFor();
  expect(await focused(page), 'Title', 'the field that gets focus');
  await page.getByRole('textbox', { name: 'Title' }).fill(title);
  await page.getByRole('textbox', { name: 'Link' }).fill('https://example.org/carrels');
  await page.getByRole('textbox', { name: 'Description' }).fill('A fixture with high sides.');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await item(page).getByRole('heading', { level: 2, name: title }).waitFor();
  await entry(page, title).waitFor();
  return new URL(page.url()).searchParams.get('item');
}

// shareByKeyboard goes through the whole dialog without a mouse.
async function shareByKeyboard(page) {
  const share = item(page).getByRole('button', { name: 'Share…' });
  await share.waitFor();
  await share.focus();
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
  const field = page.getByRole('combobox', { name: 'People and groups' });

  // Choosing nobody is an error, shown at the field, where focus starts.
  await field.and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('Choose at least one person or group.').waitFor();

  await page.keyboard.type('cle');
  await choose(page, 'Cleo Carter');
  await page.keyboard.type('demo');
  await choose(page, 'Everyone at demo');
  // The first Escape closes only the list.
  await page.keyboard.type('ben');
  await offered(page, 'Ben Baker').waitFor();
  await page.keyboard.press('Escape');
  await offered(page, 'Ben Baker').waitFor({ state: 'detached' });
  await dialog(page).waitFor();
  await page.keyboard.press('ArrowDown');
  await choose(page, 'Ben Baker');
  // Backspace removes the last user.
  await page.keyboard.type('eli');
  await choose(page, 'Eli Evans');
  await page.keyboard.press('Backspace');
  await page.getByRole('button', { name: 'Remove Eli Evans' }).waitFor({ state: 'detached' });

  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await dialog(page).getByRole('radio', { name: 'Editor' }).and(page.locator(':checked')).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page), 'Share', 'focus after the roles');
  // What it will do is said before.
  await dialog(page).getByText(
    'Cleo Carter, the members of Everyone at demo and Ben Baker will be able to see this item, and to change its text.').waitFor();
  await page.keyboard.press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await says(page, 'Shared with Cleo Carter, Everyone at demo, Ben Baker.');
  expect(await focused(page), 'Share…', 'where focus returns to');
  await item(page).getByText('Only you, the members of Everyone at demo, Ben Baker and 1 more person can see this item.').waitFor();
  await entry(page, title).getByText('shared with 3').waitFor();
}

// edit changes the item; the other user sees it in the list and in the open item.
async function edit(ann, cleo) {
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Description' }).fill('A fixture with high sides, for one reader.');
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Saved.');
  await entry(cleo, title).getByText('A fixture with high sides, for one reader.').waitFor();
  await item(cleo).getByText('A fixture with high sides, for one reader.').waitFor();
}

// conflict lets another user change the item while it is edited.
async function conflict({ api }, ann, id) {
  await item(ann).getByRole('button', { name: 'Edit…' }).click();
  await dialog(ann).getByRole('textbox', { name: 'Description' }).fill('Mine.');
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, description: "Theirs."}) { userErrors { message } } }', { id });
  // The change is shown as soon as it arrives, and nothing is sent before the reader has
  // chosen.
  await dialog(ann).getByRole('group', { name: 'Two versions: Description' }).getByText('Theirs.').waitFor();
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await dialog(ann).getByRole('button', { name: 'Keep my description' }).and(ann.locator(':focus')).click();
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  const { content } = await api('Ann', 'query ($id: ID!) { content(id: $id) { description version } }', { id });
  expect(content, { description: 'Mine.', version: 4 }, 'the item after the conflict');
}

async function visibility({ api, openAs }, ann, cleo, id) {
  const path = `/app/item/${id}`;
  const stranger = await openAs(null, { path });
  await stranger.getByText('There is no such item').waitFor();
  await item(ann).getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('radio', { name: 'Public' }).check();
  await dialog(ann).getByText('Then everyone on the internet who has the link').waitFor();
  // Another user chooses something else meanwhile, and is faster.
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, visibility: LOGGEDIN}) { userErrors { message } } }', { id });
  await dialog(ann).getByRole('group', { name: 'Two versions: Visibility' }).getByText('All of demo').waitFor();
  await dialog(ann).getByRole('button', { name: 'Keep my visibility' }).click();
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await says(ann, 'Changed the visibility.');
  await item(cleo).getByText('Public', { exact: true }).first().waitFor();
  await stranger.reload();
  await stranger.getByRole('heading', { level: 1, name: title }).waitFor();
  await stranger.getByText('Everyone can see this item, signed in or not.').waitFor();
  await stranger.context().close();
}

async function removeFromLibrary({ api }, cleo, id) {
  await item(cleo).getByRole('button', { name: 'Remove from my library…' }).click();
  await dialog(cleo).getByText('You lose your role on this item').waitFor();
  await confirm(cleo, 'Remove from your library?', 'Remove');
  await says(cleo, `“${title}” was removed from your library.`);
  await entry(cleo, title).waitFor({ state: 'detached' });
  await item(cleo).waitFor({ state: 'detached' });
  // The navigation to the item is undone, and focus is on an element that exists.
  await cleo.waitForFunction(() => document.activeElement.id === 'main' && !history.state?.opened, null, { polling: 50 });
  const { content } = await api('Cleo', 'query ($id: ID!) { content(id: $id) { members { edges { node { id } } } } }', { id });
  if (content.members.edges.some(({ node }) => node.id === 'u:demo:cleo')) throw new Error('Cleo is still a member of the item');

  // The item is PUBLIC, so Cleo can add it again.
  await cleo.goto(`${new URL(cleo.url()).origin}/app/item/${id}`);
  await cleo.getByRole('button', { name: 'Add to my library' }).click();
  await says(cleo, 'Added to your library.');
  await cleo.getByRole('link', { name: 'My library' }).click();
  await entry(cleo, title).waitFor();
  await live(cleo);
}

async function remove(ann) {
  await item(ann).getByRole('button', { name: 'Delete…' }).click();
  await confirm(ann, 'Delete for everyone?', 'Delete');
  await says(ann, `“${title}” was deleted.`);
  await entry(ann, title).waitFor({ state: 'detached' });
}

// shareSuggestions: the share dialog suggests users of the viewer's tenant by name, any user by id,
// and none for a text that does not match.
export async function shareSuggestions({ api, openAs }) {
  const made = await api('Ann',
    'mutation { createContent(input: {kind: NOTE, title: "For a visitor", visibility: PRIVATE}) { content { id } userErrors { message } } }');
  const { id } = made.createContent.content;
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const held = [];
  await ann.route('**/graphql', (route) => {
    if (route.request().postDataJSON().variables?.prefix === 'eli') held.push(route);
    else route.fallback();
  });
  await ann.getByRole('button', { name: 'Share…' }).click();
  await ann.getByText('Search by name in demo.').waitFor();
  const field = ann.getByRole('combobox', { name: 'People and groups' });
  const chips = dialog(ann).locator('.chip').getByRole('button', { name: /^Remove / });

  await field.fill('cle');
  await offered(ann, 'Cleo Carter').waitFor();
  const asked = ann.waitForRequest((request) => request.postDataJSON()?.variables?.prefix === 'eli');
  await field.fill('eli');
  await asked;
  await field.press('Enter');
  expect(await chips.count(), 0, 'people chosen from the results of a former text');
  for (const route of held) await route.continue();
  await choose(ann, 'Eli Evans');
  await field.press('Backspace');

  // In a list that is longer than its box, the selected user is scrolled into view, and the
  // field does not move.
  const before = await field.boundingBox();
  await field.fill('a');
  await offered(ann, 'Ann Archer').waitFor();
  await field.press('ArrowUp');
  await ann.waitForFunction(() => {
    const list = document.querySelector('.picker-list');
    const [box, last] = [list, list.lastElementChild].map((element) => element.getBoundingClientRect());
    return list.scrollHeight > list.clientHeight && last.top >= box.top && last.bottom <= box.bottom;
  });
  expect((await field.boundingBox()).y, before.y, 'the position of the field when a list opens below it');

  await field.fill('zed');
  await ann.locator('.picker-none').getByText('No matches in demo.').waitFor();
  // A user who is chosen while an id is looked up stays chosen, and the id no longer belongs to
  // the text.
  const lookUps = [];
  await ann.route('**/graphql', (route) => {
    if (route.request().postDataJSON().operationName === 'Principal' && lookUps.length === 0) lookUps.push(route);
    else route.fallback();
  });
  await field.fill('u:acme:zed');
  await offered(ann, 'u:acme:zed').waitFor();
  await field.press('Enter');
  await ann.locator('.picker-none').getByText('Searching...').waitFor();
  await field.fill('cle');
  await choose(ann, 'Cleo Carter');
  const late = ann.waitForResponse((response) => response.request().postDataJSON()?.operationName === 'Principal');
  for (const route of lookUps) await route.continue();
  await (await late).finished();
  await field.fill('u:acme:zed');
  await offered(ann, 'u:acme:zed').waitFor();
  expect(await chips.count(), 1, 'people chosen when a look-up ended too late');
  await field.press('Enter');
  await ann.getByRole('button', { name: 'Remove Zed Zhou' }).waitFor();
  await dialog(ann).getByRole('button', { name: 'Share', exact: true }).click();
  await says(ann, 'Shared with Cleo Carter, Zed Zhou.');
  const { content } = await api('Zed', 'query ($id: ID!) { content(id: $id) { viewerRole } }', { id });
  expect(content, { viewerRole: 'VIEWER' }, "Zed's role");
  await ann.context().close();
}

// deletedItemLeavesLists: a deleted item leaves the lists of other users.
export async function deletedItemLeavesLists({ api, openAs }) {
  const made = await api(
    'Ann',
    'mutation { createContent(input: {kind: NOTE, title: "Short-lived", visibility: PRIVATE, members: [{principalId: "u:demo:cleo", role: VIEWER}]}) { content { id } userErrors { message } } }',
  );
  const cleo = await openAs('Cleo');
  await entry(cleo, 'Short-lived').waitFor();
  await live(cleo);
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id: made.createContent.content.id });
  await entry(cleo, 'Short-lived').waitFor({ state: 'detached' });
  await cleo.context().close();
}

// newEntries: entries arrive at the start of a list that is scrolled away from it. The view
// does not move, and says that there are new ones.
export async function newEntries({ api, openAs }) {
  const ann = await openAs('Ann');
  await live(ann);
  const far = ann.locator('[data-entry]').nth(15);
  await far.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await ann.waitForFunction(() => new URLSearchParams(location.search).has('at'));
  const id = await far.getAttribute('data-entry');
  const top = () => ann.locator(`[data-entry="${id}"]`).evaluate((element) => Math.round(element.getBoundingClientRect().top));
  const before = await top();
  await api('Ann', 'mutation { createContent(input: {kind: NOTE, title: "Fresh from the press", visibility: PRIVATE}) { userErrors { message } } }');
  await ann.getByRole('button', { name: '1 new update' }).waitFor();
  await entry(ann, 'Fresh from the press').waitFor({ state: 'attached' });
  const moved = Math.abs((await top()) - before);
  if (moved > 1) throw new Error(`the entry in view has moved by ${moved} pixels`);
  await ann.getByRole('button', { name: '1 new update' }).click();
  await ann.waitForFunction(() => scrollY === 0 && !location.search);
  expect(await focused(ann), 'Fresh from the press', 'what has focus after the button');

  // If the start has to be read but cannot be, the button stays.
  await far.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await ann.waitForFunction(() => new URLSearchParams(location.search).has('at'));
  let broken = true;
  await ann.route('**/graphql', (route) => {
    const { operationName, variables } = route.request().postDataJSON();
    if (!broken || operationName !== 'LibraryPage' || variables.after) return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
  await ann.reload();
  await ann.getByText('The previous items could not be loaded.').waitFor();
  await live(ann);
  await api('Ann', 'mutation { createContent(input: {kind: NOTE, title: "Late edition", visibility: PRIVATE}) { userErrors { message } } }');
  // Changes of the hour before the page was read are delivered again.
  const there = ann.getByRole('button', { name: /^\d+ new updates?$/ });
  await there.click();
  await says(ann, 'Could not reload the library. The service is temporarily unavailable.');
  broken = false;
  await there.click();
  await ann.waitForFunction(() => !location.search);
  await entry(ann, 'Late edition').waitFor();
  await ann.context().close();
}

// latePage changes the library while a page of it is loading: the page no longer follows the
// loaded entries, but nothing may be skipped or shown twice.
export async function latePage({ api, openAs }) {
  const mine = 'u:demo:ann';
  const ann = await openAs('Ann');
  await live(ann);
  const held = [];
  let holding = true;
  await ann.route('**/graphql', (route) => {
    if (holding && route.request().postDataJSON().variables?.after) held.push(route);
    else route.fallback();
  });
  const before = await allOf(api, 'Ann', mine, 'DESC');
  const shown = await entriesOf(ann);
  expect(shown, before.slice(0, shown.length), 'the first page');
  const turned = ann.waitForRequest((request) => request.postDataJSON()?.variables?.after);
  await ann.locator('[data-entry]').last().scrollIntoViewIfNeeded();
  await turned;
  await ann.locator('.end-next').getByText('Loading...').waitFor();

  // The last entry moves to the start; then one that is older than all loaded entries moves to
  // where the page starts.
  const last = shown.at(-1);
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, description: "Moved while a page was on its way."}) { userErrors { message } } }', { id: last });
  await ann.waitForFunction((id) => document.querySelector('[data-entry]').dataset.entry === id, last, { polling: 50 });
  const others = await allOf(api, 'Ann', 'g:demo:standard-library', 'DESC');
  const older = others.slice(others.indexOf(shown.at(-2)) + 1).filter((id) => !before.includes(id));
  const { nodes } = await api('Ann', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Content { viewerCanShare } } }',
    { ids: older.slice(0, 100) });
  const following = nodes.find((node) => node.viewerCanShare).id;
  await api('Ann', 'mutation ($id: ID!, $me: ID!) { shareContent(input: {contentId: $id, principalIds: [$me]}) { userErrors { message } } }', { id: following, me: mine });
  await ann.getByText(`${before.length + 1} items · full access`).waitFor();
  holding = false;
  for (const route of held) await route.continue();
  await scrollTo(ann, 'bottom');
  expect(await entriesOf(ann), await allOf(api, 'Ann', mine, 'DESC'), 'the library after all that');
  await ann.context().close();
}

// olderAnswer: an answer that was read before a change, and arrives after it, does not undo the
// change. Later answers would correct it, so they fail.
export async function olderAnswer({ api, openAs }) {
  const made = await api('Ann',
    'mutation { createContent(input: {kind: NOTE, visibility: PRIVATE, title: "Overtaken", description: "It was slow."}) { content { id } userErrors { message } } }');
  const ann = await openAs('Ann');
  await live(ann);
  let release;
  const released = new Promise((resolve) => (release = resolve));
  let late;
  await ann.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName !== 'Item') return route.fallback();
    if (late) return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
    late = route.fetch();
    const response = await late;
    await released;
    return route.fulfill({ response });
  });
  const asked = ann.waitForRequest((request) => request.postDataJSON()?.operationName === 'Item');
  await entry(ann, 'Overtaken').getByRole('link').click();
  await asked;
  await late;
  await api('Ann', 'mutation ($id: ID!) { updateContent(input: {id: $id, title: "Up to date"}) { userErrors { message } } }',
    { id: made.createContent.content.id });
  await entry(ann, 'Up to date').waitFor();
  release();
  // Only the answer knows with whom the item is shared.
  await item(ann).getByRole('region', { name: 'Who sees this' }).waitFor();
  await item(ann).getByRole('heading', { name: 'Up to date' }).waitFor();
  await entry(ann, 'Up to date').waitFor();
  expect(await entry(ann, 'Overtaken').count(), 0, 'entries with the former title');
  await ann.context().close();
}

// lostConnection: changes during an interruption of the socket are shown after it.
export async function lostConnection({ api, openAs, base }) {
  const sockets = [];
  let refused = false;
  const cleo = await openAs(null);
  await cleo.context().routeWebSocket('**/graphql', (socket) => {
    if (refused) {
      socket.close({ code: 1013, reason: 'later' });
      return;
    }
    socket.connectToServer();
    sockets.push(socket);
  });
  await cleo.reload();
  await cleo.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await cleo.getByRole('dialog').getByRole('button', { name: /^Cleo\b/ }).click();
  await live(cleo);
  refused = true;
  for (const socket of sockets) await socket.close({ code: 1001, reason: 'going away' });
  await cleo.getByText('The connection for live updates is lost. Reconnecting...').waitFor({ state: 'attached' });

  // Meanwhile the reader's own changes are shown all the same.
  await cleo.getByRole('button', { name: 'New' }).click();
  await dialog(cleo).getByRole('radio', { name: 'Note' }).check();
  await dialog(cleo).getByRole('textbox', { name: 'Title' }).fill('Made alone');
  await dialog(cleo).getByRole('button', { name: 'Create', exact: true }).click();
  await entry(cleo, 'Made alone').waitFor();

  const make = 'mutation ($title: String!) { createContent(input: {kind: NOTE, title: $title, visibility: PRIVATE, members: [{principalId: "u:demo:cleo", role: VIEWER}]}) { userErrors { message } } }';
  await api('Ann', make, { title: 'While you were away, one' });
  await api('Ann', make, { title: 'While you were away, two' });
  refused = false;
  await cleo.evaluate(() => dispatchEvent(new Event('online')));
  await entry(cleo, 'While you were away, two').waitFor();
  await entry(cleo, 'While you were away, one').waitFor();
  await cleo.goto(`${base}/app`);
  await cleo.context().close();
}

// whoSees: one dialog says who can see an item, changes that, and takes it back. Another user's list
// says with how many it is shared.
export async function whoSees({ api, openAs }) {
  const made = await api(
    'Ann',
    'mutation { createContent(input: {kind: NOTE, title: "Seen by whom", visibility: PRIVATE, members: [{principalId: "u:demo:cleo", role: EDITOR}]}) { content { id } userErrors { message } } }',
  );
  const { id } = made.createContent.content;
  const visible = async () => (await api('Ann', 'query ($id: ID!) { content(id: $id) { visibility } }', { id })).content.visibility;
  const [ann, cleo] = await Promise.all([openAs('Ann'), openAs('Cleo')]);
  await Promise.all([live(ann), live(cleo)]);
  await openEntry(ann, 'Seen by whom');
  await entry(ann, 'Seen by whom').getByText('shared with Cleo Carter').waitFor();
  await item(ann).getByText('Only you and Cleo Carter can see this item.').waitFor();

  // The only manager reads at once that she stays.
  const stays = 'You are the only manager of this item, and an item keeps at least one. Make somebody else a manager first';
  await item(ann).getByRole('button', { name: 'Remove from my library…' }).click();
  await dialog(ann).getByText(`${stays}, in Share, or delete the item.`).waitFor();
  expect(await dialog(ann).getByRole('button', { name: 'Remove' }).count(), 0, 'buttons that cannot remove');
  await dialog(ann).getByRole('button', { name: 'OK' }).and(ann.locator(':focus')).click();
  await item(ann).getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('button', { name: 'Remove Ann Archer…' }).click();
  await ann.getByRole('dialog', { name: 'Remove Ann Archer?' }).getByText(`${stays}, or delete the item.`).waitFor();
  await ann.getByRole('dialog', { name: 'Remove Ann Archer?' }).getByRole('button', { name: 'OK' }).click();
  await dialog(ann).getByRole('button', { name: 'Done' }).click();

  // A new manager is made only after a question. A change of a role is undone in the dialog, above which nothing else can be pressed.
  await item(ann).getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('combobox', { name: 'Role of Cleo Carter' }).selectOption('MANAGER');
  const asked = ann.getByRole('dialog', { name: 'Make Cleo Carter a manager?' });
  await asked.getByText('Cleo Carter will be able to change, share and delete this item.').waitFor();
  await asked.getByRole('button', { name: 'Cancel' }).click();
  await asked.waitFor({ state: 'detached' });
  expect(await dialog(ann).getByRole('combobox', { name: 'Role of Cleo Carter' }).inputValue(), 'EDITOR', 'the role before the answer');
  await dialog(ann).getByRole('combobox', { name: 'Role of Cleo Carter' }).selectOption('MANAGER');
  await confirm(ann, 'Make Cleo Carter a manager?', 'Make manager');
  await says(ann, 'Cleo Carter is now a manager.');
  await dialog(ann).getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  expect(await dialog(ann).getByRole('combobox', { name: 'Role of Cleo Carter' }).inputValue(), 'EDITOR',
    'the role after the change was undone');
  // An own role is given up only after a question, and by the only manager not at all.
  await dialog(ann).getByRole('combobox', { name: 'Role of Ann Archer' }).selectOption('VIEWER');
  await ann.getByRole('dialog', { name: 'Change your own role?' }).getByText(`${stays}, or delete the item.`).waitFor();
  await ann.getByRole('dialog', { name: 'Change your own role?' }).getByRole('button', { name: 'OK' }).click();

  // Before a change of the visibility, the dialog says what it does.
  await dialog(ann).getByRole('radio', { name: 'All of demo' }).check();
  await dialog(ann).getByText('Then everyone who is signed in to demo will be able to see this item.').waitFor();
  expect(await visible(), 'PRIVATE', 'the visibility before the change');
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await dialog(ann).waitFor({ state: 'detached' });
  await item(ann).getByText('Everyone who is signed in to demo can see this item.').waitFor();
  await entry(cleo, 'Seen by whom').getByText('All of demo').waitFor();
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  await item(ann).getByText('Only you and Cleo Carter can see this item.').waitFor();
  expect(await visible(), 'PRIVATE', 'the visibility after the change was undone');

  // An editor reads who can see it. There may be others, whom only managers see.
  await openEntry(cleo, 'Seen by whom');
  await item(cleo).getByText(/^Only you(, Ann Archer)? and anyone else it is shared with can see this item\./).waitFor();
  await item(cleo).getByRole('button', { name: 'Share…' }).click();
  expect(await dialog(cleo).getByRole('radio').count(), 0, 'visibilities that an editor can choose');
  await dialog(cleo).getByRole('button', { name: 'Copy link' }).waitFor();
  await dialog(cleo).getByRole('button', { name: 'Done' }).click();

  // A removal by a manager is undone from its notice.
  await item(ann).getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('button', { name: 'Remove Cleo Carter…' }).click();
  await ann.getByRole('dialog', { name: 'Remove Cleo Carter?' }).getByText('Cleo Carter can no longer open it').waitFor();
  await ann.getByRole('dialog', { name: 'Remove Cleo Carter?' }).getByRole('button', { name: 'Remove', exact: true }).click();
  await says(ann, 'Cleo Carter was removed.');
  await entry(cleo, 'Seen by whom').waitFor({ state: 'detached' });
  await dialog(ann).getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  await entry(cleo, 'Seen by whom').waitFor();
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

// undoneRemoval: a user removes a public item from its library, and adds it again from the
// notice. A deleted one cannot be added again, and the notice says why. A private item cannot be added again by its viewer, so
// its notice has no such button.
export async function undoneRemoval({ api, openAs }) {
  const make = async (title, visibility) => (await api('Ann',
    'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }',
      { input: { kind: 'NOTE', title, visibility, members: [{ principalId: 'u:demo:cleo', role: 'VIEWER' }] } })).createContent.content.id;
  await make('Removed by mistake', 'PUBLIC');
  await make('Removed for good', 'PRIVATE');
  const cleo = await openAs('Cleo');
  await live(cleo);
  const remove = async (name) => {
    await openEntry(cleo, name);
    await item(cleo).getByRole('button', { name: 'Remove from my library…' }).click();
    await confirm(cleo, 'Remove from your library?', 'Remove');
    await says(cleo, `“${name}” was removed from your library.`);
    await entry(cleo, name).waitFor({ state: 'detached' });
  };
  await remove('Removed by mistake');
  await cleo.getByRole('button', { name: 'Undo' }).click();
  await says(cleo, 'Undone.');
  await entry(cleo, 'Removed by mistake').waitFor();
  const id = await make('Deleted meanwhile', 'PUBLIC');
  await remove('Deleted meanwhile');
  await api('Ann', 'mutation ($id: ID!) { deleteContent(input: {id: $id}) { deletedContentId } }', { id });
  await cleo.getByRole('button', { name: 'Undo' }).click();
  await says(cleo, 'This could not be undone. There is no such item, or you may not see it.');
  await remove('Removed for good');
  expect(await cleo.getByRole('button', { name: 'Undo' }).count(), 0, 'Undo buttons for what cannot be undone');
  await cleo.context().close();
}
