// What one does in GraphiQL, in the words of its page.

// askAs chooses a viewer in the menu.
export function askAs(page, name) {
  return page.getByLabel('Ask as').selectOption(name);
}

export async function openTab(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
  await editorShows(page, '.graphiql-query-editor', name);
}

// activeTab is the open tab, if it has this name. It has a button to close it too, so its name is a
// longer one.
export function activeTab(page, name) {
  return page.getByRole('tab', { selected: true }).filter({ hasText: name });
}

// paste replaces what an editor holds. Typing would have Monaco close every
// quote and brace once more.
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

// editorShows waits until Monaco has drawn the words, whose spaces it draws as
// ones that do not break.
export function editorShows(page, editor, words) {
  return page.waitForFunction(
    ([selector, wanted]) => document.querySelector(`${selector} .view-lines`)?.textContent.replaceAll('\u00a0', ' ').includes(wanted),
    [editor, words],
  );
}
