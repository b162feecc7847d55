// Searching in a library: words, filters, addresses, progress, faults, and changes by others.
import { confirm, dialog, entriesOf, entry, expect, fits, item, live, openEntry, says, scrollTo } from './fixture.mjs';
import { order } from './titles.mjs';

const largest = 'g:demo:standard-library';
const field = (page) => page.getByRole('searchbox', { name: 'Search in this library' });
const chip = (page, name) => page.getByRole('group', { name: 'Filters' }).getByRole('button', { name, exact: true });
// unfold shows all filters.
const unfold = (page) => page.getByRole('button', { name: 'Filters', exact: true }).click();
const progress = (page) => page.getByRole('region', { name: 'Search results' }).getByRole('progressbar');

// isSearch reports whether a request reads a page of a search.
const isSearch = (request) => Boolean(request.postDataJSON()?.variables?.filter);

// matching returns the ids that the gateway finds, in the order of the page.
async function matching(api, viewer, filter, direction = 'DESC') {
  const query = `query ($id: ID!, $after: Cursor, $direction: OrderDirection!, $filter: LibraryFilter) {
    principal(id: $id) { library(first: 100, after: $after, orderBy: {field: LAST_MODIFIED, direction: $direction}, filter: $filter) {
      nodes { id title } pageInfo { hasNextPage endCursor } } } }`;
  const ids = [];
  let after = null;
  do {
    const { library } = (await api(viewer, query, { id: largest, after, direction, filter })).principal;
    ids.push(...library.nodes.map((node) => node.id));
    after = library.pageInfo.hasNextPage ? library.pageInfo.endCursor : null;
  } while (after);
  return ids;
}

const found = (page, number) => page.getByText(`${number} ${number === 1 ? 'match' : 'matches'}.`, { exact: true }).waitFor();

// searching narrows a library by words and filters, reloads the address, and clears it.
export async function searching({ api, openAs }) {
  const page = await openAs(null, { path: `/app/library/${largest}` });
  await page.locator('[data-entry]').first().waitFor();
  const words = await matching(api, 'Anonymous', { text: 'HTTP' });
  if (words.length < 2 || words.length > 29) throw new Error(`${words.length} items match: too few or too many for this scene`);
  await field(page).fill('HTTP');
  await found(page, words.length);
  expect(await entriesOf(page), words, 'what the words find');
  expect(new URL(page.url()).searchParams.get('q'), 'HTTP', 'the words in the address');

  const notes = await matching(api, 'Anonymous', { text: 'HTTP', kinds: ['NOTE'] });
  await unfold(page);
  await chip(page, 'Notes').click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get('kind') === 'note');
  await (notes.length > 0 ? found(page, notes.length) : page.getByRole('heading', { name: 'No matches' }).waitFor());
  expect(await entriesOf(page), notes, 'the notes among them');
  expect(await chip(page, 'Notes').getAttribute('aria-pressed'), 'true', 'whether the filter is on');
  await chip(page, 'Notes').click();
  await found(page, words.length);

  // The address leads back to the search, also in the other order and with an item open.
  await order(page).selectOption({ label: 'Oldest first' });
  const oldest = words.toReversed();
  await page.waitForFunction((first) => document.querySelector('[data-entry]')?.dataset.entry === first, oldest[0]);
  await page.reload();
  await found(page, words.length);
  expect(await entriesOf(page), oldest, 'the same search after the page was loaded again');
  expect(await field(page).inputValue(), 'HTTP', 'the words in the field');
  const title = await page.locator('[data-entry] h3').first().textContent();
  await openEntry(page, title);
  await page.keyboard.press('Escape');
  await found(page, words.length);

  // Enter searches at once, and adds nothing to the history when nothing has changed.
  const steps = await page.evaluate(() => history.length);
  await field(page).press('Enter');
  await found(page, words.length);
  expect(await page.evaluate(() => history.length), steps, 'the history after the same search again');

  await field(page).fill('one two three four five six seven eight nine ten eleven');
  await page.getByRole('heading', { name: 'The search is too long' }).waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count(), 0, 'Try again buttons for a search that cannot succeed');

  // Buttons that go away leave the focus in the search.
  await field(page).fill('nosuchword');
  await page.getByRole('heading', { name: 'No matches' }).waitFor();
  // The same words typed again at once search again.
  await page.getByRole('button', { name: 'Clear', exact: true }).press('Enter');
  await field(page).fill('nosuchword');
  await page.waitForFunction(() => new URLSearchParams(location.search).get('q') === 'nosuchword');
  await page.getByRole('heading', { name: 'No matches' }).waitFor();
  await page.getByRole('button', { name: 'Clear', exact: true }).press('Enter');
  await field(page).and(page.locator(':focus')).waitFor();
  await field(page).press('Enter');
  expect(new URL(page.url()).search, '?order=oldest', 'the address after Enter in an empty field');
  await field(page).fill('nosuchword');
  await page.getByRole('heading', { name: 'No matches' }).waitFor();
  await page.getByRole('button', { name: 'Clear the search' }).press('Enter');
  await field(page).and(page.locator(':focus')).waitFor();
  await page.getByRole('heading', { name: 'No matches' }).waitFor({ state: 'detached' });
  expect(await field(page).inputValue(), '', 'the field after the search was cleared');
  expect(new URL(page.url()).searchParams.get('q'), null, 'the address after the search was cleared');

  // More than one page is read while the reader scrolls.
  const links = await matching(api, 'Anonymous', { kinds: ['LINK'] }, 'ASC');
  if (!(await chip(page, 'Links').isVisible())) await unfold(page);
  await chip(page, 'Links').click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get('kind') === 'link');
  await page.locator('[data-entry]').first().waitFor();
  await scrollTo(page, 'bottom');
  await found(page, links.length);
  expect(await entriesOf(page), links, 'all links');
  await page.context().close();

  // A filter that is only in the address can be switched off.
  const hidden = await openAs(null, { path: `/app/library/${largest}?visible=private` });
  await hidden.getByRole('heading', { name: 'No matches' }).waitFor();
  await hidden.getByRole('group', { name: 'Filters' }).getByRole('button', { pressed: true }).click();
  await hidden.getByRole('heading', { name: 'No matches' }).waitFor({ state: 'detached' });
  await field(hidden).and(hidden.locator(':focus')).waitFor();
  await hidden.context().close();

  const phone = await openAs(null, { path: `/app/library/${largest}?q=http`, viewport: { width: 360, height: 640 } });
  await found(phone, words.length);
  await fits(phone);
  await phone.context().close();
}

// searchProgress shows the progress of a search in a large library, stops it, and continues it.
export async function searchProgress({ openAs }) {
  const page = await openAs(null, { path: `/app/library/${largest}` });
  await page.locator('[data-entry]').first().waitFor();
  // The demo data has no library that needs several requests, so answers are cut short here.
  let answers = 0;
  const held = [];
  let hold = true;
  await page.route('**/graphql', async (route) => {
    if (!isSearch(route.request())) return route.fallback();
    answers += 1;
    if (answers > 1 && hold) await new Promise((go) => held.push(go));
    if (answers > 2) return route.fallback();
    const pageInfo = { __typename: 'PageInfo', hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: `cut-${answers}` };
    const library = { __typename: 'LibraryConnection', edges: [], pageInfo };
    const data = { principal: { __typename: 'Group', id: largest, library } };
    return route.fulfill({ contentType: 'application/graphql-response+json', body: JSON.stringify({ data }) });
  });
  await field(page).fill('http');
  await page.getByText('Searching... No matches so far.').waitFor();
  await progress(page).waitFor();
  await page.getByRole('button', { name: 'Stop' }).press('Enter');
  await page.getByRole('button', { name: 'Continue the search' }).and(page.locator(':focus')).waitFor();
  await progress(page).waitFor({ state: 'detached' });
  hold = false;
  held.forEach((go) => go());

  // After a failure the results stay, and the search continues from there.
  let broken = true;
  await page.route('**/graphql', (route) => {
    if (!broken || !isSearch(route.request())) return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: JSON.stringify({ errors: [{ message: 'down', extensions: { code: 'UNAVAILABLE' } }] }) });
  });
  await field(page).fill('json');
  await page.getByRole('heading', { name: 'The search was interrupted' }).waitFor();
  broken = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('[data-entry]').first().waitFor();
  await page.context().close();
}

// searchAgain repeats a search: a failure does not bring former results back, and results that are
// up to date are not reported as outdated.
export async function searchAgain({ api, openAs }) {
  const create = async (title) => {
    const { createContent } = await api('Ann',
      'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }', {
      input: { kind: 'NOTE', title, visibility: 'PUBLIC' },
    });
    expect(createContent.userErrors, [], 'the errors of a new item');
  };
  await create('The first quokka');
  const ann = await openAs('Ann');
  // The last change before the search is reported to the search too. A gateway that finds changes
  // late may do so.
  let last;
  let repeated = 0;
  await ann.routeWebSocket('**/graphql', (socket) => {
    const server = socket.connectToServer();
    const following = new Set();
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      if (message.type === 'subscribe') following.add(message.id);
      server.send(text);
      if (message.type !== 'subscribe' || !last) return;
      socket.send(JSON.stringify({ ...last, id: message.id }));
      repeated += 1;
    });
    server.onMessage((text) => {
      const message = JSON.parse(text);
      if (message.type === 'next' && following.has(message.id)) last = message;
      socket.send(text);
    });
  });
  await ann.reload();
  await live(ann);
  await create('The newest quoll');
  await entry(ann, 'The newest quoll').waitFor();
  // The newest entry is read when the search begins, and twice after the subscription began.
  let reads = 0;
  const compared = (response) => Boolean(response.request().postData()?.includes('LibraryNewest')) && ++reads === 3;
  await Promise.all([ann.waitForResponse(compared), field(ann).fill('quokka')]);
  await found(ann, 1);
  await live(ann);
  if (!repeated) throw new Error('no change was reported again');
  expect(await ann.getByText('The library has changed').count(), 0, 'notices of changes that did not happen');

  let broken = true;
  await ann.route('**/graphql', (route) => {
    if (!broken || !isSearch(route.request())) return route.fallback();
    return route.fulfill({ contentType: 'application/graphql-response+json',
      body: JSON.stringify({ errors: [{ message: 'down', extensions: { code: 'UNAVAILABLE' } }] }) });
  });
  await create('The second quokka');
  await ann.getByRole('button', { name: 'Search again' }).press('Enter');
  await ann.getByRole('heading', { name: 'The search was interrupted' }).waitFor();
  broken = false;
  await ann.getByRole('button', { name: 'Try again' }).click();
  await found(ann, 2);
  await ann.context().close();
}

// searchLive: a search finds what the viewer has created, and reports that another user has changed
// it.
export async function searchLive({ api, openAs }) {
  const title = 'Search for the zebra crossing';
  const { createContent } = await api('Ann',
    'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }', {
    input: { kind: 'NOTE', title, visibility: 'PUBLIC', members: [{ principalId: 'u:demo:cleo', role: 'EDITOR' }] },
  });
  const { id } = createContent.content;
  const ann = await openAs('Ann');
  await live(ann);
  await field(ann).fill('zebra');
  await found(ann, 1);
  await entry(ann, title).waitFor();
  await unfold(ann);
  await chip(ann, 'Created by me').click();
  await ann.waitForFunction(() => new URLSearchParams(location.search).get('by') === 'u:demo:ann');
  await found(ann, 1);
  await live(ann);

  const cleo = await openAs('Cleo');
  await entry(cleo, title).waitFor();
  await live(cleo);
  const changed = 'Search for the okapi crossing';
  await api('Cleo', 'mutation ($input: UpdateContentInput!) { updateContent(input: $input) { userErrors { message } } }',
    { input: { id, title: changed } });
  await entry(cleo, changed).waitFor();
  await ann.getByText('The library has changed since this search.').waitFor();
  await ann.getByRole('button', { name: 'Search again' }).click();
  await ann.getByRole('heading', { name: 'No matches' }).waitFor();
  await field(ann).fill('okapi cross');
  await found(ann, 1);
  await live(ann);

  // A deleted item leaves the results at once.
  await api('Ann', 'mutation ($input: DeleteContentInput!) { deleteContent(input: $input) { userErrors { message } } }', { input: { id } });
  await entry(ann, changed).waitFor({ state: 'detached' });
  await Promise.all([ann.context().close(), cleo.context().close()]);
}

// searchRows: the rows of a search follow changes by the reader, and of members. That the library has changed is said above them.
export async function searchRows({ api, openAs }) {
  const share = (id, principalId) => api('Ann',
    'mutation ($input: ShareContentInput!) { shareContent(input: $input) { userErrors { message } } }',
    { input: { contentId: id, principalIds: [principalId] } });
  const ids = [];
  for (const title of ['Lemur one', 'Lemur two']) {
    const { createContent } = await api('Ann',
      'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }',
      { input: { kind: 'NOTE', title, visibility: 'PUBLIC', members: [{ principalId: 'u:demo:ben', role: 'VIEWER' }] } });
    ids.push(createContent.content.id);
  }
  const ann = await openAs('Ann');
  await live(ann);
  await field(ann).fill('lemur');
  await found(ann, 2);
  const row = entry(ann, 'Lemur one');
  await row.getByText('shared with Ben Baker').waitFor();
  await row.getByText('Public').waitFor();
  await share(ids[0], 'u:demo:eli');
  await ann.evaluate(() => dispatchEvent(new Event('focus')));
  await row.getByText('shared with 2').waitFor();
  expect(await ann.getByText('The library has changed').count(), 0, 'notices of a change that is none of the library');

  await openEntry(ann, 'Lemur one');
  await item(ann).getByRole('button', { name: 'Share…' }).click();
  await dialog(ann).getByRole('radio', { name: 'Private' }).check();
  await dialog(ann).getByRole('button', { name: 'Change' }).click();
  await says(ann, 'Changed the visibility.');
  await row.getByText('Private').waitFor();
  expect(await row.getByText('Public').count(), 0, 'former visibilities');
  const again = ann.getByRole('button', { name: 'Search again' });
  await again.waitFor();
  const top = (place) => place.evaluate((element) => element.getBoundingClientRect().top);
  expect((await top(again)) < (await top(ann.locator('[data-entry]').first())), true, 'whether the hint is above the results');

  await item(ann).getByRole('button', { name: 'Delete…' }).click();
  await confirm(ann, 'Delete for everyone?', 'Delete');
  await row.waitFor({ state: 'detached' });
  await found(ann, 1);
  await item(ann).waitFor({ state: 'detached' });
  await ann.waitForFunction(() => document.activeElement.id === 'main' && !history.state?.opened, null, { polling: 50 });
  await again.press('Enter');
  await again.waitFor({ state: 'detached' });
  await field(ann).and(ann.locator(':focus')).waitFor();
  await found(ann, 1);
  expect(await entriesOf(ann), [ids[1]], 'what is left');

  // Without live updates, too.
  await ann.routeWebSocket('**/graphql', () => {});
  await ann.reload();
  await openEntry(ann, 'Lemur two');
  await item(ann).getByRole('button', { name: 'Delete…' }).click();
  await confirm(ann, 'Delete for everyone?', 'Delete');
  await ann.getByRole('heading', { name: 'No matches' }).waitFor();
  await ann.context().close();
}

// findItems: one search finds items in the viewer's own library and in those of its groups, also of
// those that it belongs to through another group, beside people and groups, and nothing that the
// viewer cannot see. Two viewers find different items.
export async function findItems({ api, openAs }) {
  const make = async (name, title, groups = []) => {
    const input = { kind: 'NOTE', title, visibility: 'PRIVATE', members: groups.map((principalId) => ({ principalId, role: 'VIEWER' })) };
    const { createContent } = await api(name,
      'mutation ($input: CreateContentInput!) { createContent(input: $input) { content { id } userErrors { message } } }', { input });
    expect(createContent.userErrors, [], 'errors of a new item');
  };
  await make('Ann', 'Cleo Carter, for everyone', ['g:demo:library-team']);
  await make('Ann', 'Cleo Carter, for Ann');
  await make('Ben', 'Cleo Carter, for Ben');
  const results = (page) => page.getByRole('region', { name: 'Items' });
  const titles = (page) => results(page).locator('li > a').allTextContents();
  const [ann, ben] = await Promise.all([openAs('Ann'), openAs('Ben')]);
  for (const [page, own] of [[ann, 'Cleo Carter, for Ann'], [ben, 'Cleo Carter, for Ben']]) {
    await page.getByRole('link', { name: 'Search', exact: true }).click();
    await page.keyboard.press('/');
    await page.keyboard.type('cleo cart');
    await results(page).getByText(/^2 matches( so far)?\. In your library and those of (your \d+|\d+ of your) groups/).waitFor();
    expect((await titles(page)).toSorted(), [own, 'Cleo Carter, for everyone'].toSorted(), 'the items that were found');
    await page.getByRole('region', { name: 'People and groups' }).getByRole('link', { name: 'Cleo Carter' }).waitFor();
  }
  // Ben is in this group only through the library team.
  await make('Ann', 'Cleo Carter, for encoders', ['g:demo:encoding']);
  const through = (await api('Ben', '{ user(id: "u:demo:ben") { groups(first: 100) { nodes { id } } } }')).user.groups.nodes;
  expect(through.map(({ id }) => id).includes('g:demo:encoding'), false, 'whether Ben is in the group himself');
  await ann.getByRole('searchbox').fill('no such words');
  await results(ann).getByText('Words are found in titles and descriptions, not in the texts of notes.').waitFor();
  await ben.getByRole('searchbox').fill('cleo cart enc');
  await results(ben).getByRole('link', { name: 'Cleo Carter, for encoders' }).waitFor();
  await ben.getByRole('searchbox').fill('cleo cart');
  await results(ben).getByText('3 matches').waitFor();

  const { displayName } = (await api('Ben', '{ group(id: "g:demo:library-team") { displayName } }')).group;
  await results(ben).getByText(`in ${displayName}`).waitFor();
  await results(ben).getByRole('link', { name: 'Cleo Carter, for everyone' }).click();
  await ben.getByRole('heading', { level: 2, name: 'Cleo Carter, for everyone' }).waitFor();
  expect(decodeURIComponent(new URL(ben.url()).pathname), '/app/library/g:demo:library-team', 'the library in which it is opened');
  await Promise.all([ann.context().close(), ben.context().close()]);
}
