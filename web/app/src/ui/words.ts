// The texts for the terms of the API, for all pages.

import { plain } from '../data/plain.ts';
import type { ContentKind, ContentRole, CountPrecision, GroupRole, LibraryVisibility } from '../generated/operations.ts';

// Thing is the kind of an object with a visibility.
export type Thing = 'group' | 'user' | 'item';

export function visibilityName(visibility: LibraryVisibility, tenant: string, what?: Thing): string {
  return {
    PUBLIC: 'Public',
    LOGGEDIN: `All of ${tenant || 'an organisation'}`,
    PRIVATE: what === 'group' ? 'Members only' : 'Private',
  }[visibility];
}

export function visibilityMeaning(visibility: LibraryVisibility, tenant: string, what: Thing): string {
  return {
    PUBLIC: `Everyone, signed in or not.${what === 'item' ? ' It is listed under Newest.' : ''}`,
    LOGGEDIN: `Everyone who is signed in to ${tenant}.`,
    PRIVATE: {
      group: 'Only its members, and administrators.',
      user:
        'Only you and administrators can find your profile. Managers of items shared with you, and of your groups, still see your name.',
      item: 'Only people it is shared with, and administrators.',
    }[what],
  }[visibility];
}

export const roleName: Record<ContentRole | GroupRole, string> = { VIEWER: 'Viewer', EDITOR: 'Editor', MANAGER: 'Manager',
  MEMBER: 'Member' };

export function roleMeaning(role: ContentRole, kind: ContentKind): string {
  return {
    VIEWER: 'Can view the item, even when it is private.',
    EDITOR: `Can also edit the title, description and ${kind === 'NOTE' ? 'text' : 'link'}.`,
    MANAGER: 'Can also change visibility, expiry and members, and delete the item.',
  }[role];
}

export const kindName: Record<ContentKind, string> = { LINK: 'Link', NOTE: 'Note' };
export const kindsName: Record<ContentKind, string> = { LINK: 'Links', NOTE: 'Notes' };

// accessTo describes how much of a library the viewer sees.
export function accessTo(bucket: LibraryVisibility, tenant: string): string {
  return {
    PUBLIC: 'public items only',
    LOGGEDIN: `items visible to all of ${tenant}`,
    PRIVATE: 'full access',
  }[bucket];
}

export function countOf({ value, precision }: { value: number; precision: CountPrecision }): string {
  const number = new Intl.NumberFormat('en-GB').format(value);
  return `${precision === 'AT_LEAST' ? 'more than ' : ''}${number} ${value === 1 ? 'item' : 'items'}`;
}

// mostLetters is how much of a title a sentence has: a notice is read at a glance.
const mostLetters = 60;
const letters = new Intl.Segmenter('en');

// named puts a title into a sentence, shortened if it is long.
export function named(title: string): string {
  const all = [...letters.segment(plain(title))].map(({ segment }) => segment);
  return `“${all.length > mostLetters ? `${all.slice(0, mostLetters).join('').trimEnd()}…` : all.join('')}”`;
}

export const newPastes = (n: number) => `${n} new ${n === 1 ? 'paste' : 'pastes'}`;

// pasteTitle names a paste, which may have no title.
export const pasteTitle = (title: string | null) => plain(title ?? '').trim() || 'Untitled paste';

export const newUpdates = (n: number) => `${n} new ${n === 1 ? 'update' : 'updates'}`;

// foundOf returns the text for a number of results; more: the list continues.
export function foundOf(number: number, more: boolean): string {
  if (!more) return `${number} found`;
  return number === 0 ? 'None found so far' : `First ${number} found; there are more`;
}

// matchesOf says how many items a search has found; more: the search may find further ones.
export function matchesOf(number: number, more: boolean): string {
  if (number === 0) return more ? 'No matches so far.' : 'No matches.';
  return `${number} ${number === 1 ? 'match' : 'matches'}${more ? ' so far.' : '.'}`;
}

const day = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayInYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const monthOf = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric' });
const both = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' });

// dayOf names the day of a time, in the reader's time zone: Today, Yesterday, or a date.
export function dayOf(time: string, now = new Date()): string {
  const then = new Date(time);
  const name = day.format(then);
  if (name === day.format(now)) return 'Today';
  // By the calendar, because a day may have 23 or 25 hours.
  return name === day.format(new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1)) ? 'Yesterday' : name;
}

// untilTomorrow returns the milliseconds until the names of days change.
export function untilTomorrow(now = new Date()): number {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime() - now.getTime();
}

export const clockOf = (time: string) => clock.format(new Date(time));

// whenOf tells a time in a few characters: of today by the clock, of this year by the day, and else by the month.
export function whenOf(time: string, now = new Date()): string {
  const then = new Date(time);
  if (day.format(then) === day.format(now)) return clock.format(then);
  return (then.getFullYear() === now.getFullYear() ? dayInYear : monthOf).format(then);
}

export const dateOf = (time: string) => both.format(new Date(time));
export const kindOfPrincipal = (id: string): Thing => (id.startsWith('g:') ? 'group' : 'user');

const languages = new Intl.DisplayNames(['en-GB'], { type: 'language' });

// languageName names the locale of a text; null is a text that has none.
export function languageName(locale: string | null): string {
  if (locale === null) return 'All languages';
  if (locale === 'xx') return 'No language';
  try {
    return languages.of(locale.replace('_', '-')) ?? locale;
  } catch {
    return locale;
  }
}

// versionOf names a revision: people count from one.
export const versionOf = (number: number) => `Version ${number + 1}`;

// handleOf tells people with the same name apart, without the syntax of ids.
export function handleOf(id: string, tenant: string): string {
  const [kind, of = '', name = ''] = id.split(':');
  return `${kind === 'g' ? 'Group' : name}${of === tenant ? '' : ` of ${of}`}`;
}

// textHeading adds the locale and the branch of a text to the heading of a dialog. Branch 1 is
// omitted, because most texts have no other branch.
export function textHeading(heading: string, { locale, branch }: { locale: string | null; branch: number }): string {
  const parts = [locale !== null && languageName(locale), branch > 1 && `branch ${branch}`].filter(Boolean);
  return parts.length === 0 ? heading : `${heading}: ${parts.join(', ')}`;
}

// noText says that there is no text to show. locale is the chosen one, undefined if none was
// chosen. branch is set if it is not the one that visitors see. hasOthers reports whether there
// are texts in other languages.
export function noText(locale: string | null | undefined, branch: number | null, hasOthers = false): string {
  if (locale) return `There is no text in ${languageName(locale)}${branch === null ? '' : ` in branch ${branch}`} yet.`;
  const what = branch === null ? 'This note' : `Branch ${branch}`;
  return hasOthers && locale === undefined ? `${what} has no text in your language. Choose another one.` : `${what} has no text yet.`;
}
