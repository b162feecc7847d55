import { test } from 'node:test';
import assert from 'node:assert/strict';
import { keepUp } from '../src/data/keep-up.ts';

// fixture keeps a list up to date; 'out' is a change that requires reloading the library. Its
// reads end when the test says so.
function fixture() {
  const log: string[] = [];
  const pages: { resolve: () => void; reject: (fault: Error) => void }[] = [];
  const keeping = keepUp<string>();
  keeping.apply = (event, again) => {
    log.push(again ? `${event} again` : event);
    return event === 'out';
  };
  const read = () => {
    log.push('read');
    return new Promise<void>((resolve, reject) => pages.push({ resolve, reject }));
  };
  return { log, pages, keeping, read };
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test('changes that arrive while a page is loading are applied again afterwards', async () => {
  const { log, pages, keeping, read } = fixture();
  keeping.receive('a');
  const done = keeping.during(read);
  keeping.receive('b');
  keeping.receive('c');
  pages[0].resolve();
  await done;
  keeping.receive('d');
  assert.deepEqual(log, ['a', 'read', 'b', 'c', 'b again', 'c again', 'd']);
});

test('two parallel reads each apply the changes since their start', async () => {
  const { log, pages, keeping, read } = fixture();
  const first = keeping.during(read);
  keeping.receive('a');
  const second = keeping.during(read);
  keeping.receive('b');
  pages[0].resolve();
  await first;
  pages[1].resolve();
  await second;
  assert.deepEqual(log, ['read', 'a', 'read', 'b', 'a again', 'b again', 'b again']);
});

test('a change that requires a reload causes it, once more if a page was loading', async () => {
  const { log, pages, keeping, read } = fixture();
  const done = keeping.during(read);
  assert.equal(keeping.receive('out'), true);
  pages[0].resolve();
  await settled();
  pages[1].resolve();
  await done;
  assert.deepEqual(log, ['read', 'out', 'out again', 'read']);
});

test('a failed read is reported, and keeps no changes', async () => {
  const { log, pages, keeping, read } = fixture();
  const failing = keeping.during(read);
  keeping.receive('a');
  pages[0].reject(new Error('down'));
  await assert.rejects(failing, /down/);
  const done = keeping.during(read);
  pages[1].resolve();
  await done;
  assert.deepEqual(log, ['read', 'a', 'read']);
});
