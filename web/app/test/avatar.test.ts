import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { initialsOf, toneOf, tones } from '../src/data/avatar.ts';

test('initials are those of the first and last word', () => {
  const cases: [name: string, want: string][] = [
    ['Ann Archer', 'AA'],
    ['Packages under archive', 'PA'],
    ['Packages under net', 'PN'],
    ['Cleo', 'CL'],
    ['X', 'X'],
    ['encoding/json', 'EJ'],
    ['Ünal de Ångström', 'ÜÅ'],
    ['É Zola', 'ÉZ'],
    ['7 of 9', 'OF'],
    ['42', '·'],
    ['', '·'],
  ];
  for (const [name, want] of cases) {
    assert.equal(initialsOf(name.normalize('NFC')), want.normalize('NFC'), name);
  }
});

test('an id always has the same colour, and similar ids differ', () => {
  assert.equal(toneOf('u:demo:ann'), toneOf('u:demo:ann'));
  const people = Array.from({ length: 2400 }, (_, i) => toneOf(`u:demo:ann-${i}`));
  const counts = Array.from({ length: tones }, (_, tone) => people.filter((one) => one === tone).length);
  assert.equal(people.every((tone) => Number.isInteger(tone) && tone >= 0 && tone < tones), true);
  // 100 each when even; 24 colours within a factor of 1.6 either way.
  assert.ok(Math.min(...counts) > 62 && Math.max(...counts) < 160, `uses of the colours: ${counts}`);
});

test('every colour pair contrasts by 4.5 at least, and no two are alike', () => {
  const css = readFileSync(new URL('../src/style/avatars.css', import.meta.url), 'utf8');
  const pairs = [...css.matchAll(/\.tone-(\d+) \{\s*color: (#\w{6});\s*background: (#\w{6});\s*\}/g)];
  assert.deepEqual(pairs.map(([, n]) => Number(n)), Array.from({ length: tones }, (_, i) => i));
  for (const [, n, ink, ground] of pairs) {
    assert.ok(contrast(ink, ground) >= 4.5, `tone ${n} contrasts by ${contrast(ink, ground).toFixed(2)}`);
  }
  assert.equal(new Set(pairs.map(([, , , ground]) => ground)).size, tones);
});

// contrast is the contrast ratio of WCAG 2.
function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
