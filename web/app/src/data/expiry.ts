// Conversion between instants and the values of a datetime-local field, which are
// minutes in the reader's time zone.

const two = (number: number) => String(number).padStart(2, '0');

// localOf returns the field's value for an instant, '' for null.
export function localOf(instant: string | null): string {
  if (!instant) return '';
  const time = new Date(instant);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

// instantOf returns the instant of a field's value, or null if it is not a date
// and time.
export function instantOf(local: string): string | null {
  const time = new Date(local);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(local) && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}
