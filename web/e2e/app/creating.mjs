// New items: where they will be does not change under the user, and none is made twice.
import { dialog, entry, expect, live, says } from './fixture.mjs';

const path = '/app/library/g:demo:library-team';

// groupReadLate: a user opens New on the page of a group before the group was read. Nothing is created until it is known where the
// item will be, and that does not change with the role of the user. If the group cannot be read, the user can go on without it.
export async function groupReadLate({ api, openAs }) {
  const role = (its) => api('Ben', `mutation { setGroupMembers(input: {groupId: "g:demo:atelier",
    members: [{principalId: "u:demo:ann", role: ${its}}]}) { userErrors { message } } }`);
  await api('Ben', `mutation { createGroup(input: {tenant: "demo", name: "atelier", displayName: "Atelier", visibility: LOGGEDIN}) {
    userErrors { message } } }`);
  const ann = await openAs('Ann');
  let answer = null;
  const held = [];
  await ann.route('**/graphql', (route) => {
    if (!['LibraryHead', 'Group', 'GroupName'].includes(route.request().postDataJSON().operationName)) return route.fallback();
    if (answer) return answer(route);
    return held.push(route);
  });
  const release = async (how) => {
    answer = how;
    for (const route of held.splice(0)) await how(route);
  };
  const start = async (at) => {
    answer = null;
    await ann.goto(new URL(at, ann.url()).href);
    await ann.getByRole('banner').getByRole('button', { name: 'New' }).click();
    await dialog(ann).getByText('Loading...').waitFor();
    await dialog(ann).getByRole('radio', { name: 'Note' }).check();
  };
  const create = dialog(ann).getByRole('button', { name: 'Create', exact: true });
  const field = dialog(ann).getByRole('textbox', { name: 'Title' });
  const library = async (id) => (await api('Ann', `query ($id: ID!) { principal(id: $id) {
    library(first: 9, orderBy: {field: LAST_MODIFIED, direction: DESC}) { nodes { title } } } }`, { id }))
    .principal.library.nodes.map(({ title }) => title);

  await start(path);
  await field.fill('Typed early');
  await field.press('Enter');
  expect(await create.getAttribute('aria-disabled'), 'true', 'whether Create is held');
  expect((await library('u:demo:ann')).includes('Typed early'), false, 'whether an item was created before its place was known');
  await release((route) => route.continue());
  await dialog(ann).getByRole('radio', { name: /^My library and/ }).and(ann.locator(':checked')).waitFor();
  await create.click();
  await says(ann, '“Typed early” is in your library, and shared with');

  // Ann becomes a member while the dialog is open.
  await start('/app/members/g:demo:atelier');
  await release((route) => route.continue());
  const own = dialog(ann).getByRole('radio', { name: 'Only my library' }).and(ann.locator(':checked'));
  await own.waitFor();
  await role('MEMBER');
  const read = ann.waitForResponse((response) => response.request().postDataJSON()?.operationName === 'Group');
  await ann.evaluate(() => dispatchEvent(new Event('focus')));
  await (await read).finished();
  await ann.getByRole('button', { name: 'Leave…', includeHidden: true }).waitFor({ state: 'attached' });
  await own.waitFor();
  await field.fill('For Ann alone');
  await create.click();
  await says(ann, '“For Ann alone” is in your library.');
  expect(await library('g:demo:atelier'), [], 'the items of the group');

  // The group cannot be read, and then it can.
  const down = (route) => route.fulfill({ contentType: 'application/graphql-response+json',
    body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  await start(path);
  await release(down);
  await dialog(ann).getByRole('heading', { name: 'Could not load the group' }).waitFor();
  await field.fill('Without a group');
  await field.press('Enter');
  await dialog(ann).getByRole('button', { name: 'Only my library' }).click();
  await dialog(ann).getByText('The item will be in your own library.').waitFor();
  await release((route) => route.continue());
  await create.click();
  await says(ann, '“Without a group” is in your library.');
  await live(ann);
  await entry(ann, 'Without a group').waitFor();
  expect((await library('g:demo:library-team')).includes('Without a group'), false, 'whether the group has the item');
  await ann.context().close();
}
