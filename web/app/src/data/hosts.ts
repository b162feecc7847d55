// How addresses are shown to people. A host can be written in letters that look like those of another
// host, and invisible characters can reorder what is shown.

// The combinations of scripts in which a label of a host is shown in its own letters, those that
// Unicode (UTS 39) calls highly restrictive. A label of other combinations is shown as xn--.
const scripts = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Georgian', 'Hebrew', 'Arabic', 'Devanagari', 'Bengali',
  'Tamil', 'Thai', 'Han', 'Hangul'];
const combinations = [...scripts.map((one) => [one]), ['Latin', 'Han', 'Hiragana', 'Katakana'], ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul']];
const oneWriting = new RegExp(`^(?:${combinations.map((names) => `[-\\d${names.map((name) => `\\p{Script=${name}}`)
  .join('')}]+`).join('|')})$`, 'u');

// shownHost returns a host as it is shown: in xn-- form if a label of it mixes scripts.
export function shownHost(host: string): string {
  const name = host.normalize('NFC').toLowerCase();
  if (name.split(/[.。．｡:]/).every((label) => label === '' || oneWriting.test(label))) return host;
  try {
    return new URL(`https://${host}`).host;
  } catch {
    return host.replaceAll(/[^\x21-\x7e]/g, '?');
  }
}

// shownAddress returns an http or https URL as it is shown: without its scheme, its host as
// shownHost returns it, and characters that are invisible or change the direction escaped.
export function shownAddress(address: string): string {
  const [, host = '', rest = ''] = /^(?:https?:\/\/)?([^/?#\\]*)(.*)$/is.exec(address) ?? [];
  return shownHost(host) + rest.replaceAll(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu, encodeURIComponent);
}

// withScheme returns a link as a person types it, such as example.com/x, with https. Other texts stay
// as they are.
export function withScheme(text: string): string {
  const link = text.trim();
  return /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+(:\d+)?([/?#]\S*)?$/u.test(link) ? `https://${link}` : link;
}
