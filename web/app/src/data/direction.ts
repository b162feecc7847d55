// The direction in which a text is written.

// longest is the length of a text whose direction a browser may look for. In one of 512 KB that takes it minutes.
const longest = 50_000;

// directionOf returns the dir attribute of a text: 'auto' is the direction of its first word.
export const directionOf = (text: string): 'auto' | undefined => (text.length < longest ? 'auto' : undefined);
