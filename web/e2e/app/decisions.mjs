// Decisions about the text of a note that somebody else has made or overtaken meanwhile.
import { dialog, expect, says } from './fixture.mjs';
import { broken, makeNote, noteOf, saveText } from './notes.mjs';

const publish = 'mutation ($in: PublishRevisionInput!) { publishRevision(input: $in) { userErrors { message } } }';

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
