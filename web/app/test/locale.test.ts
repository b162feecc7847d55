import { test } from 'node:test';
import assert from 'node:assert/strict';
import { languagesByName, localeNamed, readLocale } from '../src/data/locale.ts';

test('locales are read in any case, and normalized', () => {
  const forms: [text: string, locale: string][] = [
    ['de', 'de'],
    [' DE ', 'de'],
    ['de-ch', 'de_CH'],
    ['DE_ch', 'de_CH'],
    ['xx', 'xx'],
  ];
  for (const [text, locale] of forms) assert.equal(readLocale(text), locale, text);
});

test('an invalid locale is refused', () => {
  for (const text of ['', ' ', 'd', 'deu', 'German', 'de_', 'de_C', 'de_CHE', 'de__CH', 'de CH', 'zh_Hant_TW', '1a',
    'de_1A', 'dé']) assert.equal(readLocale(text), null, text);
});

test('a language is found by its name', () => {
  assert.equal(localeNamed('German'), 'de');
  assert.equal(localeNamed(' french '), 'fr');
  assert.equal(localeNamed('de-ch'), 'de_CH');
  assert.equal(localeNamed('Klingonese'), null);
  assert.ok(languagesByName.size > 100);
});
