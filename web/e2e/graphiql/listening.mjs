// Following a library in GraphiQL: changes from outside are shown as they happen, for the
// viewer in the menu, until the subscription is stopped.
import { expect, patience } from '../browser.mjs';
import { askAs, editorShows, openTab, paste, shownAs } from './page.mjs';

const library = 'g:demo:standard-library';
const item = 'c:demo:encoding-json';
const answer = '.graphiql-response';

// listening starts and ends a subscription, several times.
export async function listening(page, base) {
  const world = await outside(base);
  const sockets = watchSockets(page);
  await openTab(page, 'LibraryChanged');

  // As it stands it shows an event each time that it is run.
  await shownAs(page, 'Ben');
  // With the cursor, no change is missed that comes while the subscription begins.
  await page.waitForFunction(() => /after.*"[\w-]{20}/.test(document.querySelector('.graphiql-editor-tool .view-lines').textContent));
  // The page shows the last event. That may be one of another item, if it was changed shortly before.
  for (let runs = 0; runs < 2; runs += 1) {
    // The event may come before the click returns.
    const event = page
      .waitForEvent('websocket')
      .then((socket) => socket.waitForEvent('framereceived', ({ payload }) => payload.includes('Changed at')));
    await press(page, 'Execute');
    await begun(page);
    await event;
    await editorShows(page, answer, 'libraryChanged');
    await press(page, 'Stop');
    await over(page);
  }
  sockets.length = 0;

  // It starts from a cursor, so that the order of the subscription and the change does not
  // matter.
  await askAs(page, 'Cleo');
  await paste(page, '.graphiql-editor-tool', JSON.stringify({ after: await world.newest('Cleo') }));
  await press(page, 'Execute');
  await begun(page);
  await hears(page, world, 'Heard by Cleo.');
  await hears(page, world, 'Heard by Cleo again.');
  expect(sockets.map(({ as }) => as), ['u:demo:cleo'], 'the users of the sockets');

  // Choosing another viewer ends it; the next run is for the new viewer.
  await askAs(page, 'Ben');
  await editorShows(page, answer, 'Ended, because Ben is the viewer now');
  await ended(page, sockets[0]);
  await paste(page, '.graphiql-editor-tool', JSON.stringify({ after: await world.newest('Ben') }));
  await press(page, 'Execute');
  await begun(page);
  await hears(page, world, 'Heard by Ben.');
  expect(sockets.map(({ as }) => as), ['u:demo:cleo', 'u:demo:ben'], 'the users of the sockets');

  await press(page, 'Stop');
  await ended(page, sockets[1]);
  await editorShows(page, answer, 'Heard by Ben.');

  await refusals(page);
  await interruption(page);
  console.log('a subscription is for the chosen viewer, and ends when it is stopped');
}

// hears changes the item, and waits until the page shows it. Changes of other items from before the cursor are sent again,
// perhaps after this one: then the page shows the last of them, and another change is the next.
async function hears(page, world, words) {
  for (let tries = 1; ; tries += 1) {
    await world.change(`${words} ${tries}`);
    try {
      return await editorShows(page, answer, words, patience / 6);
    } catch (fault) {
      if (tries === 3) throw fault;
    }
  }
}

// refusals are shown like any answer, whether the operation or the connection is refused. A
// typed header takes precedence over the menu.
async function refusals(page) {
  await paste(page, '.graphiql-editor-tool', JSON.stringify({ after: 'nonsense' }));
  await press(page, 'Execute');
  await editorShows(page, answer, '"BAD_');
  await over(page);

  await page.getByRole('button', { name: 'Headers', exact: true }).click();
  await paste(page, '.graphiql-editor-tool .graphiql-editor:not(.hidden)', JSON.stringify({ Authorization: 'Bearer nonsense' }));
  await press(page, 'Execute');
  await editorShows(page, answer, 'The gateway has ended the connection: Forbidden');
  await over(page);
  await paste(page, '.graphiql-editor-tool .graphiql-editor:not(.hidden)', '{}');
  await page.getByRole('button', { name: 'Variables', exact: true }).click();
}

// interruption: the page reports a lost connection, and what to do. The test ends the sockets by
// loading another page.
async function interruption(page) {
  const held = [];
  await page.routeWebSocket('**/graphql', (socket) => {
    socket.connectToServer();
    held.push(socket);
  });
  await page.reload();
  await editorShows(page, '.graphiql-query-editor', 'LibraryChanged'); // the tab that was open
  await editorShows(page, '.graphiql-editor-tool', 'after');
  await paste(page, '.graphiql-editor-tool', JSON.stringify({ after: null }));
  await press(page, 'Execute');
  await begun(page);
  await held[0].close({ code: 1001, reason: 'Going away' });
  await editorShows(page, answer, 'The connection was lost (1001 Going away).');
  await over(page);
}

const verbs = { Execute: /execute query/i, Stop: /stop query/i };

const press = (page, verb) => page.getByRole('button', { name: verbs[verb] }).click();

// begun waits until the page reports that it follows the library, and offers to stop.
async function begun(page) {
  await page.getByText('Listening for changes').waitFor();
  await page.getByRole('button', { name: verbs.Stop }).waitFor();
}

// over waits until nothing runs.
async function over(page) {
  await page.getByText('Listening for changes').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: verbs.Execute }).waitFor();
}

async function ended(page, { closed }) {
  await over(page);
  await closed;
}

// watchSockets records each socket that the page opens: for which user, and when it ends.
function watchSockets(page) {
  const sockets = [];
  page.on('websocket', (opened) => {
    const socket = { as: undefined, closed: new Promise((resolve) => opened.on('close', resolve)) };
    opened.on('framesent', ({ payload }) => {
      const { type, payload: sent } = JSON.parse(payload);
      if (type === 'connection_init') socket.as = userOf(sent.authorization);
    });
    sockets.push(socket);
  });
  return sockets;
}

// userOf returns the user of a bearer token.
function userOf(authorization) {
  const claims = authorization?.split('.')[1];
  return claims && JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))).sub;
}

// outside sends requests without the page.
async function outside(base) {
  const { viewers } = await (await fetch(new URL('/dev/viewers', base))).json();
  const token = (name) => viewers.find((viewer) => viewer.name === name).token;
  const ask = async (name, query, variables) => {
    const got = await fetch(new URL('/graphql', base), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token(name)}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await got.json();
    if (errors) throw new Error(`as ${name}: ${JSON.stringify(errors)}`);
    return data;
  };
  return {
    // newest returns the cursor of the newest entry, as a viewer reads it.
    newest: async (name) =>
      (await ask(name, 'query ($id: ID!) { principal(id: $id) { library(first: 1, orderBy: {field: LAST_MODIFIED, direction: DESC}) { pageInfo { startCursor } } } }', { id: library })).principal.library
        .pageInfo.startCursor,
    change: async (description) => {
      const { updateContent } = await ask(
        'Ann',
        'mutation ($id: ID!, $description: String!) { updateContent(input: {id: $id, description: $description}) { userErrors { code } } }',
        { id: item, description },
      );
      expect(updateContent.userErrors, [], 'errors of the change');
    },
  };
}
