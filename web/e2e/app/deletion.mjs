// Deleting a group and an account, and its effects for others.
import { dialog, entry, expect, live, openEntry, says } from './fixture.mjs';

const createGroup = 'mutation ($input: CreateGroupInput!) { createGroup(input: $input) { group { id } userErrors { message } } }';
const setMembers = 'mutation ($input: SetGroupMembersInput!) { setGroupMembers(input: $input) { userErrors { message } } }';
const share = 'mutation ($input: ShareContentInput!) { shareContent(input: $input) { userErrors { message } } }';

// deletedGroup deletes a group while one of its members reads its library.
export async function deletedGroup({ api, openAs }) {
  const id = 'g:demo:passing-circle';
  await api('Ann', createGroup, { input: { tenant: 'demo', name: 'passing-circle', displayName: 'Passing circle',
    visibility: 'PRIVATE' } });
  await api('Ann', setMembers, { input: { groupId: id, members: [{ principalId: 'u:demo:cleo', role: 'MEMBER' }] } });
  const cleo = await openAs('Cleo', { path: '/app/groups' });
  await cleo.getByRole('link', { name: 'Passing circle', exact: true }).click();
  await cleo.getByRole('heading', { level: 1, name: 'Passing circle' }).waitFor();
  expect(await cleo.getByRole('button', { name: 'Delete group…' }).count(), 0, 'Delete buttons for a member who is not a manager');

  const ann = await openAs('Ann', { path: `/app/members/${id}` });
  await ann.getByRole('button', { name: 'Delete group…' }).click();
  await dialog(ann).getByText('Its members lose access to everything').waitFor();
  await dialog(ann).getByRole('button', { name: 'Delete group' }).click();
  const field = dialog(ann).getByRole('textbox', { name: 'Type passing-circle to confirm' });
  await field.and(ann.locator('[aria-invalid="true"]')).and(ann.locator(':focus')).waitFor();
  await field.fill('Passing-Circle');
  await dialog(ann).getByRole('button', { name: 'Delete group' }).click();
  await says(ann, 'Passing circle was deleted.');
  await ann.getByRole('heading', { level: 1, name: 'My groups' }).waitFor();
  expect(await ann.getByRole('link', { name: 'Passing circle', exact: true }).count(), 0, 'deleted groups in My groups');

  await cleo.reload();
  await cleo.getByRole('heading', { name: 'Not found' }).waitFor();
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

// deletedAccount deletes the account of a user who has shared an item. It runs after the other
// scenes, because the id cannot be used again.
export async function deletedAccount({ api, openAs }) {
  const page = await openAs(null);
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).getByRole('textbox', { name: 'Access token' }).fill(process.env.NEWCOMER);
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  // Another scene may have created the user already.
  const welcome = page.getByRole('heading', { level: 1, name: 'Welcome' });
  await welcome.or(page.getByRole('heading', { level: 1, name: 'My library' })).waitFor();
  if ((await welcome.count()) > 0) {
    await page.getByRole('textbox', { name: 'Name' }).fill('Nora Newcomer');
    await page.getByRole('textbox', { name: 'Email' }).fill('nora@demo.example');
    await page.getByRole('button', { name: 'Create my profile' }).click();
    await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  }
  const title = 'What Nora leaves behind';
  const create = async (input) => {
    const answer = await fetch(new URL('/graphql', page.url()), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.NEWCOMER}` },
      body: JSON.stringify({ query: 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } } }',
        variables: { input } }),
    });
    return (await answer.json()).data.createContent.content;
  };
  const { id } = await create({ kind: 'NOTE', title, visibility: 'PRIVATE', members: [{ principalId: 'u:demo:ann', role: 'MANAGER' }] });
  await entry(page, title).waitFor();
  const ann = await openAs('Ann');
  await live(ann);
  await entry(ann, title).getByText('by Nora Newcomer').waitFor();

  await page.getByRole('banner').getByRole('button', { name: /Nora Newcomer/ }).click();
  await dialog(page).getByRole('button', { name: 'Edit profile…' }).click();
  // Who stays goes on with what was typed.
  const name = page.getByRole('dialog', { name: 'Edit profile' }).getByRole('textbox', { name: 'Name' });
  const asked = page.getByRole('dialog', { name: 'Delete your account?' });
  await name.fill('Nora Nobody');
  for (const leave of [() => page.keyboard.press('Escape'), () => asked.getByRole('button', { name: 'Cancel' }).click()]) {
    await dialog(page).getByRole('button', { name: 'Delete account…' }).click();
    await asked.getByText('Items that you created stay in the libraries of others').waitFor();
    await leave();
    await asked.waitFor({ state: 'detached' });
    expect(await name.inputValue(), 'Nora Nobody', 'what was typed before the account was nearly deleted');
  }
  await dialog(page).getByRole('button', { name: 'Delete account…' }).click();
  await asked.getByRole('textbox', { name: 'Type newcomer to confirm' }).fill('newcomer');
  await asked.getByRole('button', { name: 'Delete account', exact: true }).click();
  await says(page, 'Your account was deleted.');
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).waitFor();

  // Ann still has the item, without the name of its creator.
  await ann.reload();
  await openEntry(ann, title);
  await entry(ann, title).getByText('by Nora Newcomer').waitFor({ state: 'detached' });
  const { content } = await api('Ann', 'query ($id: ID!) { content(id: $id) { viewerCanManage createdBy { id } } }', { id });
  expect(content, { viewerCanManage: true, createdBy: null }, 'the item of a deleted user');

  // The token can no longer sign in.
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).getByRole('textbox', { name: 'Access token' }).fill(process.env.NEWCOMER);
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  await welcome.waitFor();
  await page.getByRole('textbox', { name: 'Name' }).fill('Nora Again');
  await page.getByRole('textbox', { name: 'Email' }).fill('nora@demo.example');
  await page.getByRole('button', { name: 'Create my profile' }).click();
  await page.getByRole('textbox', { name: 'Name' }).and(page.locator('[aria-invalid="true"]')).waitFor();
  expect(await welcome.count(), 1, 'pages that ask for a profile');
  await Promise.all([ann.context().close(), page.context().close()]);
}
