import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { DraftGateway, PlainText, Published, StoredDraft } from '../src/data/draft-gateway.ts';
import { draftSession, mayRetry, whyNot } from '../src/data/draft-session.ts';

const fault = (code: string) => [{ code, message: 'no', field: ['contentId'] }];

// fixture stores revisions and one draft by the rules of the gateway. lose(name) loses the next
// answer to a call, after the call was executed.
function fixture(first?: string, { itemTitle = 'T', namesItem = false } = {}) {
  const revisions: Published[] = first === undefined ? [] : [{ number: 0, title: 'T', body: first }];
  let draft: (PlainText & { version: number; baseRevision: number | null }) | null = null;
  let losing = '';
  let refusal = '';
  const sent: { expectedVersion: number; baseRevision?: number; body: string }[] = [];
  const last = () => revisions.at(-1) ?? null;
  const stored = (): StoredDraft | null => draft && { ...draft, isStale: draft.baseRevision !== (last()?.number ?? null) };
  const answer = <Reply>(name: string, reply: Reply): Promise<Reply> => {
    if (losing !== name) return Promise.resolve(reply);
    losing = '';
    return Promise.reject(new TypeError('Failed to fetch'));
  };
  const gateway: DraftGateway<Published> = {
    read: () => Promise.resolve({ draft: stored(), current: refusal === 'NOT_FOUND' ? null : last(), mayEdit: refusal === '' }),
    revision: (number) => Promise.resolve(revisions[number] ?? null),
    save(input) {
      sent.push(input);
      if (refusal) return answer('save', { draft: null, userErrors: fault(refusal) });
      if (input.expectedVersion !== (draft?.version ?? 0)) return answer('save', { draft: null, userErrors: fault('CONFLICT') });
      draft = { title: input.title, body: input.body, version: input.expectedVersion + 1, baseRevision: input.baseRevision ??
        draft?.baseRevision ?? last()?.number ?? null };
      return answer('save', { draft: stored(), userErrors: [] });
    },
    publish() {
      if (refusal) return answer('publish', { userErrors: fault(refusal) });
      if (!draft) return answer('publish', { userErrors: fault('NOT_FOUND') });
      if (stored()?.isStale) return answer('publish', { userErrors: fault('REVISION_CONFLICT') });
      revisions.push({ number: revisions.length, title: draft.title, body: draft.body });
      draft = null;
      return answer('publish', { userErrors: [] });
    },
    discard() {
      draft = null;
      return answer('discard', { userErrors: [] });
    },
  };
  const timers: { act: () => void; off: boolean }[] = [];
  const session = draftSession(gateway, itemTitle, namesItem, (act) => {
    const timer = { act, off: false };
    timers.push(timer);
    return () => {
      timer.off = true;
    };
  });
  return {
    session,
    gateway,
    sent,
    revisions,
    stored,
    others: (body: string) => revisions.push({ number: revisions.length, title: 'T', body }),
    elsewhere: (body: string) => (draft = { title: 'T', body, version: (draft?.version ?? 0) + 1, baseRevision: last()?.number ?? null }),
    lose: (name: string) => (losing = name),
    // refuse lets the viewer edit no more, or again for ''.
    refuse: (code: string) => (refusal = code),
    due: () => timers.filter(({ off }) => !off),
  };
}

test('quick keystrokes are saved once, over the stored version', async () => {
  const { session, sent, due } = fixture('old');
  await session.open();
  assert.equal(session.state().saving, 'unchanged');
  session.edit({ body: 'a' });
  session.edit({ body: 'ab' });
  assert.equal(due().length, 1);
  assert.equal(session.state().saving, 'pending');
  assert.equal(await session.flush(), true);
  session.edit({ body: 'abc' });
  await session.flush();
  assert.deepEqual(sent, [
    { title: 'T', body: 'ab', baseRevision: 0, expectedVersion: 0 },
    { title: 'T', body: 'abc', baseRevision: 0, expectedVersion: 1 },
  ]);
  assert.equal(session.state().saving, 'saved');
});

test('the text that names an item keeps the name that the item got since', async () => {
  for (const [namesItem, title] of [[true, 'New'], [false, 'T']] as const) {
    const { session, revisions } = fixture('old', { itemTitle: 'New', namesItem });
    await session.open();
    assert.deepEqual([session.state().text.title, session.state().saving], [title, 'unchanged']);
    session.edit({ body: 'older' });
    assert.equal(await session.publish(), true);
    assert.deepEqual(revisions.at(-1), { number: 1, title, body: 'older' });
  }
});

test('the title follows a rename unless the author has changed it', async () => {
  const { session, stored, revisions } = fixture('old', { namesItem: true });
  await session.open();
  await session.refresh('New');
  assert.deepEqual([session.state().text, session.state().saving], [{ title: 'New', body: 'old' }, 'unchanged']);
  revisions.push({ number: 1, title: 'Newer', body: 'other' });
  await session.refresh('Newer');
  assert.deepEqual([session.state().text, session.state().saving], [{ title: 'Newer', body: 'other' }, 'unchanged']);
  session.edit({ body: 'mine' });
  await session.flush();
  await session.refresh('Newest');
  await session.flush();
  assert.deepEqual([stored()?.title, stored()?.body, session.state().stale], ['Newest', 'mine', false]);
  session.edit({ title: 'Mine' });
  await session.refresh('Again');
  assert.equal(session.state().text.title, 'Mine');
});

test('text typed while a draft is saved is saved afterwards', async () => {
  const { session, stored } = fixture('old');
  await session.open();
  session.edit({ body: 'first' });
  const saving = session.flush();
  session.edit({ body: 'second' });
  await saving;
  assert.equal(stored()?.body, 'second');
  assert.equal(session.state().saving, 'saved');
});

test('a lost answer does not cause a conflict with oneself', async () => {
  const { session, stored, lose } = fixture('old');
  await session.open();
  session.edit({ body: 'first' });
  lose('save');
  assert.equal(await session.flush(), false);
  assert.equal(session.state().saving, 'failed');
  assert.notEqual(whyNot(session.state()), '');
  session.edit({ body: 'second' });
  assert.equal(await session.flush(), true);
  assert.equal(session.state().elsewhere, null);
  assert.deepEqual([stored()?.body, stored()?.version], ['second', 2]);
});

test('a draft that was saved elsewhere is kept until the author chooses', async () => {
  const { session, stored, elsewhere } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  elsewhere('other');
  assert.equal(await session.flush(), false);
  assert.equal(session.state().elsewhere?.body, 'other');
  session.edit({ body: 'mine too' });
  assert.equal(await session.flush(), false);
  assert.equal(stored()?.body, 'other');
  assert.equal(await session.keepMine(), true);
  assert.equal(stored()?.body, 'mine too');
  elsewhere('third');
  session.edit({ body: 'fourth' });
  await session.flush();
  await session.takeElsewhere();
  assert.deepEqual([session.state().text.body, session.state().saving], ['third', 'saved']);
});

test('a draft that is gone is created again', async () => {
  const { session, stored, gateway } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  await gateway.discard();
  session.edit({ body: 'mine again' });
  assert.equal(await session.flush(), true);
  assert.deepEqual([stored()?.body, stored()?.version], ['mine again', 1]);
});

test('a text that others have published meanwhile is merged before publishing', async () => {
  const { session, revisions, others } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  others('theirs');
  assert.equal(await session.publish(), false);
  const { stale, base, current } = session.state();
  assert.deepEqual([stale, base?.body, current?.body], [true, 'old', 'theirs']);
  assert.equal(await session.publish(), false);
  assert.equal(revisions.length, 2);
  session.edit({ body: 'theirs and mine' });
  assert.equal(await session.rebase(), true);
  assert.equal(session.state().stale, false);
  assert.equal(await session.publish(), true);
  assert.equal(revisions.at(-1)?.body, 'theirs and mine');
});

test('merging while the text is saved is not undone by the answer', async () => {
  const { session, revisions, others } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  others('theirs');
  await session.refresh('T');
  session.edit({ body: 'theirs and mine' });
  const saving = session.flush();
  assert.equal(await session.rebase(), true);
  await saving;
  assert.equal(session.state().stale, false);
  assert.equal(await session.publish(), true);
  assert.equal(revisions.at(-1)?.body, 'theirs and mine');
});

test('the first text is compared with one that was published earlier', async () => {
  const { session, others, revisions } = fixture();
  await session.open();
  session.edit({ body: 'mine' });
  others('theirs');
  await session.flush();
  assert.deepEqual([session.state().stale, session.state().base], [true, null]);
  assert.equal(await session.publish(), false);
  assert.equal(revisions.length, 1);
  // Another text is published first a second time: the base of this one is still empty.
  session.edit({ body: 'mine too' });
  await session.flush();
  others('theirs again');
  await session.refresh('T');
  assert.equal(session.state().base, null);
  // A draft that needs no change is still stored with its new base.
  assert.equal(await session.rebase(), true);
  assert.equal(await session.publish(), true);
  assert.equal(revisions.at(-1)?.body, 'mine too');
});

test('an unedited text follows the published one', async () => {
  const { session, others } = fixture('old');
  await session.open();
  others('theirs');
  await session.refresh('T');
  assert.deepEqual([session.state().text.body, session.state().stale], ['theirs', false]);
  session.edit({ body: 'mine' });
  others('theirs again');
  await session.refresh('T');
  assert.deepEqual([session.state().text.body, session.state().stale], ['mine', true]);
});

test('publishing whose answer was lost is not repeated', async () => {
  const { session, revisions, lose } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  lose('publish');
  assert.equal(await session.publish(), false);
  assert.notEqual(session.state().error, null);
  assert.equal(await session.publish(), true);
  assert.deepEqual(revisions.map(({ body }) => body), ['old', 'mine']);
});

test('a discarded draft is not saved again', async () => {
  const { session, stored, due } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  session.edit({ body: 'mine still' });
  assert.equal(await session.discard(), true);
  assert.equal(due().length, 0);
  assert.equal(await session.flush(), true);
  assert.equal(stored(), null);
});

test('a draft that was discarded elsewhere is saved again when it is published', async () => {
  const { session, gateway, revisions } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  await gateway.discard();
  assert.equal(await session.publish(), true);
  assert.deepEqual(revisions.map(({ body }) => body), ['old', 'mine']);
});

test('a draft that is discarded elsewhere while it is published is saved again', async () => {
  const { session, gateway, revisions, stored } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  const { publish } = gateway;
  gateway.publish = () => gateway.discard().then(publish);
  assert.equal(await session.publish(), false);
  assert.deepEqual([whyNot(session.state()), stored()?.body, revisions.length], ['No.', 'mine', 1]);
  gateway.publish = publish;
  assert.equal(await session.publish(), true);
  assert.equal(revisions.at(-1)?.body, 'mine');
});

test('only the text that is shown is published', async () => {
  const { session, elsewhere, revisions } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  elsewhere('other');
  assert.equal(await session.publish(), false);
  assert.deepEqual([session.state().elsewhere?.body, session.state().saving], ['other', 'failed']);
  // Typing the stored text again is no choice.
  session.edit({ body: 'mine too' });
  session.edit({ body: 'mine' });
  assert.equal(await session.publish(), false);
  await session.takeElsewhere();
  elsewhere('third');
  assert.equal(await session.publish(), false);
  assert.deepEqual([session.state().elsewhere?.body, session.state().busy, revisions.length], ['third', false, 1]);
});

test('a saved text stays saved if it cannot be published', async () => {
  const { session, lose, refuse } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  lose('save');
  assert.equal(await session.publish(), false);
  assert.equal(session.state().saving, 'saved');
  assert.notEqual(whyNot(session.state()), '');
  refuse('FORBIDDEN');
  assert.equal(await session.publish(), false);
  assert.deepEqual([session.state().saving, session.state().refused], ['saved', true]);
  refuse('NOT_FOUND');
  assert.equal(await session.publish(), false);
  assert.deepEqual([session.state().saving, session.state().refused], ['failed', true]);
});

test('a text that was published elsewhere is not published again', async () => {
  const { session, gateway, revisions, stored } = fixture('old');
  await session.open();
  session.edit({ body: 'mine' });
  await session.flush();
  await gateway.publish();
  assert.equal(await session.publish(), true);
  assert.deepEqual([revisions.map(({ body }) => body), stored()], [['old', 'mine'], null]);
});

for (const code of ['FORBIDDEN', 'NOT_FOUND']) {
  test(`an author who may edit no more is refused, until that is possible again: ${code}`, async () => {
    const { session, refuse, stored } = fixture('old');
    await session.open();
    session.edit({ body: 'mine' });
    refuse(code);
    assert.equal(await session.flush(), false);
    assert.deepEqual([session.state().refused, session.state().saving], [true, 'failed']);
    refuse('');
    assert.equal(await session.flush(), true);
    assert.deepEqual([session.state().refused, stored()?.body], [false, 'mine']);
    refuse(code);
    assert.equal(await session.publish(), false);
    assert.deepEqual([session.state().refused, session.state().text.body], [true, 'mine']);
    refuse('');
    assert.equal(await session.flush(), true);
    assert.deepEqual([session.state().refused, session.state().saving, whyNot(session.state())], [false, 'saved', '']);
    assert.equal(await session.publish(), true);
  });
}

test('a text that is wrong or too long is not saved by trying again', () => {
  const because = (error: unknown, faults = fault('INVALID').slice(1)) => mayRetry({ error, faults });
  assert.equal(because(new TypeError('Failed to fetch')), true);
  assert.equal(because({ errors: [{ message: 'M', extensions: { code: 'UNAVAILABLE' } }] }), true);
  assert.equal(because({ errors: [{ message: 'M', extensions: { code: 'PAYLOAD_TOO_LARGE' } }] }), false);
  assert.equal(because(null, fault('INVALID')), false);
});
