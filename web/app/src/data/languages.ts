// The languages of syntax highlighting.

// longestColoured is the most characters of a text that is coloured: a longer one
// would block the page for a while.
export const longestColoured = 100_000;

// languageNames are the names of the languages, by their ids in the highlighter.
export const languageNames: Readonly<Record<string, string>> = {
  bash: 'Shell',
  c: 'C',
  cpp: 'C++',
  csharp: 'C#',
  css: 'CSS',
  diff: 'Diff',
  dockerfile: 'Dockerfile',
  go: 'Go',
  graphql: 'GraphQL',
  ini: 'INI, TOML',
  java: 'Java',
  javascript: 'JavaScript',
  json: 'JSON',
  kotlin: 'Kotlin',
  makefile: 'Makefile',
  markdown: 'Markdown',
  php: 'PHP',
  python: 'Python',
  ruby: 'Ruby',
  rust: 'Rust',
  sql: 'SQL',
  swift: 'Swift',
  typescript: 'TypeScript',
  xml: 'HTML, XML',
  yaml: 'YAML',
};

const byExtension = new Map(Object.entries({
  sh: 'bash', bash: 'bash', zsh: 'bash', c: 'c', h: 'c', cc: 'cpp', cpp: 'cpp', hpp: 'cpp', cs: 'csharp', css: 'css',
    diff: 'diff', patch: 'diff',
  go: 'go', graphql: 'graphql', graphqls: 'graphql', gql: 'graphql', ini: 'ini', toml: 'ini', java: 'java',
    js: 'javascript', jsx: 'javascript', mjs: 'javascript',
  json: 'json', kt: 'kotlin', kts: 'kotlin', mk: 'makefile', md: 'markdown', php: 'php', py: 'python', rb: 'ruby',
    rs: 'rust', sql: 'sql', cql: 'sql',
  swift: 'swift', ts: 'typescript', tsx: 'typescript', html: 'xml', xml: 'xml', svg: 'xml', yaml: 'yaml', yml: 'yaml',
}));

// languageOfTitle returns the language of a text whose title is, or ends with, the name of a
// file; null if it is not.
export function languageOfTitle(title: string | null): string | null {
  const word = /(\S+?)[:,.;)]*$/.exec(title?.trim() ?? '')?.[1]?.toLowerCase() ?? '';
  if (/(^|\/)dockerfile$/.test(word)) return 'dockerfile';
  if (/(^|\/)makefile$/.test(word)) return 'makefile';
  const extension = /.\.([a-z]+)$/.exec(word)?.[1] ?? '';
  return byExtension.get(extension) ?? null;
}
