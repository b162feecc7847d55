// Tests GraphiQL in a real browser, mostly by keyboard: it chooses a viewer, runs the first
// example, waits for its answer, takes a picture, opens every panel and dialog, runs the other
// examples, and follows a library. Exits with 1 and a message if anything fails,
// including a violation of the page's content security policy and a request to another origin.
// The gateway must serve the demo data, which some examples change.
//
//   BASE_URL=http://127.0.0.1:8080 node e2e/graphiql.mjs [PICTURE.png]
//
// VIEWER is the demo viewer of the picture (Ann), SCHEME light or dark, CHROMIUM the browser's
// path; TOUR=0 ends after the picture.
import { baseAddress, expect, patience, start, watch } from './browser.mjs';
import { editorShows, openTab, askAs, paste, shownAs } from './graphiql/page.mjs';
import { dialogsAndMenus } from './graphiql/menus.mjs';
import { links } from './graphiql/links.mjs';
import { listening } from './graphiql/listening.mjs';
import { panels } from './graphiql/panels.mjs';

const base = baseAddress();
const picture = process.argv[2];
const viewer = process.env.VIEWER ?? 'Ann';
const scheme = process.env.SCHEME ?? 'light';

const browser = await start();

let failed = false;
try {
  await drive(await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme }));
} catch (fault) {
  console.error(fault.stack ?? fault);
  failed = true;
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);

async function drive(page) {
  const faults = await watch(page, base);
  page.setDefaultTimeout(patience);
  await page.goto(base);

  await askAs(page, viewer);
  await editorShows(page, '.graphiql-query-editor', 'LibraryPage');
  await editorShows(page, '.graphiql-editor-tool', 'standard-library');
  const { data } = await run(page, 'LibraryPage', viewer);
  const library = data.principal.library;
  if (library.edges.length === 0) throw new Error('the first page of the largest library is empty');
  await editorShows(page, '.graphiql-response', 'principal');
  if (picture) await page.screenshot({ path: picture });
  await readsWhole(page);
  console.log(`${viewer}: bucket ${library.bucket}, ${library.edges.length} of ${library.count.value} entries`);

  if (process.env.TOUR !== '0') {
    await dialogsAndMenus(page);
    await tour(page);
    await listening(page, base);
    await links(page, base);
    await panels(page);
  }
  if (faults.length > 0) throw new Error(`the page had errors:\n${faults.join('\n')}`);
}

// readsWhole: no line of an example ends outside of its editor, and nothing outside of the window, on a small one either.
async function readsWhole(page) {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 1000, height: 900 });
  await page.waitForFunction(() => {
    const editor = document.querySelector('.graphiql-query-editor');
    const lines = [...editor.querySelectorAll('.view-line > span')];
    return lines.length > 10 && lines.every((line) => line.getBoundingClientRect().right <= editor.getBoundingClientRect().right);
  });
  // The page itself does not scroll: the bar and the button Execute stay where they are.
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.waitForFunction(() => document.querySelector('.graphiql-query-editor').getBoundingClientRect().bottom < innerHeight);
  expect(await page.evaluate(() => document.documentElement.scrollHeight), 720, 'the height of the page');
  await page.setViewportSize(size);
}

// tour runs the other examples as the viewers they are meant for.
async function tour(page) {
  await askAs(page, 'Ben');
  await openTab(page, 'NextPage');
  // An example runs as its viewer, and the answer of another one is not shown.
  await shownAs(page, 'Ann');
  const first = (await run(page, 'NextPage', 'Ann')).data.principal.library;
  await paste(page, '.graphiql-editor-tool', JSON.stringify({ after: first.pageInfo.endCursor }));
  const second = (await run(page, 'NextPage', 'Ann')).data.principal.library;
  const titles = new Set([...first.nodes, ...second.nodes].map((node) => node.title));
  expect(titles.size, 10, 'titles on two pages of five');
  expect(second.pageInfo.hasPreviousPage, true, 'the second page has one before it');

  await openTab(page, 'Share');
  expect((await run(page, 'Share', 'Ann')).data.shareContent.userErrors, [], "faults of Ann's share");
  await openTab(page, 'Update');
  expect((await run(page, 'Update', 'Ann')).data.updateContent.userErrors, [], "faults of Ann's update");
  await openTab(page, 'LibraryPage');
  const moved = (await run(page, 'LibraryPage', 'Ann')).data.principal.library.edges[0].node;
  expect(moved.id, 'c:demo:encoding-json', 'the newest entry after the update');

  await editorShows(page, '.graphiql-response', 'principal');
  await openTab(page, 'Update');
  await askAs(page, 'Cleo');
  await page.waitForFunction(() => document.querySelector('.graphiql-response .view-lines')?.textContent.trim() === '');
  expect(codes((await run(page, 'Update', 'Cleo')).data.updateContent), ['FORBIDDEN'], "faults of Cleo's update");
  await openTab(page, 'Remove');
  await shownAs(page, 'Cleo');
  expect(codes((await run(page, 'Remove', 'Cleo')).data.removeFromLibrary), [], 'errors of the removal');
  expect(codes((await run(page, 'Remove', 'Cleo')).data.removeFromLibrary), ['NOT_A_MEMBER'], 'errors of removing it again');

  await openTab(page, 'WhoSeesWhat');
  for (const [name, sees] of Object.entries({
    Anonymous: ['PUBLIC', false, false, false],
    Cleo: ['LOGGEDIN', true, true, false],
    Ben: ['PRIVATE', true, true, true],
    Zed: ['PUBLIC', false, false, false],
  })) {
    await askAs(page, name);
    const seen = (await run(page, 'WhoSeesWhat', name)).data;
    const got = [seen.standardLibrary.library.bucket, seen.loggedIn, seen.private, seen.privateGroup];
    expect([got[0], ...got.slice(1).map(Boolean)], sees, `what ${name} sees`);
  }
  console.log('the other examples return what their comments say');
}

// run presses the keys that run the example in the open tab, and returns the server's answer.
async function run(page, operation, name) {
  await page.locator('.graphiql-query-editor .monaco-editor').first().click();
  const answered = page.waitForResponse(
    (response) => response.url() === new URL('/graphql', base).href && asks(response.request(), operation),
  );
  await page.keyboard.press('Control+Enter');
  const response = await answered.catch(async (fault) => {
    const shown = await page.locator('.graphiql-response .view-lines').textContent();
    throw new Error(`${operation} as ${name} was not sent; the page shows ${shown.slice(0, 500)} (${fault.message})`);
  });
  // Until GraphiQL has shown the answer, the same keys would stop the operation.
  await page.getByRole('button', { name: /execute query/i }).waitFor();
  const answer = await response.json();
  if (answer.errors || !answer.data) {
    throw new Error(`${operation} as ${name} answered ${response.status()}: ${JSON.stringify(answer).slice(0, 500)}`);
  }
  const sent = response.request().headers().authorization ?? '';
  expect(sent.startsWith('Bearer '), name !== 'Anonymous', `a token is sent as ${name}`);
  return answer;
}

function codes(payload) {
  return payload.userErrors.map((fault) => fault.code);
}

function asks(request, operation) {
  try {
    return new RegExp(`^(query|mutation) ${operation}\\b`, 'm').test(request.postDataJSON()?.query);
  } catch {
    return false;
  }
}
