// People: groups, searching for users, signing in and out.
import { confirm, dialog, entriesOf, entry, expect, focused, live, offered, says, signIn } from './fixture.mjs';

// groups: a group is created, changed by two managers, and left by one of them.
export async function groups({ openAs, base }) {
  const ann = await openAs('Ann', { path: '/app/groups' });
  await ann.getByRole('button', { name: 'New group' }).click();
  await dialog(ann).getByLabel('Name', { exact: true }).fill('Reading circle');
  expect(await dialog(ann).getByLabel('Short name').inputValue(), 'reading-circle', 'the short name that is proposed');
  await dialog(ann).getByLabel('Short name').fill('library-team');
  await dialog(ann).getByRole('button', { name: 'Create', exact: true }).click();
  await dialog(ann).getByLabel('Short name').and(ann.locator('[aria-invalid="true"]')).waitFor();
  await dialog(ann).getByLabel('Short name').fill('reading-circle');
  await dialog(ann).getByRole('button', { name: 'Create', exact: true }).click();
  await ann.getByRole('heading', { level: 1, name: 'Reading circle' }).waitFor();

  // The last manager cannot leave, and reads so before.
  await ann.getByRole('button', { name: 'Leave…' }).click();
  await dialog(ann).getByText('You are the only manager of this group, and a group keeps at least one.').waitFor();
  expect(await dialog(ann).getByText('You lose access').count(), 0, 'announcements of what cannot happen');
  await confirm(ann, 'Leave Reading circle?', 'Leave');
  await dialog(ann).getByText('A group keeps at least one manager').waitFor();
  await dialog(ann).getByRole('button', { name: 'Cancel' }).click();

  await ann.getByRole('button', { name: 'Add people…' }).click();
  const field = ann.getByRole('combobox', { name: 'People and groups' });
  for (const [typed, name] of [
    ['u:demo:cleo', 'Cleo Carter'],
    ['u:acme:zed', 'Zed Zhou'],
  ]) {
    await field.fill(typed);
    await field.press('Enter');
    await ann.getByRole('button', { name: `Remove ${name}` }).waitFor();
  }
  await field.fill('u:demo:nobody');
  await field.press('Enter');
  await ann.getByText('There is no user or group with this id that you can see.').waitFor();
  await field.fill('');
  await dialog(ann).getByRole('button', { name: 'Add', exact: true }).click();
  await says(ann, 'Added Cleo Carter, Zed Zhou.');
  await ann.getByRole('combobox', { name: 'Role of Cleo Carter' }).selectOption('MANAGER');
  await dialog(ann).getByText('Cleo Carter will be able to change the group and its members, and to delete it.').waitFor();
  await confirm(ann, 'Make Cleo Carter a manager?', 'Make manager');
  await says(ann, 'Cleo Carter is now a manager.');
  await ann.getByRole('button', { name: 'Remove Zed Zhou…' }).click();
  await dialog(ann).getByText('Zed Zhou loses access to everything').waitFor();
  await ann.keyboard.press('Enter');
  await dialog(ann).waitFor({ state: 'detached' });
  await ann.getByRole('button', { name: 'Remove Zed Zhou…' }).click();
  await confirm(ann, 'Remove Zed Zhou?', 'Remove');
  await says(ann, 'Zed Zhou was removed.');
  await ann.getByText('u:acme:zed').waitFor({ state: 'detached' });
  expect(await focused(ann), 'Members', 'what has focus after a member was removed');
  await ann.getByRole('button', { name: 'Edit group…' }).click();
  await dialog(ann).getByLabel('Name', { exact: true }).fill('Evening circle');
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await ann.getByRole('heading', { level: 1, name: 'Evening circle' }).waitFor();
  await ann.getByRole('button', { name: 'Edit group…' }).click();
  await dialog(ann).getByText('Other organisations share with the group by its id: g:demo:reading-circle').waitFor();
  await dialog(ann).getByRole('radio', { name: 'Members only' }).check();
  await dialog(ann).getByRole('button', { name: 'Save' }).click();
  await says(ann, 'Changed the visibility.');
  await ann.getByRole('main').getByText('Members only').waitFor();
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  await ann.getByRole('main').getByText('All of demo').waitFor();

  // The other manager finds the group among her groups, and leaves it.
  const cleo = await openAs('Cleo', { path: '/app/library/u:demo:cleo' });
  const entries = cleo.locator('[data-entry]');
  await entries.first().waitFor();
  const mine = await entriesOf(cleo);
  await cleo.getByRole('banner').getByRole('link', { name: 'Groups' }).click();
  await cleo.getByRole('link', { name: 'Evening circle', exact: true }).click();
  await cleo.getByText('Nothing here yet').waitFor();
  await cleo.getByRole('navigation', { name: 'Group' }).getByRole('link', { name: 'Members' }).click();
  await cleo.getByRole('combobox', { name: 'Role of Ann Archer' }).waitFor();
  await cleo.getByRole('button', { name: 'Leave…' }).click();
  await confirm(cleo, 'Leave Evening circle?', 'Leave');
  await says(cleo, 'You have left Evening circle.');
  await cleo.getByRole('heading', { level: 1, name: 'My groups' }).waitFor();
  await cleo.getByRole('link', { name: 'Everyone at demo', exact: true }).waitFor();
  expect(await cleo.getByRole('link', { name: 'Evening circle', exact: true }).count(), 0, 'groups that were left');
  // What was read before is read again, because it may depend on the group.
  await cleo.getByRole('banner').getByRole('link', { name: 'My library' }).click();
  await entries.nth(mine.length - 1).waitFor();
  expect((await entriesOf(cleo)).slice(0, mine.length), mine, 'the library after leaving a group');
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

// largeGroup is a group with more members than a page, which has two here.
export async function largeGroup({ api, openAs }) {
  const made = await api('Ann',
    'mutation { createGroup(input: {tenant: "demo", name: "crowd", displayName: "Crowd", visibility: PRIVATE}) { group { id } userErrors { message } } }');
  const { id } = made.createGroup.group;
  const others = ['u:demo:ben', 'u:demo:cleo', 'u:demo:eli'].map((principalId) => ({ principalId, role: 'MEMBER' }));
  await api('Ann', 'mutation ($id: ID!, $others: [GroupMemberChange!]!) { setGroupMembers(input: {groupId: $id, members: $others}) { userErrors { message } } }', { id, others });
  const inPagesOfTwo = (route) => ({ postData: route.request().postData().replaceAll('members(first: 50', 'members(first: 2') });
  const open = async (page) => {
    await page.route('**/graphql', (route) => route.continue(inPagesOfTwo(route)));
    await page.goto(new URL(`/app/members/${id}`, page.url()).href);
  };
  const roleOf = (page, name) => page.getByRole('combobox', { name: `Role of ${name}` });

  // A user who is not on the first page can leave, too.
  const cleo = await openAs('Cleo');
  await open(cleo);
  await cleo.getByRole('button', { name: 'Leave…' }).waitFor();
  await cleo.context().close();

  const ann = await openAs('Ann');
  await open(ann);
  await ann.getByRole('button', { name: 'Show more' }).focus();
  await ann.keyboard.press('Enter');
  await ann.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' });
  await ann.getByRole('link', { name: 'Cleo Carter' }).and(ann.locator(':focus')).waitFor();
  // The list keeps its length.
  await roleOf(ann, 'Ben Baker').selectOption('MANAGER');
  await confirm(ann, 'Make Ben Baker a manager?', 'Make manager');
  await dialog(ann).waitFor({ state: 'detached' });
  await roleOf(ann, 'Eli Evans').focus();
  await roleOf(ann, 'Eli Evans').selectOption('MANAGER');
  await confirm(ann, 'Make Eli Evans a manager?', 'Make manager');
  await ann.waitForFunction(() => document.activeElement.value === 'MANAGER');
  expect(await focused(ann), 'Role of Eli Evans', 'what has focus in a list that was read again');

  // After one change the second page is read again. It arrives after the next change was answered.
  let release;
  const released = new Promise((resolve) => (release = resolve));
  let requests = 0;
  await ann.route('**/graphql', async (route) => {
    if (route.request().postDataJSON().operationName !== 'MoreGroupMembers' || ++requests > 1) return route.fallback();
    const response = await route.fetch(inPagesOfTwo(route));
    await released;
    // The client may have aborted the request meanwhile.
    await route.fulfill({ response }).catch(() => {});
  });
  await roleOf(ann, 'Ben Baker').selectOption('MEMBER');
  await says(ann, 'Ben Baker is now a member');
  await roleOf(ann, 'Eli Evans').selectOption('MEMBER');
  await says(ann, 'Eli Evans is now a member');
  release();
  await ann.waitForFunction(() => document.activeElement.value === 'MEMBER');
  await ann.context().close();
}

// removedMember: whom another manager has removed is not added by a change of the role, or its undoing.
export async function removedMember({ api, openAs }) {
  const set = (name, role) => api('Ann', `mutation ($id: ID!, $role: GroupRole) {
    setGroupMembers(input: {groupId: "g:demo:quartet", members: [{principalId: $id, role: $role}]}) { userErrors { message } } }`,
  { id: `u:demo:${name}`, role });
  await api('Ann', `mutation { createGroup(input: {tenant: "demo", name: "quartet", displayName: "Quartet", visibility: PRIVATE}) {
    userErrors { message } } }`);
  for (const [name, role] of [['ben', 'MEMBER'], ['cleo', 'MANAGER'], ['eli', 'MANAGER']]) await set(name, role);
  const ann = await openAs('Ann', { path: '/app/members/g:demo:quartet' });
  const role = (name) => ann.getByRole('combobox', { name: `Role of ${name}` });
  await role('Eli Evans').waitFor();
  for (const name of ['ben', 'cleo']) await set(name, null);
  await role('Cleo Carter').selectOption('MEMBER');
  await says(ann, 'Cleo Carter was removed meanwhile.');
  await role('Cleo Carter').waitFor({ state: 'detached' });
  expect(await role('Ben Baker').count(), 0, 'the list after it was read again: others that were removed');
  await set('ben', 'MEMBER');
  await ann.reload();
  await role('Ben Baker').waitFor();
  await set('ben', null);
  await role('Ben Baker').selectOption('MANAGER');
  await confirm(ann, 'Make Ben Baker a manager?', 'Make manager');
  await says(ann, 'Ben Baker was removed meanwhile.');
  await role('Eli Evans').selectOption('MEMBER');
  await says(ann, 'Eli Evans is now a member.');
  await set('eli', null);
  await ann.getByRole('button', { name: 'Undo' }).click();
  await role('Eli Evans').waitFor({ state: 'detached' });
  await says(ann, 'This could not be undone. Somebody else has changed this meanwhile.');

  // Nor is the decision of another manager taken back, of a removal or of a role.
  const rolesNow = async () => (await api('Ann', '{ group(id: "g:demo:quartet") { members { edges { role node { id } } } } }'))
    .group.members.edges.map(({ role: its, node }) => `${node.id} ${its}`);
  for (const name of ['ben', 'cleo']) await set(name, 'MEMBER');
  await ann.reload();
  await ann.getByRole('button', { name: 'Remove Ben Baker…' }).click();
  await confirm(ann, 'Remove Ben Baker?', 'Remove');
  await says(ann, 'Ben Baker was removed.');
  await set('ben', 'MANAGER');
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'This could not be undone. Somebody else has changed this meanwhile.');
  await role('Cleo Carter').selectOption('MANAGER');
  await confirm(ann, 'Make Cleo Carter a manager?', 'Make manager');
  await says(ann, 'Cleo Carter is now a manager.');
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'Undone.');
  expect(await rolesNow(), ['u:demo:ann MANAGER', 'u:demo:ben MANAGER', 'u:demo:cleo MEMBER'], 'the members in the end');

  // What was refused because the reader has lost its role is not offered any more. A hidden page reads nothing by itself.
  await ann.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' }));
  await set('ann', 'MEMBER');
  await role('Cleo Carter').selectOption('MANAGER');
  await confirm(ann, 'Make Cleo Carter a manager?', 'Make manager');
  await dialog(ann).getByText('Only managers of the group').waitFor();
  await ann.keyboard.press('Escape');
  await ann.getByRole('button', { name: 'Edit group…' }).waitFor({ state: 'detached' });
  await ann.context().close();
}

// addedAgain: who is in a group already keeps the role when added again, also beyond the first page of members, which has two here.
// Nobody becomes a manager without a question.
export async function addedAgain({ api, openAs }) {
  const set = async (members) => {
    const { setGroupMembers } = await api('Ann', `mutation ($members: [GroupMemberChange!]!) {
      setGroupMembers(input: {groupId: "g:demo:choir", members: $members}) { userErrors { message } } }`,
    { members: Object.entries(members).map(([name, role]) => ({ principalId: `u:${name}`, role })) });
    expect(setGroupMembers.userErrors, [], 'faults of setting members');
  };
  const rolesNow = async () => (await api('Ann', '{ group(id: "g:demo:choir") { members(first: 50) { edges { role node { id } } } } }'))
    .group.members.edges.map(({ role, node }) => `${node.id.slice(2)} ${role}`);
  await api('Ann', `mutation { createGroup(input: {tenant: "demo", name: "choir", displayName: "Choir", visibility: PRIVATE}) {
    userErrors { message } } }`);
  await set({ 'demo:ben': 'MEMBER', 'demo:cleo': 'MEMBER', 'demo:eli': 'MANAGER' });
  const ann = await openAs('Ann');
  await ann.route('**/graphql', (route) => route.continue({
    postData: route.request().postData().replaceAll('members(first: 50', 'members(first: 2') }));
  await ann.goto(new URL('/app/members/g:demo:choir', ann.url()).href);
  const take = (role) => dialog(ann).getByRole('radio', { name: new RegExp(`^${role}`) }).check();
  const press = () => dialog(ann).getByRole('button', { name: 'Add', exact: true }).click();
  const pick = async ([typed, name]) => {
    await dialog(ann).getByRole('combobox').pressSequentially(typed);
    await offered(ann, typed.startsWith('u:') ? typed : name).waitFor();
    await ann.keyboard.press('Enter');
    await dialog(ann).getByRole('button', { name: `Remove ${name}` }).waitFor();
  };
  const add = async (role, ...people) => {
    await ann.getByRole('button', { name: 'Add people…' }).click();
    for (const person of people) await pick(person);
    await take(role);
    await press();
  };
  const [ben, cleo, eli, zed] = [['ben', 'Ben Baker'], ['cle', 'Cleo Carter'], ['eli', 'Eli Evans'], ['u:acme:zed', 'Zed Zhou']];
  await ann.getByRole('combobox', { name: 'Role of Ben Baker' }).waitFor();
  expect(await ann.getByText('Eli Evans').count(), 0, 'members that were not read');
  await add('Member', eli);
  await says(ann, 'Eli Evans is a manager already, and stays one.');
  await add('Manager', ben);
  await says(ann, 'Ben Baker is a member already, and stays one.');
  const before = ['demo:ann MANAGER', 'demo:ben MEMBER', 'demo:cleo MEMBER', 'demo:eli MANAGER'];
  expect(await rolesNow(), before, 'the members after two were added again');

  await add('Manager', eli, zed, ben);
  const question = ann.getByRole('dialog', { name: 'Make Zed Zhou a manager?' });
  await question.getByText('Zed Zhou will be able to change the group and its members, and to delete it.').waitFor();
  expect(await rolesNow(), before, 'the members before the question was answered');
  await ann.keyboard.press('Enter');
  await question.waitFor({ state: 'detached' });
  expect(await rolesNow(), before, 'the members after the question was cancelled');
  const chips = await dialog(ann).locator('.chip').getByRole('button').evaluateAll((all) => all.map(({ ariaLabel }) => ariaLabel));
  expect(chips, ['Remove Zed Zhou'], 'who is left to be added');
  // Who is chosen once more is named once.
  await pick(ben);
  // A failure leaves what was chosen, and says why.
  const down = '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}';
  let broken = 'SetGroupMembers';
  await ann.route('**/graphql', (route) => (route.request().postDataJSON().operationName === broken
    ? route.fulfill({ contentType: 'application/graphql-response+json', body: down }) : route.fallback()));
  const failed = dialog(ann).getByText('The service is temporarily unavailable.');
  await press();
  await confirm(ann, 'Make Zed Zhou a manager?', 'Make manager');
  await failed.waitFor();
  await question.waitFor({ state: 'detached' });
  broken = 'MoreGroupMembers';
  await take('Member');
  await press();
  await failed.waitFor();
  expect(await rolesNow(), before, 'the members when they could not be read');
  broken = '';
  await take('Manager');
  await press();
  await confirm(ann, 'Make Zed Zhou a manager?', 'Make manager');
  await says(ann, 'Added Zed Zhou. Eli Evans and Ben Baker have a role already, and keep it.');
  expect(await rolesNow(), ['acme:zed MANAGER', ...before], 'the members after one was added as a manager');

  await set({ 'demo:cleo': null, 'acme:zed': null });
  await add('Manager', cleo, zed);
  await ann.getByText('Cleo Carter and Zed Zhou will be able to change the group').waitFor();
  await confirm(ann, 'Add 2 managers?', 'Add managers');
  await says(ann, 'Added Cleo Carter, Zed Zhou.');
  expect(await rolesNow(), ['acme:zed MANAGER', 'demo:ann MANAGER', 'demo:ben MEMBER', 'demo:cleo MANAGER', 'demo:eli MANAGER'],
    'the members at the end');
  await ann.context().close();
}

// otherOrganisation: a member of a group of another organisation reads of whom the group and its items are.
export async function otherOrganisation({ api, openAs }) {
  const made = await api('Ann', `mutation {
    createGroup(input: {tenant: "demo", name: "guests", displayName: "Guests", visibility: LOGGEDIN}) { userErrors { message } }
    setGroupMembers(input: {groupId: "g:demo:guests", members: [{principalId: "u:acme:zed", role: MEMBER}]}) { userErrors { message } }
    createContent(input: {kind: NOTE, title: "For guests", visibility: LOGGEDIN, members: [{principalId: "u:acme:zed", role: VIEWER}]}) {
      userErrors { message } } }`);
  for (const { userErrors } of Object.values(made)) expect(userErrors, [], 'faults');
  const zed = await openAs('Zed', { path: '/app/groups' });
  const row = zed.getByRole('main').getByRole('listitem').filter({ hasText: 'Guests' });
  await row.getByText('Member · All of demo').waitFor();
  await row.getByRole('link', { name: 'Members of Guests' }).click();
  await zed.getByRole('main').getByText('All of demo').waitFor();
  await zed.getByRole('banner').getByRole('link', { name: 'My library' }).click();
  await entry(zed, 'For guests').getByText('All of demo').waitFor();
  await zed.getByRole('button', { name: 'Filters' }).click();
  const filters = zed.getByRole('group', { name: 'Filters' });
  await filters.getByRole('button', { name: 'All of an organisation' }).click();
  await entry(zed, 'For guests').getByText('All of demo').waitFor();
  expect(await filters.getByText(/All of (demo|acme)/).count(), 0, 'filters that name one organisation');
  // A library of which only the items for one organisation are read.
  await zed.goto(new URL('/app/library/u:acme:anke', zed.url()).href);
  await zed.getByRole('button', { name: 'Filters' }).click();
  await filters.getByRole('button', { name: 'All of acme' }).waitFor();
  await filters.getByRole('button', { name: 'Private items shared with me' }).click();
  await filters.getByRole('button', { name: 'All of an organisation' }).waitFor();
  await zed.context().close();
}

// find: users and groups are found by name and opened by id.
export async function find({ api, openAs }) {
  // Ben belongs to a private group through another one. It is not among his groups; search finds it.
  await api('Ann', `mutation {
    createGroup(input: {tenant: "demo", name: "outer-ring", displayName: "Outer ring", visibility: PRIVATE}) { userErrors { message } }
    setGroupMembers(input: {groupId: "g:demo:outer-ring", members: [{principalId: "g:demo:library-team", role: MEMBER}]}) {
      userErrors { message } } }`);
  const page = await openAs('Ben', { path: '/app/groups' });
  await page.getByText('through another group').getByRole('link', { name: 'find them by name' }).click();
  await page.getByRole('searchbox').fill('outer');
  const outer = page.getByRole('region', { name: 'People and groups' }).getByRole('listitem').filter({ hasText: 'Outer ring' });
  await outer.getByText('Group · Member').waitFor();
  await outer.getByRole('link', { name: 'Outer ring' }).click();
  await page.getByText('Items that are shared with this group appear here').waitFor();
  await page.getByRole('button', { name: 'Create the first item' }).waitFor();
  await page.getByRole('link', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('cart');
  await page.getByRole('link', { name: 'Cleo Carter' }).waitFor();
  await page.waitForFunction(() => location.search === '?q=cart');
  // The link in the navigation clears the field.
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await page.waitForFunction(() => document.querySelector('#find').value === '' && location.search === '');
  // A page that was cut short does not show that nothing matches.
  await page.route('**/graphql', (route) => {
    if (route.request().postDataJSON().variables?.prefix !== 'cut short') return route.fallback();
    const pageInfo = { __typename: 'PageInfo', hasNextPage: true, endCursor: 'scanned' };
    return route.fulfill({ json: { data: { principals: { __typename: 'PrincipalConnection', edges: [], pageInfo } } } });
  });
  await page.getByRole('searchbox').fill('cut short');
  await page.getByText('None found so far').waitFor({ state: 'attached' });
  const people = page.getByRole('region', { name: 'People and groups' });
  expect(await people.getByText('No matches').count(), 0, 'messages that nothing matches');
  await page.getByRole('button', { name: 'Show more' }).waitFor();
  await page.getByRole('searchbox').fill('nobody at all');
  await people.getByText('No matches').waitFor();
  await page.getByRole('searchbox').fill('u:demo:cleo');
  await page.getByRole('link', { name: 'Open u:demo:cleo' }).click();
  await page.getByRole('heading', { level: 1, name: 'Cleo Carter' }).waitFor();
  // Her private items on which Ben has a role are shown on request.
  await page.getByText('items visible to all of demo').waitFor();
  await page.locator('[data-entry]').first().waitFor();
  expect(await entry(page, 'internal/poll').count(), 0, 'private items in another library');
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByRole('button', { name: 'Private items shared with me' }).click();
  await entry(page, 'internal/poll').waitFor();
  expect((await focused(page)).trim(), 'Private items shared with me', 'what has focus after the filter was chosen');
  await page.context().close();
}

// rejectedToken: the client says that the token is no longer accepted, and offers to sign in again.
export async function rejectedToken({ openAs, faults }) {
  const page = await openAs('Ben');
  await page.route('**/dev/viewers', (route) => route.fulfill({ json: { viewers: [] } }));
  await page.route('**/graphql', (route) => route.fulfill({ status: 401, contentType: 'application/json',
    body: '{"errors":[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]}' }));
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByText('Your sign-in has expired. Sign in again', { exact: true }).waitFor();
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Sign in again' }).click();
  await dialog(page).getByRole('button', { name: /^Cleo\b/ }).click();
  await page.getByRole('link', { name: 'Everyone at demo', exact: true }).waitFor();
  expect(await page.getByText('Your sign-in has expired.').count(), 0, 'warnings after signing in again');
  // The browser itself reports every 401; this one is expected.
  const others = faults.filter((fault) => !/status of 401/.test(fault));
  faults.splice(0, faults.length, ...others);
  await page.context().close();
}

// rejectedSocket: the token is refused for live updates, and there is no other one. The client
// says so, and does not retry.
export async function rejectedSocket({ openAs }) {
  const page = await openAs(null);
  let asked = 0;
  let refusing = true;
  await page.routeWebSocket('**/graphql', (socket) => {
    asked += 1;
    if (refusing) socket.close({ code: 4403, reason: 'Forbidden' });
    else socket.connectToServer();
  });
  await page.reload();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).waitFor();
  await page.route('**/dev/viewers', (route) => route.fulfill({ json: { viewers: [] } }));
  await signIn(page, 'Ben');
  await page.getByText('Live updates are off.').waitFor({ state: 'attached' });
  await page.getByText('Your sign-in has expired.').waitFor();
  expect(asked, 1, 'sockets that were opened');
  // With a new token, live updates are on again.
  refusing = false;
  await page.getByRole('button', { name: 'Sign in again' }).click();
  await dialog(page).getByRole('button', { name: /^Ben\b/ }).click();
  await live(page);
  await page.context().close();
}

// signingInAndOut signs in by token, and leaves nothing behind after signing out.
export async function signingInAndOut({ openAs, base, viewers }) {
  const page = await openAs(null, { path: '/app/library/u:demo:dora' });
  await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  // The dialog has no words of the API.
  await dialog(page).getByText('signed in to organisation demo; sees what is public or for everyone signed in').waitFor();
  const ofApi = /tenant|LOGGEDIN|PUBLIC|PRIVATE|bearer|provider|principal/.exec(await dialog(page).innerText());
  expect(ofApi, null, 'words of the API');
  const field = dialog(page).getByRole('textbox', { name: 'Access token' });
  await field.fill('nonsense');
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This is not a user token').waitFor();
  await field.fill(viewers.find(({ name }) => name === 'Dora').token);
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  // The page stays, and its content can be seen now.
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await page.getByText('Nothing here yet').waitFor();
  await live(page);
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();

  await page.getByRole('banner').getByRole('button', { name: 'Dora Dean' }).click();
  await dialog(page).getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
  expect(await page.evaluate(() => [sessionStorage.length, document.cookie]), [0, ''], 'what is left after signing out');
  await page.reload();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).waitFor();
  await page.goto(`${base}/app`);
  await page.getByLabel('Open a library by its id').fill('dora');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('Enter an id such as u:demo:ann').waitFor();
  await page.context().close();
}
