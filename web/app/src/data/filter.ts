// The filter of a library, in the address of the page and in the input of the gateway.
import type { ContentKind, ContentRole, LibraryFilter, LibraryVisibility } from '../generated/operations.ts';

// Filter narrows what is shown of a library. An empty text or list restricts nothing.
export interface Filter {
  text: string;
  kinds: ContentKind[];
  visibilities: LibraryVisibility[];
  roles: ContentRole[];
  createdBy: string | null;
}

// noFilter restricts nothing.
export const noFilter: Filter = { text: '', kinds: [], visibilities: [], roles: [], createdBy: null };

// allKinds, allVisibilities and allRoles are the values that a filter can list.
export const allKinds: ContentKind[] = ['LINK', 'NOTE'];
export const allVisibilities: LibraryVisibility[] = ['PUBLIC', 'LOGGEDIN', 'PRIVATE'];
export const allRoles: ContentRole[] = ['MANAGER', 'EDITOR', 'VIEWER'];

// longestText is the most characters that a search may have.
export const longestText = 200;

// mostWords is the most words that a search may have.
export const mostWords = 10;

const userId = /^u:[a-z0-9][a-z0-9-]{0,31}:[a-z0-9._~@/-]{1,128}$/;

// readFilter returns the filter in the query of an address. It ignores unknown values.
export function readFilter(params: URLSearchParams): Filter {
  const creator = params.get('by')?.toLowerCase() ?? '';
  return {
    text: (params.get('q') ?? '').slice(0, longestText).trim(),
    kinds: known(params, 'kind', allKinds),
    visibilities: known(params, 'visible', allVisibilities),
    roles: known(params, 'role', allRoles),
    createdBy: userId.test(creator) ? creator : null,
  };
}

function known<T extends string>(params: URLSearchParams, name: string, all: T[]): T[] {
  const given = (params.get(name) ?? '').toUpperCase().split(',');
  return all.filter((value) => given.includes(value));
}

// filterParams returns the query of an address that readFilter reads.
export function filterParams({ text, kinds, visibilities, roles, createdBy }: Filter): Record<string, string | null> {
  const list = (values: string[]) => values.join(',').toLowerCase();
  return { q: text, kind: list(kinds), visible: list(visibilities), role: list(roles), by: createdBy };
}

// isNarrow reports whether a filter restricts anything.
export function isNarrow(filter: Filter): boolean {
  const { text, kinds, visibilities, roles, createdBy } = filter;
  return text.trim() !== '' || kinds.length + visibilities.length + roles.length > 0 || createdBy !== null;
}

// filterInput returns the gateway's input for a filter. An empty list restricts nothing, and is
// left out.
export function filterInput({ text, kinds, visibilities, roles, createdBy }: Filter): LibraryFilter {
  return {
    text: text.trim() || undefined,
    kinds: orNothing(kinds),
    visibilities: orNothing(visibilities),
    roles: orNothing(roles),
    createdBy: createdBy ?? undefined,
  };
}

function orNothing<T>(values: T[]): T[] | undefined {
  return values.length > 0 ? values : undefined;
}

// toggle adds a value to a list, or removes it.
export function toggle<T>(values: T[], value: T): T[] {
  return values.includes(value) ? values.filter((other) => other !== value) : [...values, value];
}
