import { test } from 'node:test';
import assert from 'node:assert/strict';
import { dayOf, foundOf, handleOf, named, noText, pasteTitle, roleMeaning, textHeading, untilTomorrow, versionOf,
  whenOf } from '../src/ui/words.ts';

// Versions of ICU differ in the comma after the day.
const dateAlone = (text: string) => text.replace(',', '');
const at = (...parts: [number, number, number, number?, number?, number?]) => new Date(...(parts as [number, number, number]))
  .toISOString();

test('days are named Today, Yesterday, or by their date', () => {
  const now = new Date(2026, 10, 22, 0, 5);
  assert.equal(dayOf(at(2026, 10, 22, 0, 0), now), 'Today');
  assert.equal(dayOf(at(2026, 10, 22, 23, 59, 59), now), 'Today');
  assert.equal(dayOf(at(2026, 10, 21, 23, 59, 59), now), 'Yesterday');
  assert.equal(dayOf(at(2026, 10, 21, 0, 0), now), 'Yesterday');
  assert.equal(dateAlone(dayOf(at(2026, 10, 20, 23, 59, 59), now)), 'Friday 20 November 2026');
  assert.equal(dateAlone(dayOf(at(2025, 10, 22, 12), now)), 'Saturday 22 November 2025');
  // A clock that is behind the gateway's.
  assert.equal(dateAlone(dayOf(at(2026, 10, 23, 1), now)), 'Monday 23 November 2026');
  assert.equal(dayOf(at(2026, 1, 28, 12), new Date(2026, 2, 1, 9)), 'Yesterday');
});

test('the names of days change at midnight', () => {
  assert.equal(untilTomorrow(new Date(2026, 10, 22, 23, 59, 58, 500)), 1500);
  assert.equal(untilTomorrow(new Date(2026, 10, 22)), 24 * 3600 * 1000);
});

test('a page of results says when there are more', () => {
  assert.equal(foundOf(25, false), '25 found');
  assert.equal(foundOf(25, true), 'First 25 found; there are more');
  assert.equal(foundOf(0, true), 'None found so far');
});

test('titles of dialogs name the language and the branch', () => {
  assert.equal(textHeading('History', { locale: null, branch: 1 }), 'History');
  assert.equal(textHeading('History', { locale: 'de', branch: 1 }), 'History: German');
  assert.equal(textHeading('History', { locale: null, branch: 2 }), 'History: branch 2');
  assert.equal(textHeading('History', { locale: 'de_CH', branch: 12 }), 'History: Swiss High German, branch 12');
});

test('a missing text is described by its language and branch', () => {
  assert.equal(noText(undefined, null), 'This note has no text yet.');
  assert.equal(noText(undefined, null, true), 'This note has no text in your language. Choose another one.');
  assert.equal(noText(undefined, 2, true), 'Branch 2 has no text in your language. Choose another one.');
  assert.equal(noText(null, 2, true), 'Branch 2 has no text yet.');
  assert.equal(noText('de', null, true), 'There is no text in German yet.');
  assert.equal(noText('de', 3), 'There is no text in German in branch 3 yet.');
});

test('people are told apart without the syntax of ids', () => {
  assert.equal(handleOf('u:demo:ann', 'demo'), 'ann');
  assert.equal(handleOf('u:acme:zed', 'demo'), 'zed of acme');
  assert.equal(handleOf('g:demo:team', 'demo'), 'Group');
  assert.equal(handleOf('g:acme:team', 'demo'), 'Group of acme');
});

test('versions of a text are counted from one', () => {
  assert.equal(versionOf(0), 'Version 1');
});

test('a title in a sentence cannot change the direction of the sentence', () => {
  assert.equal(named('invoice \u202egnp.exe\u2066'), '“invoice gnp.exe”');
  assert.equal(pasteTitle('\u200f '), 'Untitled paste');
});

test('a long title in a sentence is cut between letters', () => {
  assert.equal(named('é'.repeat(60)), `“${'é'.repeat(60)}”`);
  assert.equal(named(`${'e\u0301'.repeat(60)}n`), `“${'e\u0301'.repeat(60)}…”`);
  assert.equal(named(`${'a'.repeat(59)} word`), `“${'a'.repeat(59)}…”`);
});

test('a time is told in a few characters', () => {
  const now = new Date(2026, 10, 22, 12);
  const told = (...parts: [number, number, number, number]) => whenOf(new Date(...parts).toISOString(), now);
  assert.deepEqual([told(2026, 10, 22, 0), told(2026, 10, 21, 23), told(2026, 0, 3, 9), told(2025, 10, 22, 12)],
    ['00:00', '21 Nov', '3 Jan', 'Nov 2025']);
});

test('a role says what its holder can edit', () => {
  assert.equal(roleMeaning('EDITOR', 'NOTE'), 'Can also edit the title, description and text.');
  assert.equal(roleMeaning('EDITOR', 'LINK'), 'Can also edit the title, description and link.');
});
