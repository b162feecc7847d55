// DateTime is a time in UTC with microseconds, such as 2026-11-21T09:30:00.123456Z. Compare
// the strings: a Date only has milliseconds, so two different times can become equal.
export type DateTime = string;

// Cursor is a position in a connection. Pass it only to the connection that returned it.
export type Cursor = string;

// compareDateTimes compares two times of the gateway, earlier first. Their strings have the same
// length, so they are ordered like the times.
export function compareDateTimes(a: DateTime, b: DateTime): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// toDate returns a time for display, without its microseconds.
export function toDate(time: DateTime): Date {
  return new Date(time);
}

// toMicroseconds returns the microseconds since 1970, which a number represents exactly.
export function toMicroseconds(time: DateTime): number {
  const fraction = /\.(\d{1,6})/.exec(time)?.[1] ?? '';
  const seconds = Math.floor(Date.parse(time) / 1000);
  return seconds * 1_000_000 + Number(fraction.padEnd(6, '0'));
}
