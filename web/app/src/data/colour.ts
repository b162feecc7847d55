// Syntax highlighting. The highlighter returns a tree of tokens, which become
// elements and never HTML, so markup in a text stays text (ADR 35). This module
// is loaded when the first text is shown.
import { createLowlight } from 'lowlight';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import graphql from 'highlight.js/lib/languages/graphql';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { longestColoured } from './languages.ts';

// A token is a text, or tokens in an element whose class sets the colour.
export type ColourToken = string | { className: string; children: ColourToken[] };

const grammars = { bash, c, cpp, csharp, css, diff, dockerfile, go, graphql, ini, java, javascript, json, kotlin,
  makefile, markdown, php, python, ruby, rust, sql, swift, typescript, xml, yaml };
const lowlight = createLowlight(grammars);

// sampled is the number of characters that are read to guess the language of a
// text, and leastRelevance the confidence that a guess needs. Prose contains
// keywords of some languages, but little of the punctuation of code.
const sampled = 2000;
const leastRelevance = 5;
const marks = /[{}()[\];=<>]/g;
const leastMarks = 0.02;

// guessLanguage returns the language that a text is probably in, or null if it is prose.
export function guessLanguage(text: string): string | null {
  const sample = text.slice(0, sampled);
  if ((sample.match(marks)?.length ?? 0) < leastMarks * sample.length) return null;
  const { data } = lowlight.highlightAuto(sample);
  return data?.language && (data.relevance ?? 0) >= leastRelevance ? data.language : null;
}

// colour returns the tokens of a text. A text that is too long, or in an unknown
// language, is a single token.
export function colour(text: string, language: string | null): ColourToken[] {
  if (language === null || !lowlight.registered(language) || text.length > longestColoured) return [text];
  return tokensOf(lowlight.highlight(language, text).children);
}

type Tree = ReturnType<typeof lowlight.highlight>['children'];

// deepest is the depth from which on tokens have no colours of their own.
const deepest = 100;

function tokensOf(nodes: Tree, depth = 0): ColourToken[] {
  if (depth === deepest) return [textOf(nodes)];
  return nodes.flatMap((node): ColourToken[] => {
    if (node.type === 'text') return [node.value];
    if (node.type !== 'element') return [];
    const names = node.properties['className'];
    return [{ className: Array.isArray(names) ? names.join(' ') : '', children: tokensOf(node.children as Tree, depth + 1) }];
  });
}

// textOf returns the text within nodes of any depth.
function textOf(nodes: Tree): string {
  const rest = nodes.toReversed();
  let text = '';
  for (let node = rest.pop(); node; node = rest.pop()) {
    if (node.type === 'text') text += node.value;
    else if (node.type === 'element') for (const child of (node.children as Tree).toReversed()) rest.push(child);
  }
  return text;
}
