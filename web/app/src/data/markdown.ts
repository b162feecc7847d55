// Markdown as a tree that contains only text and known elements. It never becomes
// HTML, so nothing needs to be sanitized, and markup in a text stays text (ADR
// 27). Images are not loaded; they become links.
//
// A node is a string or { tag, children }. tag is null for children without an
// element of their own. An "a" has href, an "ol" start, and "th" and "td" align.
import MarkdownIt, { type Token } from 'markdown-it';
import { shownHost } from './hosts.ts';

// MarkdownElement is a node with children.
export interface MarkdownElement {
  tag: string | null;
  children: MarkdownNode[];
  href?: string;
  start?: number;
  align?: string;
}

// MarkdownNode is a text or an element.
export type MarkdownNode = string | MarkdownElement;

// ParserToken has the fields of the parser's tokens that are read here.
export type ParserToken = Pick<Token, 'type' | 'tag' | 'nesting' | 'content' | 'attrGet'> & {
  hidden?: boolean; children?: ParserToken[] | null };

// attributeOf returns an attribute of a token as text, or null.
function attributeOf(token: ParserToken, name: string): string | null {
  const value = token.attrGet(name);
  return value === null ? null : String(value);
}

const markdown = new MarkdownIt('default', { html: false, linkify: true, breaks: true })
  // Indented text is rarely meant as code.
  .disable('code');
// Only addresses with a scheme become links: "readme.md" is not a host.
markdown.linkify.set({ fuzzyLink: false });
// The parser would show the host of a bare address in Unicode, whatever its letters.
const textOfAddress = markdown.normalizeLinkText;
markdown.normalizeLinkText = (address) => {
  const text = textOfAddress.call(markdown, address);
  const [, start = '', host = '', rest = ''] = /^(https?:\/\/)([^/?#]*)(.*)$/is.exec(text) ?? [];
  return start ? start + shownHost(host) + rest : text;
};

const blocks = new Set(['p', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'hr', 'table', 'thead',
  'tbody', 'tr', 'th', 'td']);
const elements = new Set([...blocks, 'a', 'br', 'code', 'em', 's', 'strong']);
// Headings of a text are below those of the page.
const headings: Record<string, string> = { h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' };
// The parser limits the depth of blocks, but not that of emphasis. Elements that are deeper have no
// effect on their contents.
const deepest = 100;
const schemes = new Set(['http:', 'https:', 'mailto:']);

// parse returns the nodes of a text.
export function parse(text: string): MarkdownNode[] {
  return nodesOf(markdown.parse(text, {}));
}

// excerpt returns the beginning of a text without its markup, on one line.
export function excerpt(text: string, length = 300): string {
  // Markup takes up characters too.
  const flat = flatten(parse(text.slice(0, 2 * length))).replaceAll(/\s+/g, ' ').trim();
  return flat.length > length ? `${flat.slice(0, length).trimEnd()}...` : flat;
}

// safeAddress returns an address if a link may lead to it, and otherwise null. It
// is parsed as browsers do, which ignores blanks and line breaks inside it.
export function safeAddress(address: string | null | undefined): string | null {
  if (!address) return null;
  try {
    return schemes.has(new URL(address).protocol) ? address : null;
  } catch {
    return null;
  }
}

// nodesOf returns the nodes of a parser's tokens. It leaves out elements that it does not know.
export function nodesOf(tokens: readonly ParserToken[], inLink = false): MarkdownNode[] {
  const whole: MarkdownNode[] = [];
  const open = [{ children: whole, inLink }];
  for (const token of tokens) {
    const parent = open.at(-1) ?? { children: whole, inLink };
    if (token.nesting < 0) {
      open.pop();
    } else if (token.nesting > 0) {
      const node = open.length > deepest ? { tag: null, children: parent.children } : elementOf(token);
      if (node.children !== parent.children) parent.children.push(node);
      open.push({ children: node.children, inLink: parent.inLink || node.tag === 'a' });
    } else {
      // A paragraph of a large text has more leaves than a call may have arguments.
      for (const leaf of leavesOf(token, parent.inLink)) parent.children.push(leaf);
    }
  }
  return whole;
}

function elementOf(token: ParserToken): MarkdownElement {
  const tag = headings[token.tag] ?? token.tag;
  if (tag === 'a') return linkTo(attributeOf(token, 'href'), []);
  if (token.hidden || !elements.has(tag)) return { tag: null, children: [] };
  const start = tag === 'ol' ? Number(token.attrGet('start') ?? 1) : 1;
  const align = /text-align:(left|center|right)/.exec(attributeOf(token, 'style') ?? '')?.[1];
  return { tag, ...(start !== 1 && { start }), ...(align && { align }), children: [] };
}

function leavesOf(token: ParserToken, inLink: boolean): MarkdownNode[] {
  switch (token.type) {
    case 'inline':
      return nodesOf(token.children ?? [], inLink);
    case 'softbreak':
    case 'hardbreak':
      return [{ tag: 'br', children: [] }];
    case 'hr':
      return [{ tag: 'hr', children: [] }];
    case 'code_inline':
      return [{ tag: 'code', children: [token.content] }];
    case 'fence':
      return [{ tag: 'pre', children: [{ tag: 'code', children: [token.content] }] }];
    case 'image': {
      const address = attributeOf(token, 'src');
      const text = [token.content || (address ?? '')];
      return inLink ? text : [linkTo(address, text)];
    }
    default:
      return token.content ? [token.content] : [];
  }
}

function linkTo(address: string | null, children: MarkdownNode[]): MarkdownElement {
  const href = safeAddress(address);
  return href ? { tag: 'a', href, children } : { tag: null, children };
}

function flatten(nodes: readonly MarkdownNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? node : flatten(node.children) +
    (node.tag && (blocks.has(node.tag) || node.tag === 'br') ? ' ' : ''))).join('');
}
