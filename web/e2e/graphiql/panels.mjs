// The panels of examples, and the explorer, which builds an operation.
import { activeTab, editorShows } from './page.mjs';

const query = '.graphiql-query-editor';

// panels opens examples from their panel, and writes an operation with the explorer.
export async function panels(page) {
  const press = (name) => page.getByRole('button', { name, exact: true }).click();

  await press('Show Examples');
  const examples = page.getByRole('region', { name: 'Examples' });
  await examples.getByRole('heading', { name: 'Lease keys' }).waitFor();
  await examples.getByRole('button', { name: 'ReadLease' }).click();
  await activeTab(page, 'ReadLease').waitFor();
  await editorShows(page, query, 'query ReadLease');
  await editorShows(page, '.graphiql-editor-tool', '"token"');
  await examples.getByRole('button', { name: 'NextPage' }).click(); // open already
  await activeTab(page, 'NextPage').waitFor();
  const tabs = await page.getByRole('tab').filter({ hasText: 'NextPage' }).count();
  if (tabs !== 1) throw new Error(`${tabs} tabs with one example`);
  await press('Hide Examples');

  await press('New tab');
  await press('Show GraphiQL Explorer');
  const explorer = page.locator('.docExplorerWrap');
  await explorer.getByText('viewer', { exact: true }).first().click();
  await editorShows(page, query, 'viewer');
  await explorer.getByText('displayName', { exact: true }).first().click();
  await editorShows(page, query, 'displayName');

  // A link to the documentation opens it, whichever panel was open last.
  await page.goto(`${new URL(page.url()).origin}/?docs`);
  await page.getByRole('button', { name: 'Hide Documentation Explorer', exact: true }).click();
  console.log('examples open in tabs, and the explorer writes an operation');
}
