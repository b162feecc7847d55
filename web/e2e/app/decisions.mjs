// Decisions about the text of a note that somebody else has made or overtaken meanwhile.
import { dialog, expect, live, openEntry, says } from './fixture.mjs';
import { broken, button, field, makeNote, noteOf, openEditor, savedAsDraft, saveText } from './notes.mjs';

const publish = 'mutation ($in: PublishRevisionInput!) { publishRevision(input: $in) { userErrors { message } } }';
const suggest = 'mutation ($in: SuggestRevisionInput!) { suggestRevision(input: $in) { suggestion { id } userErrors { message } } }';
const decide = 'mutation ($in: DecideSuggestionInput!) { decideSuggestion(input: $in) { userErrors { message } } }';

// setAsCleo makes a version current as Cleo, without the page, and currentOf returns which one is.
async function setAsCleo(api, contentId, version) {
  const { publishRevision } = await api('Cleo', publish, { in: { contentId, branch: 1, number: version - 1 } });
  expect(publishRevision.userErrors, [], `faults of making version ${version} current`);
}
const currentOf = async (api, id) =>
  (await api('Ann', 'query ($id: ID!) { content(id: $id) { revision { number } } }', { id })).content.revision.number + 1;

// overtakenVersion: an earlier version does not become current if another one has become current since the list was read. The list
// shows that one, and the editor decides again.
export async function overtakenVersion({ api, openAs }) {
  const id = await makeNote(api, 'Tart', { role: 'EDITOR', body: 'crust 1' });
  for (let n = 2; n < 32; n += 1) await saveText(api, 'Ann', id, { title: 'Tart', body: `crust ${n}` });
  const ann = await openAs('Ann', { path: `/app/item/${id}` });
  await noteOf(ann).getByText('crust 31').waitFor();
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  const list = dialog(ann).getByRole('list', { name: 'Versions' });
  const line = (version) => list.getByRole('listitem', { name: `Version ${version}`, exact: true });
  const press = (version) => line(version).getByRole('button', { name: 'Set as current' }).click();
  const refused = async (version, by, now) => {
    await press(version);
    await says(ann, `Version ${now} by ${by} has become current meanwhile. Nothing was changed.`);
    await list.and(ann.locator(':focus')).waitFor();
    expect(await currentOf(api, id), now, `what is current after version ${version} was refused`);
  };
  const isSet = async (version) => {
    await press(version);
    await says(ann, `Version ${version} is current now.`);
    await line(version).getByText('Current', { exact: true }).waitFor();
    await line(version).getByRole('button', { name: 'Show changes' }).and(ann.locator(':focus')).waitFor();
    expect([await currentOf(api, id), await list.getByText('Current', { exact: true }).count()], [version, 1], 'what is current');
  };

  await line(31).getByText('Current', { exact: true }).waitFor();
  await saveText(api, 'Cleo', id, { title: 'Tart', body: 'crumble' });
  await refused(2, 'Cleo Carter', 32);
  await line(32).getByText('Current', { exact: true }).waitFor();
  expect(await list.getByText('Current', { exact: true }).count(), 1, 'versions that are shown as current');
  await dialog(ann).locator('ins').getByText('crumble').waitFor();
  await isSet(3);
  // What the reader has made current is what others must not have replaced either.
  await setAsCleo(api, id, 32);
  await refused(4, 'Cleo Carter', 32);
  await line(32).getByText('Current', { exact: true }).waitFor();
  await line(3).getByRole('button', { name: 'Set as current' }).waitFor();
  await isSet(4);

  // What is current is not on the page that was read.
  await ann.reload();
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await line(4).getByText('Current', { exact: true }).waitFor();
  await setAsCleo(api, id, 1);
  await refused(5, 'Ann Archer', 1);
  await line(4).getByRole('button', { name: 'Set as current' }).waitFor();
  expect(await list.getByText('Current', { exact: true }).count(), 0, 'versions of the first page that are shown as current');
  await saveText(api, 'Cleo', id, { title: 'Tart', body: 'crumble again' });
  await refused(5, 'Cleo Carter', 33);
  for (const version of [1, 20, 1]) {
    await setAsCleo(api, id, version);
    await refused(6, 'Ann Archer', version);
  }
  await isSet(6);

  // Without knowing what is current, nothing is changed.
  let down = true;
  await broken(ann, 'Revision', () => down);
  await press(7);
  await dialog(ann).locator('.fault').getByText('The service is temporarily unavailable.').waitFor();
  expect(await currentOf(api, id), 6, 'what is current after a failure');
  down = false;
  await isSet(7);
  await ann.context().close();
}

// decidedSuggestions: a suggestion that its author has withdrawn, or another editor has decided on, says so, and leaves the list of
// open ones, or shows its new state in the list of all.
export async function decidedSuggestions({ api, openAs }) {
  const id = await makeNote(api, 'Bisque', { body: 'leek' });
  const make = async (name, body) => {
    const { suggestRevision } = await api(name, suggest, { in: { contentId: id, title: 'Bisque', body } });
    expect(suggestRevision.userErrors, [], `faults of suggesting ${body}`);
    return suggestRevision.suggestion.id;
  };
  const decideAs = async (name, suggestion, decision) => {
    const { decideSuggestion } = await api(name, decide, { in: { id: suggestion, decision, force: true } });
    expect(decideSuggestion.userErrors, [], `faults of ${decision} as ${name}`);
  };
  const made = [];
  for (const body of ['carrot', 'celery', 'potato', 'onion']) made.push(await make('Cleo', body));
  const [ann, cleo] = await Promise.all(['Ann', 'Cleo'].map((name) => openAs(name, { path: `/app/item/${id}` })));
  const open = (page) => noteOf(page).getByRole('button', { name: /^Suggestions/ }).click();
  const card = (page, body) => dialog(page).getByRole('listitem').filter({ has: page.locator('ins').getByText(body) });
  const press = (page, body, name) => card(page, body).getByRole('button', { name }).click();
  await Promise.all([ann, cleo].map(open));
  await Promise.all([ann, cleo].map((page) => card(page, 'onion').waitFor()));

  await decideAs('Cleo', made[0], 'WITHDRAW');
  await press(ann, 'carrot', 'Accept');
  await says(ann, 'Cleo Carter has withdrawn this suggestion.');
  await card(ann, 'carrot').waitFor({ state: 'detached' });
  await decideAs('Cleo', made[1], 'WITHDRAW');
  await press(ann, 'celery', 'Reject');
  await says(ann, 'Cleo Carter has withdrawn this suggestion.');
  await card(ann, 'celery').waitFor({ state: 'detached' });
  expect(await dialog(ann).locator('.fault').count(), 0, 'errors that are shown');

  // In the list of all, the entry shows its new state.
  await decideAs('Ann', made[2], 'REJECT');
  await press(cleo, 'potato', 'Withdraw');
  await says(cleo, 'Ann Archer has rejected this suggestion.');
  await card(cleo, 'potato').getByText('Rejected').waitFor();
  expect(await card(cleo, 'potato').getByRole('button').count(), 0, 'buttons of a suggestion that was decided');
  // The same editor in another window.
  await dialog(ann).getByRole('combobox', { name: 'Show' }).selectOption('');
  await card(ann, 'onion').waitFor();
  await decideAs('Ann', made[3], 'ACCEPT');
  await press(ann, 'onion', 'Reject');
  await says(ann, 'You have accepted this suggestion.');
  await dialog(ann).locator('.badge').getByText('Accepted').waitFor();
  await press(cleo, 'onion', 'Withdraw');
  await says(cleo, 'Ann Archer has accepted this suggestion.');
  await dialog(cleo).locator('.badge').getByText('Accepted').waitFor();
  await noteOf(ann).getByText('onion').waitFor({ state: 'attached' });
  expect(await dialog(cleo).locator('.fault').count(), 0, 'errors that are shown to the author');
  expect(await dialog(cleo).getByRole('button', { name: 'Withdraw' }).count(), 0, 'buttons of suggestions that were decided');
  await Promise.all([ann, cleo].map((page) => page.context().close()));
}

// historyReadAgain: an open history shows what others publish or make current. What the reader compares, and focus, stay.
export async function historyReadAgain({ api, openAs }) {
  const id = await makeNote(api, 'Flan', { role: 'EDITOR', body: 'milk 1' });
  const list = (page) => dialog(page).getByRole('list', { name: 'Versions' });
  const line = (page, version) => list(page).getByRole('listitem', { name: `Version ${version}`, exact: true });
  const isCurrent = (page, version) => line(page, version).getByText('Current', { exact: true }).waitFor();
  const changes = (page, version) => line(page, version).getByRole('button', { name: 'Show changes' });
  const compared = async (page) => {
    const choice = (name) => dialog(page).getByRole('combobox', { name, exact: true }).inputValue();
    return [await choice('Compare'), await choice('with')];
  };
  const ann = await openAs('Ann');
  await live(ann);
  await openEntry(ann, 'Flan');
  await noteOf(ann).getByRole('button', { name: 'History…' }).click();
  await isCurrent(ann, 1);
  await changes(ann, 1).focus();
  await saveText(api, 'Cleo', id, { title: 'Flan', body: 'milk 2' });
  await isCurrent(ann, 2);
  expect(await list(ann).getByText('Current', { exact: true }).count(), 1, 'versions that are shown as current');
  expect(await compared(ann), ['0', '0'], 'what is compared after another version was published');
  await changes(ann, 1).and(ann.locator(':focus')).waitFor();
  // What the reader has made current is not shown as current any more either.
  await line(ann, 1).getByRole('button', { name: 'Set as current' }).click();
  await isCurrent(ann, 1);
  await setAsCleo(api, id, 2);
  await isCurrent(ann, 2);
  expect(await list(ann).getByText('Current', { exact: true }).count(), 1, 'versions that are shown as current now');
  await ann.context().close();

  // An item by itself is read again when the reader comes back. All versions that were shown still are.
  for (let n = 3; n < 33; n += 1) await saveText(api, 'Ann', id, { title: 'Flan', body: `milk ${n}` });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  const comeBack = () => cleo.evaluate(() => dispatchEvent(new Event('focus')));
  await noteOf(cleo).getByRole('button', { name: 'History…' }).click();
  await isCurrent(cleo, 32);
  await changes(cleo, 3).focus();
  await saveText(api, 'Ann', id, { title: 'Flan', body: 'milk 33' });
  await comeBack();
  await isCurrent(cleo, 33);
  await changes(cleo, 3).and(cleo.locator(':focus')).waitFor();
  await changes(cleo, 1).click();
  await saveText(api, 'Ann', id, { title: 'Flan', body: 'milk 34' });
  await comeBack();
  await isCurrent(cleo, 34);
  expect([await compared(cleo), await list(cleo).getByRole('listitem').count()], [['0', '0'], 34], 'what is shown afterwards');
  await changes(cleo, 1).and(cleo.locator(':focus')).waitFor();
  await cleo.context().close();
}

// overtakenBranch: a text is not published if its branch has become the current one, or is that no longer, since the editor said who
// sees it. The editor says so, and the author decides again.
export async function overtakenBranch({ api, openAs }) {
  const id = await makeNote(api, 'Gratin', { role: 'EDITOR', body: 'leek' });
  const asAnn = async (mutation, input) => {
    const [answer] = Object.values(await api('Ann', mutation, { in: { contentId: id, ...input } }));
    expect(answer.userErrors, [], `faults of ${mutation}`);
  };
  const show = (branch) => asAnn('mutation ($in: SetCurrentBranchInput!) { setCurrentBranch(input: $in) { userErrors { message } } }',
    { branch, working: false });
  const bodies = async () => {
    const { one, two } = (await api('Ann', `query ($id: ID!) { content(id: $id) {
      one: revision(branch: 1) { body } two: revision(branch: 2) { body } } }`, { id })).content;
    return [one.body, two.body];
  };
  await asAnn('mutation ($in: CreateBranchInput!) { createBranch(input: $in) { userErrors { message } } }', { copyFrom: 1 });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  const seen = dialog(cleo).getByText('Branch 1: everyone who can open the item sees what you publish.');
  const unseen = dialog(cleo).getByText('Visitors do not see branch 1.');
  await openEditor(cleo);
  await seen.waitFor();
  await field(cleo, 'Text').fill('chard');
  await show(2);
  await button(cleo, 'Publish').click();
  await says(cleo, 'Not published: visitors do not see branch 1 any more.');
  await unseen.and(cleo.locator(':focus')).waitFor();
  expect(await bodies(), ['leek', 'leek'], 'the texts before the author has seen who sees them');
  await show(1);
  await button(cleo, 'Publish').click();
  await says(cleo, 'Not published: visitors see branch 1 now.');
  await seen.and(cleo.locator(':focus')).waitFor();
  expect(await bodies(), ['leek', 'leek'], 'the texts that visitors would have seen');
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published.');
  expect(await bodies(), ['chard', 'leek'], 'the published text');

  // Without knowing who would see it, nothing is published.
  await openEditor(cleo);
  await field(cleo, 'Text').fill('fennel');
  await savedAsDraft(cleo);
  await show(2);
  let down = true;
  await broken(cleo, 'NoteText', () => down);
  await button(cleo, 'Publish').click();
  await dialog(cleo).getByText('Not published. The service is temporarily unavailable.').waitFor();
  expect(await bodies(), ['chard', 'leek'], 'the texts after a failure');
  down = false;
  await button(cleo, 'Publish').click();
  await unseen.and(cleo.locator(':focus')).waitFor();
  await button(cleo, 'Publish').click();
  await says(cleo, 'Published in branch 1.');
  expect(await bodies(), ['fennel', 'leek'], 'the text that visitors do not see');
  await cleo.context().close();
}
