// Markdown as React elements, never as HTML: markup in a text stays text.
import { createElement, Fragment, memo, type ReactNode } from 'react';
import { directionOf } from '../data/direction.ts';
import { parse, type MarkdownElement, type MarkdownNode } from '../data/markdown.ts';
import { Panel } from './panel.tsx';

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <Panel what="this text" of={text}>
      <Parsed text={text} />
    </Panel>
  );
});

function Parsed({ text }: { text: string }) {
  return <div className="markdown">{draw(parse(text), directionOf(text))}</div>;
}

// draw draws nodes. dir is 'auto' for the blocks of a text: each is written in the direction of its first word.
function draw(nodes: MarkdownNode[], dir?: 'auto'): ReactNode[] {
  return nodes.map((node, i) => (typeof node === 'string' ? node : <Node key={i} node={node} dir={dir} />));
}

function Node({ node: { tag, href, start, align, children }, dir }: { node: MarkdownElement; dir: 'auto' | undefined }) {
  const inside = draw(children);
  switch (tag) {
    case null:
      return <Fragment>{inside}</Fragment>;
    case 'a':
      return <ExternalLink href={href}>{inside}</ExternalLink>;
    case 'table':
      // tabIndex lets the keyboard scroll it.
      return (
        <div className="markdown-table" role="region" aria-label="Table" tabIndex={0} dir={dir}>
          <table>{inside}</table>
        </div>
      );
    case 'br':
    case 'hr':
      return createElement(tag);
    default:
      return createElement(tag, { start, dir: tag === 'pre' ? undefined : dir, className: align && `align-${align}` }, inside);
  }
}

// ExternalLink links to another site, without sending it the address of this page.
export function ExternalLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
      <span className="hidden"> (opens in a new tab)</span>
    </a>
  );
}
