// Actions in GraphiQL, by the texts of its page.
import { patience } from '../browser.mjs';

// askAs chooses a viewer in the menu.
export function askAs(page, name) {
  return page.getByLabel('Run as').selectOption(name);
}

// shownAs waits until a viewer is chosen.
export function shownAs(page, name) {
  return page.waitForFunction((wanted) => document.querySelector('#viewer').value === wanted, name);
}

// openTab opens the tab with a name, and waits for its operation.
export async function openTab(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
  await editorShows(page, '.graphiql-query-editor', name);
}

// activeTab returns the open tab with this name. Its accessible name is longer, because it
// includes a button to close the tab.
export function activeTab(page, name) {
  return page.getByRole('tab', { selected: true }).filter({ hasText: name });
}

// paste replaces the content of an editor. If the text were typed, Monaco would add a second
// closing quote or brace to each.
export async function paste(page, editor, text) {
  await page.locator(`${editor} .monaco-editor`).first().click();
  await page.keyboard.press('Control+A');
  await page.evaluate((pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
  await editorShows(page, editor, text);
}

// editorShows waits until Monaco shows a text. Monaco renders spaces as non-breaking spaces.
export function editorShows(page, editor, words, timeout = patience) {
  return page.waitForFunction(
    ([selector, wanted]) => document.querySelector(`${selector} .view-lines`)?.textContent.replaceAll('\u00a0', ' ').includes(wanted),
    [editor, words],
    { timeout },
  );
}
