import { test } from 'node:test';
import assert from 'node:assert/strict';
import { isTyping, shortcutOf, shortcuts } from '../src/data/keys.ts';

const body = { tagName: 'BODY' };

test('each shortcut key has a name, and other keys have none', () => {
  for (const [key, name] of Object.entries({ '/': 'search', '?': 'help', j: 'next', k: 'previous', x: null, J: null, Enter: null })) {
    assert.equal(shortcutOf({ key, target: body }), name, key);
  }
});

test('keys are not shortcuts while somebody types, or with a modifier', () => {
  const input = (type: string | undefined) => ({ tagName: 'INPUT', type });
  for (const target of [input('text'), input('search'), input('url'), input('email'), input('datetime-local'),
    input(undefined), { tagName: 'TEXTAREA' }, { tagName: 'select' }, { tagName: 'DIV', isContentEditable: true }]) {
    assert.equal(isTyping(target), true, JSON.stringify(target));
    assert.equal(shortcutOf({ key: 'j', target }), null, JSON.stringify(target));
  }
  for (const target of [input('radio'), input('checkbox'), { tagName: 'A' }, { tagName: 'BUTTON' }, body, null]) {
    assert.equal(isTyping(target), false, JSON.stringify(target));
    assert.equal(shortcutOf({ key: 'j', target }), 'next', JSON.stringify(target));
  }
  for (const held of ['ctrlKey', 'metaKey', 'altKey', 'defaultPrevented', 'isComposing']) {
    assert.equal(shortcutOf({ key: '/', target: body, [held]: true }), null, held);
  }
});

test('every shortcut is listed', () => {
  for (const key of ['/', '?', 'j', 'k']) assert.ok(shortcuts.some(({ keys }) => keys.includes(key)), key);
});
