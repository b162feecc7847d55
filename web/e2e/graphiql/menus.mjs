// Opens every other part of GraphiQL and its editor once: panels, dialogs, menus and boxes,
// each of which adds its own styles.
import { editorShows } from './page.mjs';

const query = '.graphiql-query-editor';

// dialogsAndMenus opens each of them, and waits until it is shown.
export async function dialogsAndMenus(page) {
  const press = (name) => page.getByRole('button', { name }).click();
  const editor = page.locator(`${query} .monaco-editor`).first();

  await press('Show Documentation Explorer');
  await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).click();
  await page.locator('.graphiql-doc-explorer').getByText('principal', { exact: true }).first().click();
  await press('Hide Documentation Explorer');
  await press('Show History');
  await page.locator('.graphiql-history').getByText('LibraryPage').first().waitFor();
  await press('Hide History');
  await press('Open short keys dialog');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  // Boxes of the editor: completion, the description of a word, the search, the menu, and the
  // list of commands.
  await editor.click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('Control+Space');
  await page.locator('.suggest-widget.visible').waitFor();
  await page.keyboard.press('Escape');
  await page.locator(`${query} .view-line`).getByText('displayName', { exact: true }).first().hover();
  await page.locator('.monaco-hover:not(.hidden)').first().waitFor();
  await editor.click();
  await page.keyboard.press('Control+F');
  await page.locator('.find-widget.visible').waitFor();
  await page.keyboard.press('Escape');
  await editor.click({ button: 'right' });
  await page.locator('.monaco-menu').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.monaco-menu').waitFor({ state: 'detached' });
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });

  await press('Prettify query (Shift-Ctrl-P)');
  await editorShows(page, query, 'LibraryPage');
  await press('Open settings dialog');
  await page.getByRole('dialog').getByRole('button', { name: 'Dark', exact: true }).click();
  await page.locator('body.graphiql-dark').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'System', exact: true }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  console.log('panels, dialogs, menus and boxes open as they should');
}
