import { test } from 'node:test';
import assert from 'node:assert/strict';
import { excerpt, nodesOf, parse, safeAddress, type MarkdownElement, type MarkdownNode, type ParserToken } from '../src/data/markdown.ts';

const a = (href: string, ...children: MarkdownNode[]): MarkdownElement => ({ tag: 'a', href, children });
const el = (tag: string, ...children: MarkdownNode[]): MarkdownElement => ({ tag, children });

// bare removes groups, which render nothing.
const bare = (nodes: MarkdownNode[]): MarkdownNode[] => nodes.flatMap((node) => (typeof node === 'string' ? [node]
  : node.tag === null ? bare(node.children) : [{ ...node, children: bare(node.children) }]));

const joined = (nodes: MarkdownNode[]): MarkdownNode[] =>
  bare(nodes).reduce<MarkdownNode[]>((all, node) => {
    const last = all.at(-1);
    if (typeof node === 'string' && typeof last === 'string') return [...all.slice(0, -1), last + node];
    return [...all, typeof node === 'string' ? node : { ...node, children: joined(node.children) }];
  }, []);

type Case = [text: string, ...want: MarkdownNode[]];

test('Markdown becomes elements', () => {
  const cases: Case[] = [
    ['plain', el('p', 'plain')],
    ['one\ntwo\n\nthree', el('p', 'one', el('br'), 'two'), el('p', 'three')],
    ['**b** *i* ~~s~~ `c`', el('p', el('strong', 'b'), ' ', el('em', 'i'), ' ', el('s', 's'), ' ', el('code', 'c'))],
    ['# one\n###### six', el('h3', 'one'), el('h6', 'six')],
    ['- a\n- b', el('ul', el('li', 'a'), el('li', 'b'))],
    ['3. c\n4. d', { tag: 'ol', start: 3, children: [el('li', 'c'), el('li', 'd')] }],
    ['> q', el('blockquote', el('p', 'q'))],
    ['```js\n<x>\n```', el('pre', el('code', '<x>\n'))],
    ['    indented', el('p', 'indented')],
    ['a\n\n---', el('p', 'a'), el('hr')],
    ['|h|\n|-:|\n|c|', el('table', el('thead', el('tr', { tag: 'th', align: 'right', children: ['h'] })),
      el('tbody', el('tr', { tag: 'td', align: 'right', children: ['c'] })))],
    ['AT&amp;T', el('p', 'AT&T')],
  ];
  for (const [text, ...want] of cases) {
    assert.deepEqual(joined(parse(text)), want, text);
  }
});

test('addresses become links, and only whole ones', () => {
  const cases: Case[] = [
    ['see https://example.org/a?b=c.', 'see ', a('https://example.org/a?b=c', 'https://example.org/a?b=c'), '.'],
    ['(http://example.org)', '(', a('http://example.org', 'http://example.org'), ')'],
    ['[text](https://example.org)', a('https://example.org', 'text')],
    ['<mailto:ann@example.org>', a('mailto:ann@example.org', 'mailto:ann@example.org')],
    ['readme.md and example.org', 'readme.md and example.org'],
    ['ftp://example.org/', 'ftp://example.org/'],
    ['`https://example.org`', el('code', 'https://example.org')],
  ];
  for (const [text, ...want] of cases) {
    assert.deepEqual(joined(parse(text)), [el('p', ...want)], text);
  }
});

test('images are links to them, and text within a link', () => {
  assert.deepEqual(joined(parse('![a cat](https://example.org/cat.png)')), [el('p', a('https://example.org/cat.png', 'a cat'))]);
  assert.deepEqual(joined(parse('![](https://example.org/cat.png)')),
    [el('p', a('https://example.org/cat.png', 'https://example.org/cat.png'))]);
  assert.deepEqual(joined(parse('[![cat](https://a.example/c.png)](https://b.example)')), [el('p', a('https://b.example', 'cat'))]);
  assert.deepEqual(joined(parse('![x](data:image/png;base64,AAAA)')), [el('p', 'x')]);
});

const elements = ['a', 'blockquote', 'br', 'code', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 's',
  'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'];
const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<iframe src="https://evil.example"></iframe>',
  '<a href="javascript:alert(1)">x</a>',
  '<svg/onload=alert(1)>',
  '<style>*{display:none}</style>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java&#115;cript:alert(1))',
  '[x](&#x6A&#x61vascript:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](<java\nscript:alert(1)>)',
  '[x](\u0001javascript:alert(1))',
  '[x](vbscript:x)',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](data:image/png;base64,AAAA)',
  '[x](file:///etc/passwd)',
  '[x](blob:https://example.org/1)',
  '[x](//evil.example)',
  '[x](/dev/viewers)',
  '[x](?query=mutation)',
  '[x](#top)',
  '<javascript:alert(1)>',
  '<data:text/html,x>',
  'javascript:alert(1)',
  '![x](javascript:alert(1))',
  '[a]: javascript:alert(1)\n\n[a]',
  '[a]: https://example.org "\\"onclick=alert(1)"\n\n[a]',
  '[x](https://example.org "a\\" onmouseover=\\"alert(1)")',
  '[x](https://example.org/"onclick="alert(1))',
  '[x](view-source:https://example.org)',
  '[x](intent://evil#Intent;end)',
  '|<b>|\n|:-:" onclick="x|\n|y|',
  '```"><script>\nalert(1)\n```',
  `${'['.repeat(3000)}x](javascript:alert(1))`,
  `${'> '.repeat(3000)}x`,
  `${'- '.repeat(3000)}x`,
  '**'.repeat(3000),
];

test('hostile texts become nothing but text, known elements and safe links', () => {
  const check = (nodes: MarkdownNode[], text: string, depth: number) => {
    assert.ok(depth < 400, `depth of ${text.slice(0, 40)}`);
    for (const node of nodes) {
      if (typeof node === 'string') continue;
      assert.ok(node.tag === null || elements.includes(node.tag), `${node.tag} in ${text}`);
      assert.deepEqual(Object.keys(node).filter((key) => !['tag', 'children', 'href', 'start', 'align'].includes(key)), [], text);
      if (node.href !== undefined) assert.match(new URL(node.href).protocol, /^(https?|mailto):$/, text);
      if (node.tag === 'a') assert.ok(node.href, text);
      if (node.align !== undefined) assert.match(node.align, /^(left|center|right)$/, text);
      if (node.start !== undefined) assert.equal(Number.isInteger(node.start), true, text);
      check(node.children, text, depth + 1);
    }
  };
  for (const text of hostile) check(parse(text), text, 0);
  // Markup that is text is shown as it was written.
  assert.deepEqual(joined(parse('<img src=x onerror=alert(1)>')), [el('p', '<img src=x onerror=alert(1)>')]);
});

test('addresses are safe by their scheme, as a browser reads it', () => {
  for (const address of ['https://example.org', 'HTTP://example.org', 'mailto:ann@example.org']) assert.equal(safeAddress(address),
    address);
  for (const address of ['javascript:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)', 'data:,x',
    '//example.org', '/app', 'app', '', null, undefined]) assert.equal(safeAddress(address), null, String(address));
});

test('an excerpt is the text without its markup', () => {
  assert.equal(excerpt('# A\n\n- **b** [c](https://example.org)\n- `d`\n\n![e](https://example.org/e.png)'), 'A b c d e');
  assert.equal(excerpt('a\nb'), 'a b');
  assert.equal(excerpt('x'.repeat(301)), `${'x'.repeat(300)}...`);
  assert.equal(excerpt('x'.repeat(300)), 'x'.repeat(300));
  assert.equal(excerpt(''), '');
});

test('an unknown element is removed, whatever the parser says', () => {
  const token = (nesting: 1 | -1): ParserToken => ({ type: 'script', tag: 'script', nesting, content: '', attrGet: () => null });
  const text: ParserToken = { type: 'text', tag: '', nesting: 0, content: 'alert(1)', attrGet: () => null };
  assert.deepEqual(joined(nodesOf([token(1), text, token(-1)])), ['alert(1)']);
});

test('a text of very many lines or levels is parsed', () => {
  const depthOf = (nodes: MarkdownNode[]): number => {
    let depth = 0;
    for (let level = nodes; level.length > 0; depth += 1) level = level.flatMap((node) => (typeof node === 'string' ? [] : node.children));
    return depth;
  };
  const size = 512 << 10;
  const lines = parse('a\n'.repeat(size / 2));
  const paragraph = lines[0] as MarkdownElement;
  assert.equal(paragraph.children.filter((node) => node === 'a').length, size / 2);
  for (const unit of ['*a ', '**a _b ', '> ', '- ', '~~a ', '[', '![', '`', '<', '|a']) {
    const text = unit.repeat(Math.floor(20_000 / unit.length));
    assert.ok(depthOf(parse(text)) <= 110, unit);
    excerpt(text);
  }
  const inside = '*a '.repeat(5000) + 'x' + '*'.repeat(5000);
  const flat = JSON.stringify(parse(inside));
  assert.equal(flat.match(/a /g)?.length, 5000);
  assert.ok(flat.includes('"a x"') || flat.includes('"x"'), 'the innermost text is there');
});

test('a bare address shows a host of mixed scripts as xn--', () => {
  assert.deepEqual(joined(parse('https://p\u0430ypal.example/x')),
    [el('p', a('https://xn--pypal-4ve.example/x', 'https://xn--pypal-4ve.example/x'))]);
  assert.deepEqual(joined(parse('https://b\u00fccher.example/x')),
    [el('p', a('https://xn--bcher-kva.example/x', 'https://b\u00fccher.example/x'))]);
});
