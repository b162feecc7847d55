import { test } from 'node:test';
import assert from 'node:assert/strict';
import { keepMine, maxAttempts, merge, saveMerged, sinceSent, takeTheirs, type, type Edits } from '../src/data/merge.ts';

const before = { title: 'Title', description: 'Text' };

test('changes of different fields do not conflict', () => {
  const edits = type({}, before, 'description', 'Mine');
  assert.deepEqual(merge(edits, { ...before, title: 'Theirs' }), {
    shown: { title: 'Theirs', description: 'Mine' },
    changes: { description: 'Mine' },
    conflicts: [],
  });
});

test('changes of the same field conflict, unless they are the same', () => {
  const edits = type(type({}, before, 'description', 'M'), before, 'description', 'Mine');
  const theirs = { ...before, description: 'Theirs' };
  assert.deepEqual(merge(edits, theirs), { shown: { ...before, description: 'Mine' }, changes: {}, conflicts: ['description'] });
  assert.deepEqual(merge(edits, { ...before, description: 'Mine' }).conflicts, []);
  assert.deepEqual(merge(edits, { ...before, description: 'Mine' }).changes, {});
});

test('a conflict is resolved either way, and a later change conflicts again', () => {
  const edits = type({}, before, 'description', 'Mine');
  const theirs = { ...before, description: 'Theirs' };
  assert.deepEqual(merge(takeTheirs(edits, 'description'), theirs), { shown: theirs, changes: {}, conflicts: [] });
  const kept = keepMine(edits, theirs, 'description');
  assert.deepEqual(merge(kept, theirs).changes, { description: 'Mine' });
  assert.deepEqual(merge(kept, { ...before, description: 'Later' }).conflicts, ['description']);
});

test('a field that was typed back to what is stored follows the stored value again', () => {
  const edits = type(type({}, before, 'title', 'Other'), before, 'title', 'Title');
  assert.deepEqual(edits, {});
  // Typed back to the value before another user's change: the reader has to choose.
  const overtaken = type(type({}, before, 'title', 'Other'), { ...before, title: 'Theirs' }, 'title', 'Title');
  assert.deepEqual(merge(overtaken, { ...before, title: 'Theirs' }).conflicts, ['title']);
});

interface Texts {
  title: string;
  description: string;
}

interface Stored extends Texts {
  id: string;
  version: number;
  gone?: boolean;
}

interface Payload {
  userErrors: { code: string }[];
  content?: Stored;
}

// store has an item that others change: theirs contains one change for each attempt.
function store(theirs: Partial<Stored>[]) {
  const stored: Stored = { id: 'c:demo:x', version: 1, ...before };
  const sent: (Partial<Texts> & { expectedVersion: number })[] = [];
  const reads: number[] = [];
  return {
    stored,
    sent,
    reads,
    async send({ id: _, expectedVersion, ...changes }: Partial<Texts> & { id: string; expectedVersion: number }): Promise<Payload> {
      sent.push({ expectedVersion, ...changes });
      const change = theirs.shift();
      if (change) Object.assign(stored, change, { version: stored.version + 1 });
      if (stored.gone) return { userErrors: [{ code: 'NOT_FOUND' }] };
      if (expectedVersion !== stored.version) return { content: { ...stored }, userErrors: [{ code: 'CONFLICT' }] };
      Object.assign(stored, changes, { version: stored.version + 1 });
      return { content: { ...stored }, userErrors: [] };
    },
    async reread(): Promise<Stored | null> {
      reads.push(stored.version);
      return stored.gone ? null : { ...stored };
    },
  };
}
const mergeWith = (edits: Edits<Texts>) => (item: Stored) => merge<Texts>(edits, { title: item.title, description: item.description });
const mine = type({}, before, 'description', 'Mine');

test('only changed fields are sent, and sent again if another user changed the item first', async () => {
  const { stored, sent, send, reread } = store([{ title: 'Theirs' }]);
  const payload = await saveMerged({ item: { ...stored }, mergeWith: mergeWith(mine), send, reread });
  assert.deepEqual(payload.userErrors, []);
  assert.deepEqual(sent, [
    { description: 'Mine', expectedVersion: 1 },
    { description: 'Mine', expectedVersion: 2 },
  ]);
  assert.equal(stored.title, 'Theirs');
  assert.equal(stored.description, 'Mine');
});

test('a field that both sides changed is decided by the reader', async () => {
  const { stored, sent, send, reread } = store([{ description: 'Theirs' }]);
  const payload = await saveMerged({ item: { ...stored }, mergeWith: mergeWith(mine), send, reread });
  assert.deepEqual(payload, { userErrors: [], conflicts: ['description'] });
  assert.equal(sent.length, 1);
  assert.equal(stored.description, 'Theirs');
});

test('a value that another user has already saved is not sent again', async () => {
  const { stored, sent, send, reread } = store([{ description: 'Mine' }]);
  const payload = await saveMerged({ item: { ...stored }, mergeWith: mergeWith(mine), send, reread });
  assert.deepEqual(payload, { userErrors: [], unchanged: true });
  assert.equal(sent.length, 1);
});

test('sending ends after a bounded number of attempts', async () => {
  const { stored, sent, reads, send, reread } = store(Array.from({ length: 20 }, (_, i) => ({ title: `Theirs ${i}` })));
  const payload = await saveMerged({ item: { ...stored }, mergeWith: mergeWith(mine), send, reread });
  assert.deepEqual(payload.userErrors, [{ code: 'CONFLICT' }]);
  assert.equal(sent.length, maxAttempts);
  assert.equal(reads.length, maxAttempts, 'the last version is read, for the next attempt of the reader');
  assert.equal(stored.description, 'Text');
});

test('an item that is gone is read once more, and the change is not sent again', async () => {
  const { stored, sent, reads, send, reread } = store([{ gone: true }]);
  const payload = await saveMerged({ item: { ...stored }, mergeWith: mergeWith(mine), send, reread });
  assert.deepEqual(payload.userErrors, [{ code: 'NOT_FOUND' }]);
  assert.equal(sent.length, 1);
  assert.equal(reads.length, 1);
});

test('what was sent before is no change by others', () => {
  const edits = type(type({}, before, 'title', 'Newer'), before, 'description', 'Mine');
  const stored = { title: 'New', description: 'Theirs' };
  assert.deepEqual(merge(sinceSent(edits, stored, [{ title: 'New', description: 'Old' }, { title: 'Newer' }]), stored), {
    shown: { title: 'Newer', description: 'Mine' },
    changes: { title: 'Newer' },
    conflicts: ['description'],
  });
});
