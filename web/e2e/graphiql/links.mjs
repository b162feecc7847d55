// Links to GraphiQL: copying and opening them, and that they never contain a token.
import { expect } from '../browser.mjs';
import { activeTab, askAs, editorShows, openTab, paste } from './page.mjs';

const query = '.graphiql-query-editor';
const variables = '.graphiql-editor-tool';

// links copies links, and opens them as another user.
export async function links(page, base) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(base).origin });
  await askAs(page, 'Ann');
  await openTab(page, 'LibraryPage');
  // A typed token is a header, and never part of a link.
  await page.getByRole('button', { name: 'Headers', exact: true }).click();
  await paste(page, `${variables} .graphiql-editor:not(.hidden)`, '{"Authorization": "Bearer hush"}');
  const link = await copied(page, 'Link copied.');
  await paste(page, `${variables} .graphiql-editor:not(.hidden)`, '{}');
  await page.getByRole('button', { name: 'Variables', exact: true }).click();
  expect(/hush|bearer|eyJ/i.test(decodeURIComponent(link)), false, `a token in ${link}`);
  expect([...new URL(link).searchParams.keys()], ['query', 'variables'], 'the parameters of a link');

  await page.getByRole('button', { name: 'New tab' }).click();
  await paste(page, query,
    'query One { viewer { id } } query Two($token: String = "hush", $id: ID!) { lease(id: $id, token: $token) { id } }');
  await page.getByRole('button', { name: 'Variables', exact: true }).waitFor();
  await paste(page, variables, '{"id": "l:00000000000000000000000000000000"}');
  // If there are several operations, a link names the one that was run last.
  await page.getByRole('button', { name: /execute query/i }).click();
  await page.getByRole('menuitem', { name: 'Two', exact: true }).click();
  await editorShows(page, '.graphiql-response', '"lease"');
  const second = await copied(page, 'Link copied, without token.');
  expect(second.includes('hush'), false, 'a secret in a link');
  expect(new URL(second).searchParams.get('operationName'), 'Two', 'the operation of a link');

  // Another user opens the links.
  const other = await page.context().browser().newPage();
  try {
    await other.goto(link);
    await editorShows(other, query, 'LibraryPage');
    await editorShows(other, variables, 'standard-library');
    await other.goto(second);
    await editorShows(other, query, 'query Two($token: String = ""');
    await editorShows(other, variables, 'l:0000');
    await activeTab(other, 'Two').waitFor();
    const asked = other.waitForRequest((request) => request.method() === 'POST' && request.postDataJSON()?.operationName === 'Two');
    await other.locator(`${variables} .monaco-editor`).first().click();
    await other.keyboard.press('Control+Enter');
    await asked;
  } finally {
    await other.close();
  }
  console.log('links open the operations that they were copied from, without tokens');
}

// copied presses the button and returns what is in the clipboard.
async function copied(page, said) {
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.locator('.carrel-said').getByText(said, { exact: true }).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
}
