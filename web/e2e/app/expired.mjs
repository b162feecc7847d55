// Signing in again in dialogs, after a token has expired: the error goes, and focus stays in the dialog.
import { dialog, discard, expect } from './fixture.mjs';
import { expire } from './drafts.mjs';
import { button, field, makeNote, noteOf } from './notes.mjs';

// whereFocus names what has focus in the open dialog, or says that it is outside.
const whereFocus = (page) => page.evaluate(() => {
  const element = document.activeElement;
  const label = element.labels?.[0];
  return element.closest('dialog') ? (label?.querySelector('b') ?? label ?? element).textContent.trim() : 'outside';
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

// expiredInDialogs: who signs in again within a dialog is in its first field then.
export async function expiredInDialogs({ api, openAs, faults }) {
  const id = await makeNote(api, 'Pancakes', { body: 'flour' });
  const theirs = (await api('Cleo', 'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } } }',
    { input: { kind: 'NOTE', title: 'Waffles', visibility: 'PUBLIC', body: 'flour' } })).createContent.content.id;
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  // What each dialog does, how it is filled in, and the page that it is on if that is another one.
  const dialogs = {
    'Edit…': ['Save', () => field(ann, 'Description').fill('thin')],
    'Share…': ['Share', async () => {
      await dialog(ann).getByRole('combobox', { name: 'People and groups' }).fill('u:demo:cleo');
      await ann.keyboard.press('Enter');
    }],
    'Expiry…': ['Save', async () => {
      await dialog(ann).getByRole('radio', { name: 'On a date' }).check();
      await dialog(ann).getByLabel('Date and time').fill('2100-01-01T12:00');
    }],
    'Delete…': ['Delete'],
    'Branches…': ['Create branch'],
    'New': ['Create', async () => {
      await dialog(ann).getByRole('radio', { name: 'Note' }).check();
      await field(ann, 'Title').fill('Blini');
    }],
    'New group': ['Create', () => field(ann, 'Name').first().fill('Cooks'), '/app/groups'],
    'New paste': ['Create', () => field(ann, 'Text').fill('flour'), '/app/pastes'],
    'Suggest a change…': ['Send suggestion', () => field(ann, 'Text').fill('flour and eggs'), `/app/item/${theirs}`],
  };
  const focus = {};
  for (const [name, [verb, fill, path]] of Object.entries(dialogs)) {
    if (path) await ann.goto(new URL(path, ann.url()).href);
    await ann.getByRole('button', { name, exact: true }).click();
    await dialog(ann).waitFor();
    await fill?.();
    const signInAgain = await expire(ann);
    await button(ann, verb).click();
    await button(ann, 'Sign in again').waitFor();
    await signInAgain();
    await button(ann, 'Sign in again').waitFor({ state: 'detached' });
    focus[name] = await whereFocus(ann);
    await ann.keyboard.press('Escape');
    if (fill) await discard(ann);
    await dialog(ann).waitFor({ state: 'detached' });
  }
  expect(focus, { 'Edit…': 'Title', 'Share…': 'People and groups', 'Expiry…': 'On a date', 'Delete…': 'Cancel',
    'Branches…': 'New branch', 'New': 'Title', 'New group': 'Name', 'New paste': 'Title', 'Suggest a change…': 'Title' },
  'what has focus in the dialogs');
  faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 401/.test(fault)));
  await ann.context().close();
}
