// Avatars: letters from the name, a colour from the id.

// tones is the number of colour pairs in style/avatars.css.
export const tones = 24;

// toneOf returns the colour pair of an id: the same one everywhere, and usually
// a different one for a different id (32-bit FNV-1a, so that similar ids differ).
export function toneOf(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  // The low bits of FNV alone are weak: fold the high ones in.
  return ((hash ^ (hash >>> 15)) >>> 0) % tones;
}

// initialsOf returns the initials of the first and the last word of a name, or
// the first two letters of a single word. Words without a letter do not count.
export function initialsOf(name: string): string {
  const words = name.split(/[\s/._-]+/).map((word) => [...word.matchAll(/\p{L}\p{M}*/gu)].map(([letter]) => letter))
    .filter((letters) => letters.length > 0);
  const [first] = words;
  const last = words.at(-1);
  if (!first || !last) return '·';
  const letters = words.length === 1 ? first.slice(0, 2) : [first[0], last[0]];
  return letters.join('').toLocaleUpperCase('en');
}
