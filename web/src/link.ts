// Links to GraphiQL: /?query=...&variables=...&operationName=... opens a tab with an operation
// and does not run it; /?docs opens the documentation.
import { parse, visit, type ASTNode, type DocumentNode } from 'graphql';

// Link is the operation in a link.
export interface Link {
  query: string;
  variables: string;
  operationName: string;
}

// readLink returns the operation in an address, or null.
export function readLink(search: string): Link | null {
  const params = new URLSearchParams(search);
  const query = params.get('query');
  if (!query) return null;
  return {
    query,
    variables: tidy(params.get('variables') ?? ''),
    operationName: params.get('operationName') ?? '',
  };
}

// asksForDocs reports whether an address opens the documentation.
export function asksForDocs(search: string): boolean {
  return new URLSearchParams(search).has('docs');
}

// tidy formats JSON over several lines; other text is unchanged.
function tidy(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Made is a link and the names of the values that it omits, or the reason why there is no link.
export type Made = { link: string; leftOut: string[] } | { refused: string };

// maxLink is the most characters that servers and chat programs accept in an address.
export const maxLink = 8000;

// makeLink returns a link that opens the operation at the address of the page. It contains no
// headers, and omits values that are secrets by their names or their form: users of the link
// fill in their own.
export function makeLink(page: string, { query, variables, operationName }: Link): Made {
  const leftOut = new Set<string>();
  let document: DocumentNode;
  try {
    document = parse(query);
  } catch {
    return { refused: 'Cannot copy a link: the document has a syntax error.' };
  }
  const params = new URLSearchParams({ query: withoutSecrets(query, document, leftOut) });
  if (variables.trim() !== '') {
    try {
      params.set('variables', JSON.stringify(JSON.parse(variables, (name, value) => withoutSecret(name, value, leftOut))));
    } catch {
      return { refused: 'Cannot copy a link: the variables are not valid JSON.' };
    }
  }
  if (operationName !== '' && document.definitions.length > 1) params.set('operationName', operationName);
  if ([...params.values()].some((text) => token.test(text))) {
    return { refused: 'Cannot copy a link: the operation contains a token.' };
  }
  const link = new URL(`/?${params}`, page).href;
  if (link.length > maxLink) return {
    refused: `Cannot copy a link: it would have ${link.length} characters, and more than ${maxLink} do not work everywhere.` };
  return { link, leftOut: [...leftOut] };
}

const secretName = /token|secret|password|authorization|credential/i;
// A JSON Web Token, which the gateway accepts.
const token = /eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/;

function isSecret(name: string, value: string): boolean {
  return value !== '' && (secretName.test(name) || token.test(value));
}

function withoutSecret(name: string, value: unknown, leftOut: Set<string>): unknown {
  if (typeof value !== 'string' || !isSecret(name, value)) return value;
  leftOut.add(name);
  return '';
}

// withoutSecrets empties the strings in a document that are secrets: of arguments, of fields of
// input objects, and defaults of variables.
function withoutSecrets(query: string, document: DocumentNode, leftOut: Set<string>): string {
  const emptied: { start: number; end: number }[] = [];
  const empty = (name: string, value: ASTNode | undefined) => {
    if (value?.kind !== 'StringValue' || !value.loc || !isSecret(name, value.value)) return;
    leftOut.add(name);
    emptied.push(value.loc);
  };
  visit(document, {
    Argument: ({ name, value }) => empty(name.value, value),
    ObjectField: ({ name, value }) => empty(name.value, value),
    VariableDefinition: ({ variable, defaultValue }) => empty(variable.name.value, defaultValue),
  });
  let text = query;
  for (const { start, end } of emptied.toSorted((a, b) => b.start - a.start)) {
    text = `${text.slice(0, start)}""${text.slice(end)}`;
  }
  return text;
}
