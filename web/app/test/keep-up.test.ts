import { test } from 'node:test';
import assert from 'node:assert/strict';
import { keepUp } from '../src/data/keep-up.ts';

// desk keeps up with changes; 'out' is one for which the library is read anew.
// Its readings end when the test says so.
function desk() {
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

test('what is told while a page is on its way is taken in again when it has come', async () => {
  const { log, pages, keeping, read } = desk();
  keeping.tell('a');
  const done = keeping.during(read);
  keeping.tell('b');
  keeping.tell('c');
  pages[0].resolve();
  await done;
  keeping.tell('d');
  assert.deepEqual(log, ['a', 'read', 'b', 'c', 'b again', 'c again', 'd']);
});

test('two readings at once each take in what was told since they began', async () => {
  const { log, pages, keeping, read } = desk();
  const first = keeping.during(read);
  keeping.tell('a');
  const second = keeping.during(read);
  keeping.tell('b');
  pages[0].resolve();
  await first;
  pages[1].resolve();
  await second;
  assert.deepEqual(log, ['read', 'a', 'read', 'b', 'a again', 'b again', 'b again']);
});

test('a change for which a library is read anew is, once more where a page was on its way', async () => {
  const { log, pages, keeping, read } = desk();
  const done = keeping.during(read);
  assert.equal(keeping.tell('out'), true);
  pages[0].resolve();
  await settled();
  pages[1].resolve();
  await done;
  assert.deepEqual(log, ['read', 'out', 'out again', 'read']);
});

test('a reading that fails is told, and keeps nothing', async () => {
  const { log, pages, keeping, read } = desk();
  const failing = keeping.during(read);
  keeping.tell('a');
  pages[0].reject(new Error('down'));
  await assert.rejects(failing, /down/);
  const done = keeping.during(read);
  pages[1].resolve();
  await done;
  assert.deepEqual(log, ['read', 'a', 'read']);
});
