// The policy of the page (web.go) lets a style element in by the nonce of this
// answer alone, and no style attribute that was read out of markup. Monaco knows
// of neither: it makes style elements without a nonce, and draws its lines as
// markup with a style attribute at each. This module stands between the two, so
// that the policy need not be opened for whatever else comes to be in the page.
// ADR 23 says why here. It must be loaded before Monaco is.

import type { Environment } from 'monaco-editor';

// nonceOf is the nonce that vite has told the page; a browser shows it to
// scripts as a property, never as an attribute.
function nonceOf(page: Document): string {
  return page.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}

// nameStyles gives every style element that a script makes the nonce of the
// page. A script that runs here may set styles in any case: what the policy
// refuses is a style element out of text, and such a one does not come this way.
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

// Drawing is markup that Monaco has made itself. All of it passes one of the
// policies of Trusted Types that Monaco asks MonacoEnvironment for, and nothing
// else does.
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

// In Monaco's markup neither texts nor attributes hold a bare < or >, so a tag
// ends where it seems to.
const tags = /<[a-z][^<>]*>/gi;
const attribute = / style="([^"]*)"/i;
const kept = 'data-drawn';

// nodesOf is a drawing as nodes. Its styles are set one by one from here, which
// is a script's right, and not read by the parser.
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

// takeDrawings has elements take a drawing where they take markup. Any other
// markup goes the way it always has.
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
