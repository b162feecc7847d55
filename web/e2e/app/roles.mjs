// Roles that other managers have changed since they were shown: nobody gets back by Undo what somebody else has taken.
import { confirm, dialog, expect, hide, item, live, openEntry, says } from './fixture.mjs';

// reducedRole: who removes somebody reads that another manager has changed the role, in a group, in Share and in a library. Undo
// gives back the role that was removed.
export async function reducedRole({ api, openAs }) {
  const group = 'g:demo:quorum';
  const inGroup = (name, role) => api('Ann', `mutation ($id: ID!, $role: GroupRole) { setGroupMembers(input: {groupId: "${group}",
    members: [{principalId: $id, role: $role}]}) { userErrors { message } } }`, { id: `u:demo:${name}`, role });
  await api('Ann', `mutation { createGroup(input: {tenant: "demo", name: "quorum", displayName: "Quorum", visibility: PRIVATE}) {
    userErrors { message } } }`);
  await inGroup('cleo', 'MANAGER');
  const { id } = (await api('Ann', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } } }',
    { input: { kind: 'NOTE', title: 'Held by some', visibility: 'PRIVATE', members: [{ principalId: 'u:demo:ben', role: 'EDITOR' },
      { principalId: group, role: 'EDITOR' }] } })).createContent.content;
  const onItem = (principalId, role) => api('Ann', `mutation ($id: ID!, $members: [ContentMemberChange!]!) {
    setContentMembers(input: {contentId: $id, members: $members}) { userErrors { message } } }`, { id, members: [{ principalId, role }] });
  const rolesOf = async (what, of) => (await api('Ann', `query ($id: ID!) { ${what}(id: $id) { members { edges { role node { id } } } } }`,
    { id: of }))[what].members.edges.map(({ role, node }) => `${node.id} ${role}`);
  const overtaken = (name, role) => `Somebody else has made ${name} ${role} meanwhile. Nothing was changed.`;
  const shows = (name, role) => ann.waitForFunction(([of, as]) =>
    document.querySelector(`select[aria-label="Role of ${of}"]`)?.value === as, [name, role], { polling: 50 });

  const ann = await openAs('Ann');
  await hide(ann);
  await ann.goto(new URL(`/app/members/${group}`, ann.url()).href);
  // meanwhile happens while the question is open.
  const remove = async (name, meanwhile = () => {}) => {
    await ann.getByRole('button', { name: `Remove ${name}…` }).click();
    await meanwhile();
    await confirm(ann, `Remove ${name}?`, 'Remove');
  };
  const undo = async () => {
    await ann.getByRole('button', { name: 'Undo' }).click();
    await says(ann, 'Undone.');
  };
  await shows('Cleo Carter', 'MANAGER');
  await remove('Cleo Carter', () => inGroup('cleo', 'MEMBER'));
  await says(ann, overtaken('Cleo Carter', 'a member'));
  await shows('Cleo Carter', 'MEMBER');
  expect(await ann.getByRole('button', { name: 'Undo' }).count(), 0, 'Undo buttons where nothing was changed');
  expect(await rolesOf('group', group), ['u:demo:ann MANAGER', 'u:demo:cleo MEMBER'], 'the members before they were removed');
  // While the role is read, the button cannot be pressed again.
  let held = [];
  const isRead = (request) => request.postDataJSON()?.operationName === 'MoreGroupMembers';
  await ann.route('**/graphql', (route) => (held && isRead(route.request()) ? held.push(route) : route.fallback()));
  const reading = ann.waitForRequest(isRead);
  await remove('Cleo Carter');
  await reading;
  await dialog(ann).getByRole('button', { name: 'Please wait...' }).waitFor();
  const [read] = held;
  held = null;
  await read.continue();
  await says(ann, 'Cleo Carter was removed.');
  await undo();
  expect(await rolesOf('group', group), ['u:demo:ann MANAGER', 'u:demo:cleo MEMBER'], 'the members after Undo');
  // A role that somebody has already is not given, and Undo would not give back the former one.
  await inGroup('cleo', 'MANAGER');
  await ann.getByRole('combobox', { name: 'Role of Cleo Carter' }).selectOption('MANAGER');
  await confirm(ann, 'Make Cleo Carter a manager?', 'Make manager');
  await says(ann, overtaken('Cleo Carter', 'a manager'));
  await shows('Cleo Carter', 'MANAGER');

  await ann.goto(new URL(`/app/item/${id}`, ann.url()).href);
  await ann.getByRole('button', { name: 'Share…' }).click();
  await shows('Ben Baker', 'EDITOR');
  await remove('Ben Baker', () => onItem('u:demo:ben', 'VIEWER'));
  await says(ann, overtaken('Ben Baker', 'a viewer'));
  await shows('Ben Baker', 'VIEWER');
  await remove('Ben Baker');
  await says(ann, 'Ben Baker was removed.');
  await undo();
  const all = ['u:demo:ann MANAGER', 'u:demo:ben VIEWER', `${group} EDITOR`].sort();
  expect((await rolesOf('content', id)).sort(), all, 'the members of the item after Undo');

  // The same in the library of the group.
  await ann.goto(new URL(`/app/library/${group}`, ann.url()).href);
  await live(ann);
  const takeOut = async (meanwhile = () => {}) => {
    await item(ann).getByRole('button', { name: 'Remove from this library…' }).click();
    await meanwhile();
    await confirm(ann, 'Remove from Quorum?', 'Remove');
  };
  await openEntry(ann, 'Held by some');
  await takeOut(() => onItem(group, 'VIEWER'));
  await says(ann, overtaken('Quorum', 'a viewer'));
  await dialog(ann).waitFor({ state: 'detached' });
  await takeOut();
  await says(ann, '“Held by some” was removed from the library of Quorum.');
  await undo();
  const end = ['u:demo:ann MANAGER', 'u:demo:ben VIEWER', `${group} VIEWER`].sort();
  expect((await rolesOf('content', id)).sort(), end, 'the members of the item after it was put back');
  // What another manager has decided since stays.
  await openEntry(ann, 'Held by some');
  await takeOut();
  await says(ann, '“Held by some” was removed from the library of Quorum.');
  await onItem(group, 'EDITOR');
  await ann.getByRole('button', { name: 'Undo' }).click();
  await says(ann, 'This could not be undone. Somebody else has changed this meanwhile.');
  await ann.context().close();
}

// namedForWhom: a visibility and a role say whose they are, and a removal says when it is for good.
export async function namedForWhom({ api, openAs }) {
  const ann = await openAs('Ann', { path: '/app/library/g:demo:library-team' });
  const chip = (name) => ann.getByRole('group', { name: 'Filters' }).getByRole('button', { name, exact: true });
  const unfold = () => ann.getByRole('button', { name: 'Filters' }).click();
  await unfold();
  await chip('Shared with the group as editor').waitFor();
  await chip('All of an organisation').waitFor();
  await ann.goto(new URL('/app/library/u:demo:ben', ann.url()).href);
  await unfold();
  await chip('Shared with Ben Baker as editor').waitFor();
  await ann.getByRole('link', { name: 'My library' }).click();
  await ann.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await unfold();
  await chip('Role: editor').waitFor();

  await ann.getByRole('link', { name: 'Groups' }).click();
  await ann.getByRole('button', { name: 'New group' }).click();
  await dialog(ann).getByRole('group', { name: 'Visibility of its name and members, not of its items' }).waitFor();
  await ann.keyboard.press('Escape');

  // Whom the reader can no longer find cannot be added again.
  const zed = (visibility) => api('Zed', 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { userErrors { message } } }',
    { input: { id: 'u:acme:zed', visibility } });
  const { user: before } = await api('Zed', '{ user(id: "u:acme:zed") { visibility } }');
  const { id } = (await api('Ann', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } } }',
    { input: { kind: 'NOTE', title: 'For a hidden reader', visibility: 'PRIVATE',
      members: [{ principalId: 'u:acme:zed', role: 'VIEWER' }] } })).createContent.content;
  await zed('PRIVATE');
  await ann.goto(new URL(`/app/item/${id}`, ann.url()).href);
  await ann.getByRole('button', { name: 'Share…' }).click();
  await ann.getByRole('button', { name: 'Remove Zed Zhou…' }).click();
  await confirm(ann, 'Remove Zed Zhou?', 'Remove');
  await says(ann, 'Zed Zhou was removed. You can no longer find them, so you cannot add them again.');
  expect(await ann.getByRole('button', { name: 'Undo' }).count(), 0, 'Undo buttons for what cannot be undone');
  await zed(before.visibility);
  await ann.context().close();
}
