// Signing in again in dialogs, after a token has expired: the error goes, and focus stays in the dialog.
import { dialog, discard, expect } from './fixture.mjs';
import { expire } from './drafts.mjs';
import { button, field, makeNote, noteOf } from './notes.mjs';

// whereFocus says whether focus is in the open dialog, and on what it is.
const whereFocus = (page) => page.evaluate(() => {
  const element = document.activeElement;
  const what = element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent;
  return element.closest('dialog') ? what.trim() : element.localName;
});

// expiredInLanguage: the dialog that adds a language takes back its error, and goes on.
export async function expiredInLanguage({ api, openAs, faults }) {
  const id = await makeNote(api, 'Crêpes', { body: 'flour' });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await noteOf(ann).getByRole('button', { name: 'Add a language…' }).click();
  const signInAgain = await expire(ann);
  await dialog(ann).getByRole('combobox', { name: 'Language' }).fill('French');
  await button(ann, 'Write the text').click();
  await dialog(ann).getByText('Your sign-in has expired.').waitFor();
  await signInAgain();
  await dialog(ann).getByText('Your sign-in has expired.').waitFor({ state: 'detached' });
  expect(await dialog(ann).getByRole('combobox', { name: 'Language' }).inputValue(), 'French', 'what was typed');
  await button(ann, 'Write the text').click();
  await ann.getByRole('dialog', { name: 'Edit the text: French' }).waitFor();
  faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 401/.test(fault)));
  await ann.context().close();
}
