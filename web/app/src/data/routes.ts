// Conversion between places in the client and addresses. An address contains everything that is
// needed to return to the same place.
import { filterParams, noFilter, readFilter, type Filter } from './filter.ts';
import { defaultOrder, readOrder, type Order } from './order.ts';
import { pasteId } from './pastes.ts';

// Place is a page and what it shows. For a library, at is the cursor from which its entries
// are shown, item the id of the item next to them, and filter the filter of its search.
export type Place = PlainPlace | FindPlace | OpenPlace | NewestPlace | OfId | LibraryPlace;

// Destination is a place to go to. What a library's destination omits has its default.
export type Destination = PlainPlace | FindPlace | OpenPlace | NewestPlace | OfId | (Pick<LibraryPlace,
  'name' | 'id'> & Partial<LibraryPlace>);

interface PlainPlace {
  name: 'home' | 'groups' | 'pastes' | 'unknown';
  id?: undefined;
  item?: undefined;
}

interface FindPlace {
  name: 'find';
  q: string;
  id?: undefined;
  item?: undefined;
}

// OpenPlace opens an item by its URL; tenant '' is the viewer's own.
export interface OpenPlace {
  name: 'open';
  url: string;
  tenant: string;
  id?: undefined;
  item?: undefined;
}

// NewestPlace is the newest public content of a tenant; '' is the viewer's own.
export interface NewestPlace {
  name: 'newest';
  tenant: string;
  id?: undefined;
  item?: undefined;
}

interface OfId {
  name: 'item' | 'members' | 'paste';
  id: string;
  item?: undefined;
}

// LibraryPlace is a view of a library. shared includes the private items shared with the viewer.
export interface LibraryPlace {
  name: 'library';
  id: string;
  order: Order;
  shared: boolean;
  at: string | null;
  item: string | null;
  filter: Filter;
}

const root = '/app';

// principalId and contentId match the ids of users and groups, and of items.
export const principalId = /^[ug]:[a-z0-9][a-z0-9-]{0,31}:[A-Za-z0-9._~@/-]{1,128}$/i;
export const contentId = /^c:[a-z0-9][a-z0-9-]{0,31}:[A-Za-z0-9._~@/-]{1,128}$/;

// readAddress returns the place of a path and its query. If these contain neither an order nor a position,
// which is one in the default order, the order is that which kept returns for the library.
export function readAddress(path: string, query = '', kept: (library: string) => Order | null = () => null): Place {
  const params = new URLSearchParams(query);
  const [name, id] = split(path);
  if (name === '') return { name: 'home' };
  if (name === 'groups' && !id) return { name: 'groups' };
  if (name === 'find' && !id) return { name: 'find', q: params.get('q') ?? '' };
  if (name === 'open' && !id) return { name: 'open', url: params.get('url') ?? '', tenant: params.get('tenant') ?? '' };
  if (name === 'newest' && !id) return { name: 'newest', tenant: params.get('tenant') ?? '' };
  if (name === 'pastes' && !id) return { name: 'pastes' };
  if (name === 'pastes' && pasteId.test(id)) return { name: 'paste', id };
  if (name === 'item' && contentId.test(id)) return { name: 'item', id };
  if (name === 'members' && /^g:/i.test(id) && principalId.test(id)) return { name: 'members', id: id.toLowerCase() };
  if (name === 'library' && principalId.test(id)) {
    const [item, at] = [params.get('item'), params.get('at')];
    const library = id.toLowerCase();
    return {
      name: 'library',
      id: library,
      order: readOrder(params.get('order')) ?? (at ? null : kept(library)) ?? defaultOrder,
      shared: params.get('shared') === '1',
      at,
      item: item && contentId.test(item) ? item : null,
      filter: readFilter(params),
    };
  }
  return { name: 'unknown' };
}

// placeOfUrl returns the place of a URL of this client, or null if the URL is of another site or of no page.
export function placeOfUrl(url: string, origin: string): Place | null {
  if (!URL.canParse(url)) return null;
  const { origin: its, pathname, search } = new URL(url);
  const place = readAddress(pathname, search);
  return its === origin && place.name !== 'unknown' && place.name !== 'open' ? place : null;
}

// split splits a path below the root into its first segment and the rest, which
// is an id and may contain slashes.
function split(path: string): [string, string] {
  const below = path.replace(/\/+$/, '');
  if (below === root || !below.startsWith(`${root}/`)) return [below === root ? '' : '?', ''];
  const [, name = '?', rest = ''] = /^([^/]+)\/?(.*)$/.exec(below.slice(root.length + 1)) ?? [];
  try {
    return [name, decodeURIComponent(rest)];
  } catch {
    return ['?', ''];
  }
}

// addressOf returns the path and query of a place. The default order is only in it if the reader has kept
// another one for the library.
export function addressOf(place: Destination, kept: Order | null = null): string {
  switch (place.name) {
    case 'groups':
      return `${root}/groups`;
    case 'find':
      return `${root}/find${queryOf({ q: place.q })}`;
    case 'open':
      return `${root}/open${queryOf({ url: place.url, tenant: place.tenant })}`;
    case 'newest':
      return `${root}/newest${queryOf({ tenant: place.tenant })}`;
    case 'pastes':
      return `${root}/pastes`;
    case 'paste':
      return `${root}/pastes/${segmentsOf(place.id)}`;
    case 'item':
      return `${root}/item/${segmentsOf(place.id)}`;
    case 'members':
      return `${root}/members/${segmentsOf(place.id)}`;
    case 'library': {
      const { order, shared, at, item, filter = noFilter } = place;
      const shownOrder = order !== defaultOrder || kept ? order : null;
      const query = queryOf({ order: shownOrder, shared: shared && '1', ...filterParams(filter), item, at });
      return `${root}/library/${segmentsOf(place.id)}${query}`;
    }
    default:
      return root;
  }
}

// segmentsOf encodes an id for a path. Slashes stay as they are, unless a segment
// is empty, "." or "..", which browsers would resolve.
function segmentsOf(id: string): string {
  const steps = id.split('/');
  const plain = steps.every((step) => step !== '' && step !== '.' && step !== '..');
  return steps.map((step) => encodeURIComponent(step).replaceAll('%3A', ':').replaceAll('%40', '@')).join(plain ? '/' : '%2F');
}

function queryOf(values: Record<string, string | false | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value) params.set(name, value);
  }
  const text = params.toString().replaceAll('%3A', ':').replaceAll('%40', '@').replaceAll('%2F', '/');
  return text && `?${text}`;
}

// samePage reports whether two places are on the same page, between which focus stays.
export function samePage(a: Destination, b: Destination): boolean {
  return a.name === b.name && a.id === b.id;
}
