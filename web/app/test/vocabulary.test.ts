import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync } from 'vite';
import type { LibraryVisibility } from '../src/generated/operations.ts';
import { accessTo, countOf, newUpdates, roleName, visibilityMeaning, visibilityName } from '../src/ui/words.ts';

// One word for each concept: on the left what the client must not say, on the right what it says.
const synonyms: [pattern: RegExp, say: string][] = [
  [/\breaders?\b/i, 'Viewer, or user'],
  [/\bshel(f|ves)\b/i, 'library'],
  [/\bentr(y|ies)\b/i, 'item'],
  [/\bentrance\b/i, 'start page'],
  [/\btak(e|en) out\b/i, 'Remove'],
  [/\bwho may see\b/i, 'Visibility'],
  [/\bmay see\b/i, 'can see'],
  [/\bcopy address\b/i, 'Copy link'],
  [/\bturning the page\b|\breading the\b|\bopening the\b|\blooking\b|\bone moment\b/i, 'Loading...'],
  [/\byou read\b/i, 'full access'],
  [/\bat the beginning\b/i, '1 new update'],
  [/\bgone after\b/i, 'Expires'],
  [/\be-mail\b/i, 'Email'],
  [/\bnobody of that name\b/i, 'No matches'],
  [/\bnothing to see\b/i, 'Not found'],
  [/\bgateway\b/i, 'server'],
  [/\bprincipals?\b/i, 'person, or people and groups'],
  [/\brevisions?\b/i, 'version'],
  [/\btenants?\b/i, 'organisation'],
  [/\bstands?\b|\btold\b|\bnews\b|\bquarrel/i, 'plain English'],
  [/…$/, '... (but … at the end of a button that opens a dialog)'],
];

// SyntaxNode has the fields of a parser's node that are read: the name of an attribute, and the
// value of a text.
interface SyntaxNode {
  type: string;
  name: { name: string };
  value: unknown;
}

// textsOf returns the texts that a file shows: those between tags, and strings that look like
// words because they begin with a capital or have a space.
function textsOf(path: string): string[] {
  const { program, errors } = parseSync(path, readFileSync(path, 'utf8'), { lang: 'tsx' });
  assert.deepEqual(errors, [], path);
  const texts: string[] = [];
  const walk = (part: unknown, attribute = '') => {
    if (Array.isArray(part)) part.forEach((one) => walk(one, attribute));
    if (!part || typeof part !== 'object' || Array.isArray(part)) return;
    const node = part as SyntaxNode;
    if (/^Import|^Export.*From/.test(node.type)) return;
    if (node.type === 'TaggedTemplateExpression') return;
    if (node.type === 'JSXAttribute') attribute = node.name.name;
    if (['className', 'd', 'viewBox', 'id'].includes(attribute)) return;
    const text = node.type === 'JSXText' ? node.value : node.type === 'TemplateElement' ? (node.value as { cooked: string }).cooked
      : node.type === 'Literal' ? node.value : null;
    if (typeof text === 'string' && (node.type === 'JSXText' || /^\s*[A-Z“]|\S \S/.test(text)) && /\p{L}{2}/u.test(text) &&
      !text.includes('[data-')) {
      texts.push(text.replaceAll(/\s+/g, ' ').trim());
    }
    for (const [key, value] of Object.entries(node)) if (key !== 'type') walk(value, attribute);
  };
  walk(program.body);
  return texts;
}

const root = new URL('../src/', import.meta.url);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name) &&
  !/generated|graphiql\.ts/.test(name));

test('every text of the client uses the same vocabulary', () => {
  let seen = 0;
  for (const name of files) {
    for (const text of textsOf(new URL(name, root).pathname)) {
      seen += 1;
      for (const [pattern, say] of synonyms) {
        // A button that opens a dialog ends with an ellipsis.
        if (pattern.source === '…$' &&
          /^(Add|Branches|History|Suggest|Suggestions|Write|Delete|Edit|Expiry|Leave|Remove|Share|Visibility)\b/.test(text)) continue;
        // Tokens are pasted by developers of the gateway.
        if (/gateway|tenant/.test(pattern.source) && name === 'ui/session.tsx') continue;
        assert.doesNotMatch(text, pattern, `${name}: “${text}”: say ${say}`);
      }
    }
  }
  assert.ok(seen > 150, `only ${seen} texts were found`);
});

test('each term of the API has one word', () => {
  const visibilities: LibraryVisibility[] = ['PUBLIC', 'LOGGEDIN', 'PRIVATE'];
  assert.deepEqual(roleName, { VIEWER: 'Viewer', EDITOR: 'Editor', MANAGER: 'Manager', MEMBER: 'Member' });
  assert.deepEqual(visibilities.map((one) => visibilityName(one, 'demo', 'item')), ['Public', 'All of demo', 'Private']);
  assert.equal(visibilityName('LOGGEDIN', ''), 'All of an organisation');
  assert.equal(visibilityName('PRIVATE', 'demo', 'group'), 'Members only');
  assert.equal(visibilityMeaning('PRIVATE', 'demo', 'item'), 'Only people it is shared with, and administrators.');
  assert.equal(`${countOf({ value: 86, precision: 'EXACT' })} · ${accessTo('PRIVATE', 'demo')}`, '86 items · full access');
  assert.equal(countOf({ value: 10000, precision: 'AT_LEAST' }), 'more than 10,000 items');
  assert.deepEqual([newUpdates(1), newUpdates(2)], ['1 new update', '2 new updates']);
});
