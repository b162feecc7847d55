// Links into GraphiQL: /?query=...&variables=... opens a tab with an operation,
// which is run by nobody but the user; /?docs opens the documentation.

export interface Link {
  query: string;
  variables: string;
}

// readLink returns the operation that an address holds as { query, variables },
// or null.
export function readLink(search: string): Link | null {
  const params = new URLSearchParams(search);
  const query = params.get('query');
  if (!query) return null;
  return { query, variables: tidy(params.get('variables') ?? '') };
}

export function asksForDocs(search: string): boolean {
  return new URLSearchParams(search).has('docs');
}

// tidy lays JSON out over several lines; what is no JSON stays as it is.
function tidy(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
