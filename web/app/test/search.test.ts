import test from 'node:test';
import assert from 'node:assert/strict';
import { nothingFound, progressOf, searchOn, type Found, type SearchPage } from '../src/data/search.ts';

type Answer = SearchPage<string> | Error;

// searcher answers from pages in turn, and records what was requested and found.
function searcher(...pages: Answer[]) {
  const asked: (string | null)[] = [];
  const reports: Found<string>[] = [];
  const gone = new Set<string>();
  const run = (from: Found<string>, stopped: () => boolean = () => false) =>
    searchOn<string>({
      from,
      wanted: 2,
      pageSize: 2,
      stopped,
      async read(after) {
        asked.push(after);
        const page = pages.shift();
        if (page === undefined) throw new Error('more pages were read than there are');
        if (page instanceof Error) throw page;
        return page;
      },
      isGone: (edge) => gone.has(edge),
      onFound: (found) => reports.push(found),
    });
  return { run, asked, reports, gone };
}

const page = (edges: string[], endCursor: string | null, hasNextPage: boolean): SearchPage<string> =>
  ({ edges, pageInfo: { endCursor, hasNextPage } });

test('a search continues over short pages until it has found enough', async () => {
  const s = searcher(page([], '1', true), page(['a'], '2', true), page(['b'], '3', true));
  await s.run(nothingFound);
  assert.deepEqual(s.asked, [null, '1', '2']);
  assert.deepEqual(s.reports.at(-1), { edges: ['a', 'b'], endCursor: '3', more: true, full: 0, cut: 3 });
});

test('items that are removed while pages are read are left out, even if they were found before', async () => {
  const s = searcher(page(['a'], '1', true), page(['b'], '2', true), page(['c'], '3', false));
  await s.run(nothingFound);
  s.gone.add('a').add('c');
  await s.run(s.reports.at(-1)!);
  assert.deepEqual(s.reports.at(-1)?.edges, ['b']);
});

test('a search ends with the library', async () => {
  const s = searcher(page(['a'], '1', false));
  await s.run(nothingFound);
  assert.deepEqual(s.reports, [{ edges: ['a'], endCursor: '1', more: false, full: 0, cut: 0 }]);
  await s.run(s.reports[0]!);
  assert.equal(s.asked.length, 1);
});

test('a search that has found a page continues from there on request', async () => {
  const s = searcher(page(['a', 'b'], '1', true), page(['c', 'd'], '2', true));
  await s.run(nothingFound);
  await s.run(s.reports[0]!);
  assert.deepEqual(s.asked, [null, '1']);
  assert.deepEqual(s.reports.at(-1)?.edges, ['a', 'b', 'c', 'd']);
  assert.equal(s.reports.at(-1)?.full, 2);
});

test('a failed search keeps what it has found, and continues from there', async () => {
  const s = searcher(page(['a'], '1', true), new Error('down'), page(['b'], '2', false));
  await assert.rejects(s.run(nothingFound), /down/);
  await s.run(s.reports[0]!);
  assert.deepEqual(s.asked, [null, '1', '1']);
  assert.deepEqual(s.reports.at(-1)?.edges, ['a', 'b']);
});

test('an answer that comes after the search was stopped is dropped', async () => {
  let stopped = false;
  const s = searcher(page(['a'], '1', true));
  const run = s.run(nothingFound, () => stopped);
  stopped = true;
  await run;
  assert.deepEqual(s.reports, []);
});

test('a search that does not advance is an error', async () => {
  await assert.rejects(searcher(page([], null, true)).run(nothingFound), /does not advance/);
});

test('progress is a lower bound of what was searched', () => {
  const found = (change: Partial<Found<string>>): Found<string> => ({ ...nothingFound, ...change });
  assert.equal(progressOf(found({}), 5000), null);
  assert.equal(progressOf(found({ cut: 1 }), 8000), 0.25);
  assert.equal(progressOf(found({ cut: 1 }), 0), null);
  assert.equal(progressOf(found({ cut: 9 }), 8000), 0.99);
  assert.equal(progressOf(found({ more: false }), 8000), 1);
});
