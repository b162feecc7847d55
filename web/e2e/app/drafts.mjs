// Drafts that are open in two windows.
import { confirm, dialog, expect, says } from './fixture.mjs';
import { button, draftsOf, field, makeNote, openEditor, savedAsDraft, textOf } from './notes.mjs';

// draftInTwoWindows: only the text that a window shows is published from it, whatever the other window does with the draft.
export async function draftInTwoWindows({ api, openAs }) {
  const id = await makeNote(api, 'Sauce', { body: 'old' });
  const path = `/app/item/${id}`;
  const [one, two] = await Promise.all([openAs('Ann', { path }), openAs('Ann', { path })]);
  const type = async (text) => {
    await field(one, 'Text').fill(text);
    await savedAsDraft(one);
  };
  const show = async (text) => {
    await two.reload();
    await openEditor(two, 'Continue the draft');
    expect(await field(two, 'Text').inputValue(), text, 'the draft in the second window');
  };
  const versions = dialog(two).getByRole('group', { name: 'Two versions of your draft' });
  await openEditor(one);
  await type('first');
  await show('first');
  await type('second');
  await button(two, 'Publish').click();
  await versions.and(two.locator(':focus')).locator('ins').getByText('first').waitFor();
  // Typing the stored text again does not decide.
  await field(two, 'Text').fill('other');
  await field(two, 'Text').fill('first');
  await button(two, 'Publish').click();
  await versions.and(two.locator(':focus')).waitFor();
  await button(two, 'Use the other version').click();
  await savedAsDraft(two);
  expect(await field(two, 'Text').inputValue(), 'second', 'the draft that was chosen');
  await type('third');
  await button(two, 'Publish').click();
  await versions.locator('ins').getByText('second').waitFor();
  expect((await textOf(api, id)).revision.body, 'old', 'the text before a choice');
  await button(two, 'Keep this version').click();
  await savedAsDraft(two);
  await button(two, 'Publish').click();
  await says(two, 'Published.');
  expect([(await textOf(api, id)).revision.body, await draftsOf(api, 'Ann', id)], ['second', []], 'the text that was kept');

  // The text of a draft that was discarded is published if it is asked for.
  await one.reload();
  await openEditor(one);
  await type('fourth');
  await show('fourth');
  await button(one, 'Discard draft').click();
  await confirm(one, 'Discard your draft?', 'Discard');
  await says(one, 'Draft discarded.');
  await button(two, 'Publish').click();
  await says(two, 'Published.');
  expect([(await textOf(api, id)).revision.body, await draftsOf(api, 'Ann', id)], ['fourth', []], 'the text of the discarded draft');
  await Promise.all([one, two].map((page) => page.context().close()));
}
