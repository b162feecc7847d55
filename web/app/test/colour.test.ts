import { test } from 'node:test';
import assert from 'node:assert/strict';
import { colour, guessLanguage, type ColourToken } from '../src/data/colour.ts';
import { languageNames, languageOfTitle, longestColoured } from '../src/data/languages.ts';

const textOf = (tokens: ColourToken[]): string => tokens.map((token) => (typeof token === 'string' ? token : textOf(token.children)))
  .join('');
const classesOf = (tokens: ColourToken[]): string[] =>
  tokens.flatMap((token) => (typeof token === 'string' ? [] : [token.className, ...classesOf(token.children)]));

const samples: Record<string, string> = {
  go: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("<b>hi</b>")\n}\n',
  json: '{"name": "carrel", "list": [1, 2.5, true, null], "more": {"a": "b"}}\n',
  xml: '<!doctype html>\n<html><body onload="x()"><script>alert(1)</script></body></html>\n',
  python: 'import os\n\ndef main(argv):\n    """Print."""\n    for x in range(10):\n        print(f"{x}", None)\n\nif __name__ == "__main__":\n    main([])\n',
  sql: 'SELECT id, title FROM paste WHERE created_at > 5 ORDER BY id DESC LIMIT 10;\n',
};

test('every language colours, and changes no character', () => {
  const hostile = '"\'`<script>\u0000\u2028</script>&amp;${x} /* // # --\r\n\t😀 \\';
  for (const language of Object.keys(languageNames)) {
    for (const text of [...Object.values(samples), hostile, '', '\n']) {
      assert.equal(textOf(colour(text, language)), text, language);
    }
  }
  for (const [language, text] of Object.entries(samples))
    assert.ok(classesOf(colour(text, language)).some((name) => /^hljs-/.test(name)), language);
});

test('a text that cannot be highlighted is one text', () => {
  assert.deepEqual(colour('x', null), ['x']);
  assert.deepEqual(colour('x', 'klingon'), ['x']);
  assert.deepEqual(colour('x', '__proto__'), ['x']);
  const long = 'package main\n'.repeat(longestColoured / 13 + 1);
  assert.deepEqual(colour(long, 'go'), [long]);
  assert.notDeepEqual(colour(long.slice(0, longestColoured), 'go'), [long.slice(0, longestColoured)]);
});

test('a language is guessed if it is obvious', () => {
  for (const language of ['go', 'xml', 'python']) assert.equal(guessLanguage(samples[language] ?? ''), language);
  // Prose has words that are keywords somewhere.
  const prose = 'Hello, I think that we should do this if the weather is good, and return for more in the end. It is not new.';
  for (const text of ['', prose, '42']) assert.equal(guessLanguage(text), null, text);
});

test('a file name as title determines the language', () => {
  const cases: [title: string | null, language: string | null][] = [
    ['main.go', 'go'], ['panic in worker.go', 'go'], ['src/App.TSX', 'typescript'],
    ['Dockerfile', 'dockerfile'], ['build/Makefile', 'makefile'],
    ['settings.toml:', 'ini'], ['notes', null], ['', null], [null, null], ['.go', null],
    ['a.constructor', null], ['the end.', null], ['v1.2', null],
  ];
  for (const [title, language] of cases) assert.equal(languageOfTitle(title), language, String(title));
});

test('a text of very many levels keeps its characters', () => {
  for (const [language, unit] of Object.entries({ javascript: '`${', json: '[', bash: '"$(', css: 'a{', xml: '<a>', ruby: '"#{' })) {
    const text = unit.repeat(5000);
    const tokens = colour(text, language);
    let depth = 0;
    let found = '';
    const rest = tokens.map((token) => ({ token, at: 1 })).reverse();
    for (let next = rest.pop(); next; next = rest.pop()) {
      depth = Math.max(depth, next.at);
      const { token, at } = next;
      if (typeof token === 'string') found += token;
      else for (const child of token.children.toReversed()) rest.push({ token: child, at: at + 1 });
    }
    assert.equal(found, text, language);
    assert.ok(depth <= 101, `${language}: ${depth} levels`);
  }
});
