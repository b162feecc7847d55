// Drives the page in a real browser: chooses a viewer, runs the first example,
// waits for its answer, and takes a picture. Exits with 1 and says why where
// anything is not as it should be, a violation of the page's policy included.
//
//   BASE_URL=http://127.0.0.1:8080 node e2e/graphiql.mjs [PICTURE.png]
//
// VIEWER is the demo viewer to ask as (Ann), SCHEME light or dark, CHROMIUM the
// browser's path.
import { chromium } from 'playwright-core';

const base = process.env.BASE_URL;
if (!base) {
  console.error('BASE_URL is missing: the address of a gateway started with --dev');
  process.exit(2);
}
const picture = process.argv[2];
const viewer = process.env.VIEWER ?? 'Ann';
const scheme = process.env.SCHEME ?? 'light';
const patience = 30_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});

let failed = false;
try {
  await drive(await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme }));
} catch (fault) {
  console.error(fault.message ?? fault);
  failed = true;
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);

async function drive(page) {
  const faults = watch(page);
  page.setDefaultTimeout(patience);
  await page.goto(base);

  await page.getByLabel('Ask as').selectOption(viewer);
  await editorShows(page, '.graphiql-query-editor', 'LibraryPage');
  await editorShows(page, '.graphiql-editor-tool', 'standard-library');

  const answered = page.waitForResponse(
    (response) => response.url() === new URL('/graphql', base).href && asks(response.request(), 'LibraryPage'),
  );
  await page.getByRole('button', { name: /execute query/i }).click();
  const response = await answered;
  const answer = await response.json();
  const library = answer.data?.principal?.library;
  if (!library || library.edges.length === 0) {
    throw new Error(`the first example answered ${response.status()} without a library: ${JSON.stringify(answer).slice(0, 500)}`);
  }
  const sent = response.request().headers().authorization;
  if (viewer !== 'Anonymous' && !sent?.startsWith('Bearer ')) {
    throw new Error(`asked as ${viewer}, but no token was sent`);
  }
  await editorShows(page, '.graphiql-response', 'principal');
  if (picture) await page.screenshot({ path: picture });
  if (faults.length > 0) throw new Error(`the page complained:\n${faults.join('\n')}`);
  console.log(`${viewer}: bucket ${library.bucket}, ${library.edges.length} edges`);
}

// editorShows waits until Monaco has drawn the word.
function editorShows(page, editor, word) {
  return page.waitForFunction(
    ([selector, wanted]) => document.querySelector(`${selector} .view-lines`)?.textContent.includes(wanted),
    [editor, word],
  );
}

// watch collects what must not happen: errors of scripts, refused resources,
// and requests to any other origin.
function watch(page) {
  const faults = [];
  const own = new URL(base).origin;
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== own) faults.push(`asked ${url.origin} for ${url.pathname}`);
  });
  return faults;
}

function asks(request, operation) {
  try {
    return request.postDataJSON()?.operationName === operation;
  } catch {
    return false;
  }
}
