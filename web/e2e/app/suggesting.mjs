// Suggesting a change of a text that is not what it was when the author began.
import { dialog, expect, says } from './fixture.mjs';
import { button, field, makeNote, noteOf, saveText } from './notes.mjs';

const group = (page) => dialog(page).getByRole('group', { name: 'The text has changed' });
const open = (page) => noteOf(page).getByRole('button', { name: 'Suggest a change…' }).click();
const refused = (page) => group(page).and(page.locator(':focus')).waitFor();

async function asAnn(api, mutation, input) {
  const type = mutation[0].toUpperCase() + mutation.slice(1);
  const query = `mutation ($in: ${type}Input!) { ${mutation}(input: $in) { userErrors { message } } }`;
  const { userErrors } = (await api('Ann', query, { in: input }))[mutation];
  expect(userErrors, [], `faults of ${mutation}`);
}

const show = (api, contentId, branch) => asAnn(api, 'setCurrentBranch', { contentId, branch, working: false });

async function suggestionsFor(api, id) {
  const { nodes } = (await api('Ann', `query ($id: ID!) { content(id: $id) { suggestions(first: 20) {
    nodes { branch title body note baseRevision } } } }`, { id })).content.suggestions;
  return nodes;
}

// overtakenSuggestion: a suggestion is not sent over a text that its author has not seen. The dialog shows that text next to the
// author's, which can be sent then.
export async function overtakenSuggestion({ api, openAs }) {
  const id = await makeNote(api, 'Compote', { body: 'one\ntwo\nthree' });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  await open(cleo);
  await field(cleo, 'Text').fill('one\n2\nthree');
  await field(cleo, 'Note to the editors').fill('A digit.');
  await saveText(api, 'Ann', id, { title: 'Compote', body: 'one\ntwo\nthree\nfour' });
  await button(cleo, 'Send suggestion').click();
  await says(cleo, 'Not sent: the text has changed meanwhile.');
  await refused(cleo);
  await group(cleo).getByText('Ann Archer has published another text since you started').waitFor();
  expect(await group(cleo).locator('del').allTextContents(), ['two', 'four'], 'what the suggestion would remove');
  await group(cleo).getByRole('combobox', { name: 'Compare' }).selectOption({ label: 'Their changes' });
  expect(await group(cleo).locator('ins').allTextContents(), ['four'], 'what was published meanwhile');
  expect(await suggestionsFor(api, id), [], 'suggestions before their author has seen the text');
  // Another one that the author has not seen either.
  await saveText(api, 'Ann', id, { title: 'Compote', body: 'one\ntwo\nthree\nfour\nfive' });
  await button(cleo, 'Send anyway').click();
  await says(cleo, 'Not sent: the text has changed meanwhile.');
  await group(cleo).locator('ins').getByText('five').waitFor();
  expect(await suggestionsFor(api, id), [], 'suggestions over the second text');
  await field(cleo, 'Text').fill('one\n2\nthree\nfour\nfive');
  await button(cleo, 'Send anyway').click();
  await says(cleo, 'Suggestion sent.');
  expect(await suggestionsFor(api, id), [{ branch: 1, title: 'Compote', body: 'one\n2\nthree\nfour\nfive', note: 'A digit.',
    baseRevision: 2 }], 'the merged suggestion');

  // Without knowing the text that is shown, nothing is sent. What nobody has typed into follows it.
  await cleo.reload();
  await open(cleo);
  await field(cleo, 'Title').fill('Stewed fruit');
  await saveText(api, 'Ann', id, { title: 'Compote', body: 'six' });
  let down = true;
  await cleo.route('**/graphql', (route) => {
    if (!down || route.request().postDataJSON().operationName !== 'NoteText') return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: '{"errors":[{"message":"down","extensions":{"code":"UNAVAILABLE"}}]}' });
  });
  await button(cleo, 'Send suggestion').click();
  await dialog(cleo).getByText('The service is temporarily unavailable.').waitFor();
  down = false;
  await button(cleo, 'Send suggestion').click();
  await refused(cleo);
  expect([await field(cleo, 'Title').inputValue(), await field(cleo, 'Text').inputValue()], ['Stewed fruit', 'six'], 'the form');
  await button(cleo, 'Send anyway').click();
  await says(cleo, 'Suggestion sent.');
  expect((await suggestionsFor(api, id))[0], { branch: 1, title: 'Stewed fruit', body: 'six', note: null, baseRevision: 3 },
    'the suggestion of a title');
  await cleo.context().close();
}

// suggestionForAnotherBranch: when another branch becomes current, the suggestion is for the text that is shown now.
export async function suggestionForAnotherBranch({ api, openAs }) {
  const id = await makeNote(api, 'Chutney', { body: 'mango' });
  // The texts of both branches have the same number.
  await asAnn(api, 'createBranch', { contentId: id });
  await saveText(api, 'Ann', id, { branch: 2, title: 'Chutney', body: 'mango\nginger' });
  const cleo = await openAs('Cleo', { path: `/app/item/${id}` });
  await open(cleo);
  await field(cleo, 'Text').fill('mango\nlime');
  await show(api, id, 2);
  await button(cleo, 'Send suggestion').click();
  await says(cleo, 'Not sent: another text is shown now.');
  await refused(cleo);
  await group(cleo).getByText('Another text is shown now.').waitFor();
  expect([await group(cleo).locator('del').allTextContents(), await field(cleo, 'Text').inputValue()],
    [['ginger'], 'mango\nlime'], 'the text that is shown, and what was typed');
  await cleo.evaluate(() => (navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }));
  await group(cleo).getByRole('button', { name: 'Copy text' }).click();
  await group(cleo).getByText('Copied.').waitFor();
  expect(await cleo.evaluate(() => copied), 'Chutney\n\nmango\nlime', 'what was copied');
  await cleo.getByRole('dialog', { name: 'Suggest a change: branch 2' }).getByRole('button', { name: 'Send anyway' }).click();
  await says(cleo, 'Suggestion sent.');
  expect(await suggestionsFor(api, id), [{ branch: 2, title: 'Chutney', body: 'mango\nlime', note: null, baseRevision: 0 }],
    'the suggestion for the branch that is current now');

  // What was typed stays when the item was withdrawn, until it is discarded.
  await noteOf(cleo).getByText('ginger').waitFor();
  await open(cleo);
  await field(cleo, 'Text').fill('mango\nmint');
  await asAnn(api, 'setContentMembers', { contentId: id, members: [{ principalId: 'u:demo:cleo', role: null }] });
  await button(cleo, 'Send suggestion').click();
  await dialog(cleo).getByText('This item was deleted, or you no longer have access to it. Copy your text before you leave.').waitFor();
  await cleo.evaluate(() => (navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }));
  await button(cleo, 'Copy text').click();
  await dialog(cleo).getByText('Copied.').waitFor();
  expect(await cleo.evaluate(() => copied), 'Chutney\n\nmango\nmint', 'what was copied of an item that is gone');
  expect(await dialog(cleo).getByRole('button', { name: /^Send/ }).count(), 0, 'buttons that send');
  await button(cleo, 'Close').last().click();
  await cleo.getByRole('dialog', { name: 'Discard your changes?' }).getByRole('button', { name: 'Discard' }).click();
  await dialog(cleo).waitFor({ state: 'detached' });
  await cleo.context().close();
}

// suggestionsOfBranches: a suggestion for a branch that visitors do not see says so to editors, and compares it with the text of that
// branch. Its author, who may not see that text, sees no comparison.
export async function suggestionsOfBranches({ api, openAs }) {
  const id = await makeNote(api, 'Relish', { body: 'onion' });
  const path = `/app/item/${id}`;
  const query = 'mutation ($in: SuggestRevisionInput!) { suggestRevision(input: $in) { userErrors { message } } }';
  for (const body of ['onion\ndill', 'onion\nsugar']) {
    const { suggestRevision } = await api('Cleo', query, { in: { contentId: id, title: 'Relish', body } });
    expect(suggestRevision.userErrors, [], `faults of suggesting ${body}`);
  }
  await asAnn(api, 'createBranch', { contentId: id, copyFrom: 1 });
  await saveText(api, 'Ann', id, { branch: 2, title: 'Relish', body: 'tomato' });
  const bodies = async () => {
    const { one, two } = (await api('Ann', `query ($id: ID!) { content(id: $id) {
      one: revision(branch: 1) { body } two: revision(branch: 2) { body } } }`, { id })).content;
    return [one.body, two.body];
  };
  const [ann, cleo] = await Promise.all(['Ann', 'Cleo'].map((name) => openAs(name, { path })));
  const list = (page) => noteOf(page).getByRole('button', { name: /^Suggestions/ }).click();
  const card = (page, body) => dialog(page).getByRole('listitem').filter({ has: page.locator('ins').getByText(body) });
  await list(ann);
  await card(ann, 'dill').getByRole('columnheader', { name: 'Current text' }).waitFor();
  expect(await dialog(ann).getByText('Branch 1').count(), 0, 'branches that are named while visitors see them');

  // The branch is another one by the time the editor accepts: nothing is done before that is shown.
  await show(api, id, 2);
  await card(ann, 'dill').getByRole('button', { name: 'Accept', exact: true }).click();
  await says(ann, 'Not accepted: visitors see branch 2 now.');
  await card(ann, 'dill').getByText('Branch 1. Visitors see branch 2.').waitFor();
  await card(ann, 'dill').getByRole('columnheader', { name: 'Text of branch 1' }).waitFor();
  expect(await bodies(), ['onion', 'tomato'], 'the texts before the editor has seen which one it is');
  await card(ann, 'dill').getByRole('button', { name: 'Accept', exact: true }).click();
  await says(ann, 'Accepted in branch 1. Visitors do not see it.');
  expect(await bodies(), ['onion\ndill', 'tomato'], 'the texts after accepting');

  await cleo.reload();
  await noteOf(cleo).getByText('tomato').waitFor();
  await list(cleo);
  await dialog(cleo).getByText('This was suggested for a text that is no longer shown.').nth(1).waitFor();
  expect([await dialog(cleo).getByText('The text has changed').count(), await dialog(cleo).getByRole('table').count(),
    await dialog(cleo).getByText('branch').count()], [0, 0, 0], 'what is said of a text that its author may not see');
  await dialog(cleo).getByRole('button', { name: 'Withdraw' }).waitFor();
  // The other one is for the text that visitors see again.
  await show(api, id, 1);
  await ann.reload();
  await list(ann);
  await card(ann, 'sugar').getByText('The text has changed since this was suggested.').waitFor();
  expect(await dialog(ann).getByText('Branch 1').count(), 0, 'branches that are named when visitors see them again');
  await card(ann, 'sugar').getByRole('button', { name: 'Accept anyway' }).click();
  await says(ann, 'Accepted and published.');
  await Promise.all([ann, cleo].map((page) => page.context().close()));
}
