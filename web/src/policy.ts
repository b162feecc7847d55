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

// addNonceToStyles sets the nonce of the page on every style element that a script creates. A
// script that runs here may set styles in any case: the policy refuses style elements in markup,
// which are not created this way.
function addNonceToStyles(page: Document) {
  const nonce = nonceOf(page);
  const original = page.createElement.bind(page);
  const createElement = (name: string, options?: ElementCreationOptions) => {
    const element = original(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  page.createElement = createElement as typeof page.createElement;
}

// MonacoMarkup is markup that Monaco has created itself. All of it passes through one of the
// policies of Trusted Types that Monaco requests from MonacoEnvironment, and nothing else does.
class MonacoMarkup {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }

  toString(): string {
    return this.markup;
  }
}

// createTrustedTypesPolicy returns a policy for Monaco whose HTML is a MonacoMarkup.
export const createTrustedTypesPolicy: Environment['createTrustedTypesPolicy'] = (name, { createHTML, ...others } = {}) => {
  if (!createHTML) return { name, ...others };
  return { name, ...others, createHTML: (markup) => new MonacoMarkup(createHTML(markup)) };
};

// In Monaco's markup neither texts nor attributes contain a bare < or >, so a tag ends where it
// seems to.
const tags = /<[a-z][^<>]*>/gi;
const attribute = / style="([^"]*)"/i;
const styleAttribute = 'data-monaco-style';

// nodesOf returns the nodes of Monaco's markup. It sets their styles by script, which the policy
// allows, instead of leaving them to the parser.
function nodesOf({ markup }: MonacoMarkup): Node {
  const template = document.createElement('template');
  template.innerHTML = markup.replace(tags, (tag) => tag.replace(attribute, ` ${styleAttribute}="$1"`));
  const nodes = document.adoptNode(template.content);
  for (const element of nodes.querySelectorAll<HTMLElement>(`[${styleAttribute}]`)) {
    element.style.cssText = element.getAttribute(styleAttribute) ?? '';
    element.removeAttribute(styleAttribute);
  }
  return nodes;
}

const methods = {
  beforebegin: 'before',
  afterbegin: 'prepend',
  beforeend: 'append',
  afterend: 'after',
} as const;

// acceptMonacoMarkup makes elements accept a MonacoMarkup instead of a string. Strings are handled
// as always.
function acceptMonacoMarkup(kind: Element) {
  const { set, ...rest } = Object.getOwnPropertyDescriptor(kind, 'innerHTML') ?? {};
  Object.defineProperty(kind, 'innerHTML', {
    ...rest,
    set(this: Element, markup: unknown) {
      if (markup instanceof MonacoMarkup) this.replaceChildren(nodesOf(markup));
      else set?.call(this, markup);
    },
  });
  const insert = kind.insertAdjacentHTML;
  kind.insertAdjacentHTML = function insertAdjacentHTML(this: Element, position: InsertPosition, markup: string | MonacoMarkup) {
    if (markup instanceof MonacoMarkup) this[methods[position]](nodesOf(markup));
    else insert.call(this, position, markup);
  };
}

addNonceToStyles(document);
acceptMonacoMarkup(Element.prototype);
