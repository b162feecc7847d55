// A gateway that stops answering, and whose connections stay open.
import { expect, live, signIn } from './fixture.mjs';

// silentGateway: live updates are off after a ping without an answer, and a query without an answer fails and can be tried again.
export async function silentGateway({ openAs }) {
  let silent = false;
  const held = [];
  const pass = (send) => (silent ? held.push(send) : send());
  let sockets = 0;
  let kept;
  const pong = new Promise((resolve) => (kept = resolve));
  const page = await openAs(null);
  await page.routeWebSocket('**/graphql', (socket) => {
    sockets += 1;
    const server = socket.connectToServer();
    socket.onMessage((message) => pass(() => server.send(message)));
    server.onMessage((message) => {
      socket.send(message);
      if (JSON.parse(message).type === 'pong') kept();
    });
  });
  // What was held is for a request that the page has given up.
  await page.route('**/graphql', (route) => pass(() => route.fallback().catch(() => {})));
  await page.clock.install();
  await page.reload();
  await signIn(page, 'Ann');
  await live(page);

  // An answer to a ping keeps the socket.
  await page.clock.fastForward(20_000);
  await pong;
  await page.clock.fastForward(5000);
  await live(page);
  expect(sockets, 1, 'sockets with an answer to a ping');

  silent = true;
  await page.clock.fastForward(20_000);
  await live(page);
  await page.clock.fastForward(5000);
  await page.getByText('The connection for live updates is lost. Reconnecting...').waitFor({ state: 'attached' });

  const asked = page.waitForRequest((request) => request.postDataJSON()?.operationName === 'MyGroups');
  await page.getByRole('link', { name: 'Groups' }).click();
  await asked;
  await page.clock.fastForward(30_000);
  await page.getByRole('heading', { name: 'Could not load this' }).waitFor();
  await page.getByText('The server could not be reached.').waitFor();

  silent = false;
  for (const send of held.splice(0)) send();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'My groups' }).waitFor();
  await page.getByRole('link', { name: 'My library' }).click();
  await live(page);
  await page.context().close();
}
