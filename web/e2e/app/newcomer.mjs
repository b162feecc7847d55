// A user who has no profile yet.
import { dialog, entry, expect } from './fixture.mjs';

// newcomer has a token of a user that the gateway does not know yet: the pages offer only what such a user can do, and lead to
// the profile.
export async function newcomer({ openAs, base }) {
  const page = await openAs(null);
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await dialog(page).getByRole('textbox', { name: 'Access token' }).fill(process.env.NEWCOMER);
  await dialog(page).getByRole('button', { name: 'Sign in' }).click();
  const welcome = page.getByRole('heading', { level: 1, name: 'Welcome' });
  await welcome.waitFor();
  const onMain = () => page.waitForFunction(() => document.activeElement.id === 'main');
  await onMain();
  await page.waitForFunction(() => document.title === 'Welcome · Carrel');
  await page.getByText('Only you and administrators can see it.').waitFor();
  await page.getByText('You are signed in to demo, and have no profile yet.').waitFor();
  await page.getByText('Until then you can only read, and create pastes.').waitFor();
  await page.goto(`${base}/app/pastes`);
  await page.getByRole('button', { name: 'New paste' }).click();
  await dialog(page).getByRole('textbox', { name: 'Text' }).fill('before there is a profile');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('button', { name: 'I have saved the secret' }).click();

  await page.goto(`${base}/app/groups`);
  const first = page.getByRole('link', { name: 'Create your profile first' });
  await first.waitFor();
  expect(await page.getByRole('button', { name: /^(New|New group|Create.*)$/ }).count(), 0, 'buttons that need a profile');
  await first.click();
  await welcome.waitFor();
  await page.reload();
  await page.getByRole('textbox', { name: 'Name' }).fill('Nora Newcomer');
  await page.getByRole('textbox', { name: 'Email' }).fill('nora');
  await page.getByRole('button', { name: 'Create my profile' }).click();
  await page.getByRole('textbox', { name: 'Email' }).and(page.locator('[aria-invalid="true"]')).waitFor();
  await page.getByRole('textbox', { name: 'Email' }).fill('nora@demo.example');
  await page.getByRole('button', { name: 'Create my profile' }).click();
  await page.getByRole('heading', { level: 1, name: 'My library' }).waitFor();
  await page.waitForFunction(() => document.title === 'My library · Carrel');
  await onMain();
  await page.getByText('Nothing here yet').waitFor();
  await page.getByRole('button', { name: 'Create the first item' }).click();
  await dialog(page).getByRole('radio', { name: 'Note' }).check();
  await dialog(page).getByRole('textbox', { name: 'Title' }).fill('Hello');
  await dialog(page).getByRole('button', { name: 'Create', exact: true }).click();
  await entry(page, 'Hello').waitFor();
  await page.getByText('1 item · full access').waitFor();
  await page.getByRole('banner').getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('button', { name: 'New group' }).waitFor();
  await page.context().close();
}
