// Drafts in two windows, after a token has expired, and after their author has lost the right to edit.
import { confirm, dialog, discard, expect, says, signIn } from './fixture.mjs';
import { broken, button, draftsOf, field, makeNote, noteOf, openEditor, savedAsDraft, textOf } from './notes.mjs';

const members = 'mutation ($id: ID!, $members: [ContentMemberChange!]!) { setContentMembers(input: {contentId: $id, members: $members}) { userErrors { message } } }';

// expire lets the gateway refuse the token of a page. The function that it returns signs in again, in the open dialog.
export async function expire(page) {
  await page.route('**/dev/viewers', (route) => route.fulfill({ json: { viewers: [] } }));
  await page.route('**/graphql', (route) => route.fulfill({ status: 401, contentType: 'application/json',
    body: '{"errors":[{"message":"expired","extensions":{"code":"UNAUTHENTICATED"}}]}' }));
  return async () => {
    await button(page, 'Sign in again').click();
    await page.unrouteAll();
    const signIn = page.getByRole('dialog', { name: 'Sign in again' });
    await signIn.getByRole('button', { name: /^Ann\b/ }).click();
    await signIn.waitFor({ state: 'detached' });
  };
}

// expiredInEditor: a token expires while a text is written, when it is published, and in the history. The author signs in again
// there, and nothing is lost.
export async function expiredInEditor({ api, openAs, faults }) {
  const id = await makeNote(api, 'Broth', { body: 'old' });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await openEditor(ann);
  let signInAgain = await expire(ann);
  await field(ann, 'Text').fill('new');
  await dialog(ann).getByText('Not saved. Your sign-in has expired.').waitFor();
  await button(ann, 'Publish').click();
  await dialog(ann).getByText('Not saved. Your sign-in has expired.').waitFor();
  expect(await button(ann, 'Try again').count(), 0, 'buttons that cannot help');
  await signInAgain();
  await savedAsDraft(ann);
  expect((await draftsOf(api, 'Ann', id)).map(({ body }) => body), ['new'], 'the draft after signing in again');

  // A draft that is saved is not published, but it is not unsaved either.
  signInAgain = await expire(ann);
  await button(ann, 'Publish').click();
  await dialog(ann).getByText('Not published. Your sign-in has expired.').waitFor();
  await savedAsDraft(ann);
  await signInAgain();
  await dialog(ann).getByText('Not published.').waitFor({ state: 'detached' });
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');
  expect((await textOf(api, id)).revision.body, 'new', 'the published text');

  // Before a dialog has read its text.
  await noteOf(ann).getByText('new').waitFor();
  for (const [name, shown] of [['History…', () => dialog(ann).locator('ins').getByText('new')], ['Edit text…', () => field(ann, 'Text')]]) {
    signInAgain = await expire(ann);
    await noteOf(ann).getByRole('button', { name }).click();
    await dialog(ann).getByText('Your sign-in has expired.').waitFor();
    await signInAgain();
    await shown().waitFor();
    expect(await ann.evaluate(() => document.activeElement.closest('dialog') !== null), true, `whether focus is in ${name}`);
    await ann.keyboard.press('Escape');
    await dialog(ann).waitFor({ state: 'detached' });
  }

  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await dialog(ann).locator('ins').getByText('new').waitFor();
  signInAgain = await expire(ann);
  await button(ann, 'Set as current').click();
  await dialog(ann).getByText('Your sign-in has expired.').waitFor();
  await signInAgain();
  await dialog(ann).getByText('Your sign-in has expired.').waitFor({ state: 'detached' });
  await button(ann, 'Set as current').click();
  await says(ann, 'Version 1 is current now.');
  const others = faults.filter((fault) => !/status of 401/.test(fault));
  faults.splice(0, faults.length, ...others);
  await ann.context().close();
}

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

// savedBeforeLoss: an editor who becomes a viewer closes the editor without a question if all of the text is saved
// and can be read again.
export async function savedBeforeLoss({ api, openAs }) {
  const id = await makeNote(api, 'Relish', { role: 'EDITOR', body: 'old' });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  const role = async (to) => {
    await api('Ann', members, { id, members: [{ principalId: 'u:demo:cleo', role: to }] });
    await cleo.evaluate(() => dispatchEvent(new Event('focus')));
  };
  const lost = dialog(cleo).getByText('You can no longer edit this note.');
  const close = async () => {
    await lost.waitFor();
    await dialog(cleo).locator('.dialog-actions').getByRole('button', { name: 'Close', exact: true }).click();
    await dialog(cleo).waitFor({ state: 'detached' });
    await noteOf(cleo).getByText('You have a draft that is not published.').waitFor();
  };
  await openEditor(cleo);
  await field(cleo, 'Text').fill('new');
  await savedAsDraft(cleo);
  await role('VIEWER');
  await close();
  await openEditor(cleo, 'Continue the draft');
  expect(await field(cleo, 'Text').inputValue(), 'new', 'the draft of a viewer');
  await close();

  // The same if publishing finds that out.
  await role('EDITOR');
  await noteOf(cleo).getByRole('button', { name: 'Edit text…' }).waitFor();
  await openEditor(cleo, 'Continue the draft');
  await api('Ann', members, { id, members: [{ principalId: 'u:demo:cleo', role: 'VIEWER' }] });
  await button(cleo, 'Publish').click();
  await close();

  // Without access to the item, there is no draft to come back to.
  await role('EDITOR');
  await openEditor(cleo, 'Continue the draft');
  await role(null);
  await cleo.locator('main').getByText('There is no such item').waitFor();
  await cleo.keyboard.press('Escape');
  await discard(cleo);
  await cleo.context().close();
}

// failedDiscard: a draft that could not be discarded, or published, is still there, and the editor says which of both has failed.
export async function failedDiscard({ api, openAs, faults }) {
  const id = await makeNote(api, 'Chutney', { body: 'old' });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const fails = (text) => dialog(ann).locator('.saving .fault').getByText(text, { exact: true }).waitFor();
  await openEditor(ann);
  await field(ann, 'Text').fill('new');
  await savedAsDraft(ann);
  let down = '';
  await broken(ann, 'PublishDraft', () => down === 'publish');
  await broken(ann, 'DiscardDraft', () => down === 'discard');
  const discardIt = async () => {
    await button(ann, 'Discard draft').click();
    await confirm(ann, 'Discard your draft?', 'Discard');
  };
  down = 'discard';
  await discardIt();
  await fails('Not discarded. The service is temporarily unavailable.');
  down = 'publish';
  await button(ann, 'Publish').click();
  await fails('Not published. The service is temporarily unavailable.');
  down = '';
  await ann.context().setOffline(true);
  await discardIt();
  await fails('Not discarded. You are offline.');
  expect((await draftsOf(api, 'Ann', id)).map(({ body }) => body), ['new'], 'the draft that was not discarded');
  await ann.context().setOffline(false);
  await dialog(ann).getByText('Not discarded.').waitFor({ state: 'detached' });
  await discardIt();
  await says(ann, 'Draft discarded.');
  expect(await draftsOf(api, 'Ann', id), [], 'the drafts afterwards');
  const others = faults.filter((fault) => !/ERR_INTERNET_DISCONNECTED/.test(fault));
  faults.splice(0, faults.length, ...others);
  await ann.context().close();
}

// focusAfterDraft: the button that continues a draft disappears with it: focus moves to the heading of the text.
export async function focusAfterDraft({ api, openAs }) {
  const id = await makeNote(api, 'Pickle', { body: 'old' });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  const again = noteOf(ann).getByRole('button', { name: 'Continue the draft' });
  const write = async (text) => {
    await openEditor(ann);
    await field(ann, 'Text').fill(text);
    await savedAsDraft(ann);
    await ann.keyboard.press('Escape');
    await dialog(ann).waitFor({ state: 'detached' });
    await openEditor(ann, 'Continue the draft');
  };
  const isAtHeading = async () => {
    await again.waitFor({ state: 'detached' });
    await noteOf(ann).getByRole('heading', { name: 'Text', exact: true }).and(ann.locator(':focus')).waitFor();
  };
  await write('first');
  await ann.keyboard.press('Escape');
  await dialog(ann).waitFor({ state: 'detached' });
  await again.and(ann.locator(':focus')).waitFor();
  await openEditor(ann, 'Continue the draft');
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');
  await isAtHeading();
  await write('second');
  await button(ann, 'Discard draft').click();
  await confirm(ann, 'Discard your draft?', 'Discard');
  await says(ann, 'Draft discarded.');
  await isAtHeading();
  // Any other button stays.
  await openEditor(ann);
  await field(ann, 'Text').fill('third');
  await button(ann, 'Publish').click();
  await says(ann, 'Published.');
  await noteOf(ann).getByText('third').waitFor();
  await noteOf(ann).getByRole('button', { name: 'Edit text…' }).and(ann.locator(':focus')).waitFor();
  await ann.context().close();
}

// draftAmongMany: an item says that there is a draft of it, however many the viewer has, and no longer once it is discarded.
export async function draftAmongMany({ api, openAs }) {
  const save = 'mutation ($in: SaveDraftInput!) { saveDraft(input: $in) { userErrors { message } } }';
  const made = [];
  for (const title of ['Stock', 'Sauce', 'Syrup']) {
    made.push(await makeNote(api, title, { body: 'salt' }));
    const { saveDraft } = await api('Ann', save, { in: { contentId: made.at(-1), branch: 1, title, body: 'sugar', expectedVersion: 0 } });
    expect(saveDraft.userErrors, [], `faults of saving the draft of ${title}`);
  }
  const ann = await openAs(null);
  // One draft a page, as if there were many more.
  let pages = 0;
  await ann.route('**/graphql', (route) => {
    const body = route.request().postDataJSON();
    if (body.operationName !== 'MyDrafts') return route.fallback();
    pages += 1;
    return route.continue({ postData: JSON.stringify({ ...body, query: body.query.replace('first: 50', 'first: 1') }) });
  });
  await signIn(ann, 'Ann');
  await ann.goto(new URL(`/app/item/${made[0]}`, ann.url()).href);
  const bar = noteOf(ann).getByText('You have a draft that is not published.');
  await bar.waitFor();
  expect([await bar.count(), pages >= 3], [1, true], 'the drafts of the item, and whether there were several pages');
  await noteOf(ann).getByRole('button', { name: 'Continue the draft' }).click();
  await button(ann, 'Discard draft').click();
  await confirm(ann, 'Discard your draft?', 'Discard');
  await bar.waitFor({ state: 'detached' });
  await ann.context().close();
}
