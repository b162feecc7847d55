// DateTime is a time in UTC with microseconds, such as 2026-11-21T09:30:00.123456Z. Compare
// the strings: a Date has milliseconds only, so two different times can become equal.
export type DateTime = string;

// Cursor is a position in a connection. Pass it back to the connection that it came from.
export type Cursor = string;

// compareDateTimes orders two times of the gateway, the earlier first. Their strings all have
// the same length, so they compare as the times do.
export function compareDateTimes(a: DateTime, b: DateTime): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// toDate returns a time for display. It loses the microseconds.
export function toDate(time: DateTime): Date {
  return new Date(time);
}

// toMicroseconds returns the microseconds since 1970, which a number holds exactly.
export function toMicroseconds(time: DateTime): number {
  const fraction = /\.(\d{1,6})/.exec(time)?.[1] ?? '';
  const seconds = Math.floor(Date.parse(time) / 1000);
  return seconds * 1_000_000 + Number(fraction.padEnd(6, '0'));
}
