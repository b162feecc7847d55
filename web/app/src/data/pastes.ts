// The list of the newest public pastes: how lists are merged, and when pastes
// expire.

// Listed has the fields of a paste that order a list and end the paste's time in it.
export interface Listed {
  id: string;
  createdAt: string;
  expiresAt: string | null;
}

// pasteId matches the id of a paste.
export const pasteId = /^p:[0-9a-f]{32}$/;

// rawAddress returns the address of the plain text of a paste.
export const rawAddress = (id: string) => `/p/${id.slice(2)}/raw`;

// joinPastes returns the pastes of both lists, the newest first. If a paste is in both, it
// takes that of the second.
export function joinPastes<Paste extends Listed>(held: readonly Paste[], more: readonly Paste[]): Paste[] {
  const byId = new Map([...held, ...more].map((paste) => [paste.id, paste]));
  return [...byId.values()].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id));
}

// Times have a fixed number of digits, so they compare as text.
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));

// hasExpired reports whether a paste has expired at a time, in milliseconds since 1970.
export function hasExpired({ expiresAt }: Pick<Listed, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now;
}

// nextExpiry returns when the first of the pastes expires after a time, in milliseconds since
// 1970; null if none does.
export function nextExpiry(pastes: readonly Pick<Listed, 'expiresAt'>[], now: number): number | null {
  const times = pastes.flatMap(({ expiresAt }) => (expiresAt === null ? [] : [Date.parse(expiresAt)])).filter((at) => at > now);
  return times.length === 0 ? null : times.reduce((first, time) => Math.min(first, time));
}

// lifetimes are how long a paste may be kept, by their names in a form.
export const lifetimes = [
  { value: 'never', label: 'Never', seconds: null },
  { value: '10m', label: 'In 10 minutes', seconds: 600 },
  { value: '1h', label: 'In 1 hour', seconds: 3600 },
  { value: '1d', label: 'In 1 day', seconds: 86_400 },
  { value: '7d', label: 'In 7 days', seconds: 604_800 },
  { value: '30d', label: 'In 30 days', seconds: 2_592_000 },
] as const;

// expiryAfter returns the instant at which a paste with a lifetime from now on
// expires; null for never.
export function expiryAfter(lifetime: string, now: number): string | null {
  const seconds = lifetimes.find(({ value }) => value === lifetime)?.seconds ?? null;
  return seconds === null ? null : new Date(now + seconds * 1000).toISOString();
}

// longestBody is the most bytes that a paste may have.
export const longestBody = 512 * 1024;

// bytesOf returns how many bytes a text has in UTF-8.
export const bytesOf = (text: string) => new TextEncoder().encode(text).length;
