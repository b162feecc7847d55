// What the browser tests share: the installed browser, and what no page may do.
import { chromium } from 'playwright-core';

// patience bounds every wait. It is far beyond what anything takes on a machine
// that has other work to do: it ends a test that waits for what never comes.
// PATIENCE is another one, in milliseconds, for who writes a test.
export const patience = Number(process.env.PATIENCE ?? 180_000);

// start opens the browser. Its own talk with the network is switched off, so
// that whatever is asked for, the page has asked.
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

// baseAddress is where the gateway is; without it there is nothing to try.
export function baseAddress() {
  const base = process.env.BASE_URL;
  if (base) return base;
  console.error('BASE_URL is missing: the address of a gateway started with --dev');
  process.exit(2);
}

// watch collects what must not happen: errors of scripts, what the policy of the
// page has refused, and requests to any other origin. It begins with the next
// page that is opened.
export async function watch(page, base, faults = []) {
  const own = new URL(base).host;
  const foreign = (address) => {
    const url = new URL(address);
    if (/^(http|ws)s?:$/.test(url.protocol) && url.host !== own) faults.push(`asked ${url.origin} for ${url.pathname}`);
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

export function expect(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
  }
}
