// The page's content security policy (web.go) allows style elements only with the nonce of this
// answer, and no style attributes in markup. Monaco violates both: it creates style elements
// without a nonce, and renders its lines as markup with style attributes. This module adapts
// Monaco to the policy, so that the policy need not be relaxed for everything else in the page.
// ADR 23 gives the reasons. It must be loaded before Monaco.

import type { Environment } from 'monaco-editor';

// nonceOf returns the nonce that vite has put into the page; a browser shows it to scripts as a
// property, never as an attribute.
function nonceOf(page: Document): string {
  return page.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}

// nameStyles sets the nonce of the page on every style element that a script creates. A script
// that runs here may set styles in any case: the policy refuses style elements in markup, which
// are not created this way.
function nameStyles(page: Document) {
  const nonce = nonceOf(page);
  const make = page.createElement.bind(page);
  const named = (name: string, options?: ElementCreationOptions) => {
    const element = make(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  page.createElement = named as typeof page.createElement;
}

// Drawing is markup that Monaco has created itself. All of it passes through one of the
// policies of Trusted Types that Monaco requests from MonacoEnvironment, and nothing else does.
class Drawing {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }

  toString(): string {
    return this.markup;
  }
}

export const createTrustedTypesPolicy: Environment['createTrustedTypesPolicy'] = (name, { createHTML, ...others } = {}) => {
  if (!createHTML) return { name, ...others };
  return { name, ...others, createHTML: (markup) => new Drawing(createHTML(markup)) };
};

// In Monaco's markup neither texts nor attributes contain a bare < or >, so a tag ends where it
// seems to.
const tags = /<[a-z][^<>]*>/gi;
const attribute = / style="([^"]*)"/i;
const kept = 'data-drawn';

// nodesOf returns the nodes of a drawing. It sets their styles by script, which
// the policy allows, instead of leaving them to the parser.
function nodesOf(drawing: Drawing): Node {
  const template = document.createElement('template');
  template.innerHTML = drawing.markup.replace(tags, (tag) => tag.replace(attribute, ` ${kept}="$1"`));
  const nodes = document.adoptNode(template.content);
  for (const element of nodes.querySelectorAll<HTMLElement>(`[${kept}]`)) {
    element.style.cssText = element.getAttribute(kept) ?? '';
    element.removeAttribute(kept);
  }
  return nodes;
}

const places = {
  beforebegin: 'before',
  afterbegin: 'prepend',
  beforeend: 'append',
  afterend: 'after',
} as const;

// takeDrawings makes elements accept a drawing instead of markup. Any other markup is handled
// as always.
function takeDrawings(kind: Element) {
  const { set, ...rest } = Object.getOwnPropertyDescriptor(kind, 'innerHTML') ?? {};
  Object.defineProperty(kind, 'innerHTML', {
    ...rest,
    set(this: Element, markup: unknown) {
      if (markup instanceof Drawing) this.replaceChildren(nodesOf(markup));
      else set?.call(this, markup);
    },
  });
  const insert = kind.insertAdjacentHTML;
  kind.insertAdjacentHTML = function insertAdjacentHTML(this: Element, place: InsertPosition, markup: string | Drawing) {
    if (markup instanceof Drawing) this[places[place]](nodesOf(markup));
    else insert.call(this, place, markup);
  };
}

nameStyles(document);
takeDrawings(Element.prototype);
