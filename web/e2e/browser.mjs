// Shared by the browser tests: the installed browser, and the list of things that no page may do.
import { chromium } from 'playwright-core';

// patience is the timeout of every wait, in milliseconds. It is far longer than anything takes on
// a busy machine, so it only ends tests that would wait forever. PATIENCE sets a shorter one while
// writing tests.
export const patience = Number(process.env.PATIENCE ?? 180_000);

// start opens the browser at CHROMIUM. The browser's own network traffic is disabled, so that every
// request comes from the page.
export function start() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    timeout: patience,
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
}

// baseAddress returns the address of the gateway, and exits without one.
export function baseAddress() {
  const base = process.env.BASE_URL;
  if (base) return base;
  console.error('BASE_URL is missing: the address of a gateway started with --dev');
  process.exit(2);
}

// watch collects what must not happen: script errors, violations of the content security
// policy, and requests to any other origin than those that are given. It starts with the next page that is opened.
export async function watch(page, base, faults = [], others = []) {
  const own = [base, ...others].map((address) => new URL(address).host);
  const foreign = (address) => {
    const url = new URL(address);
    if (/^(http|ws)s?:$/.test(url.protocol) && !own.includes(url.host)) faults.push(`requested ${url.pathname} from ${url.origin}`);
  };
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => foreign(request.url()));
  page.on('websocket', (socket) => foreign(socket.url()));
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample, sourceFile, lineNumber }) =>
      console.error(`refused by ${effectiveDirective}: ${blockedURI} ${sample} (${sourceFile}:${lineNumber})`),
    );
  });
  return faults;
}

// expect throws an error that begins with what, unless two values are the same as JSON.
export function expect(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
  }
}
