// Times as a datetime-local field holds them: in the reader's time zone, by the
// minute.

const two = (number: number) => String(number).padStart(2, '0');

// localOf returns an instant as the field shows it, '' for none.
export function localOf(instant: string | null): string {
  if (!instant) return '';
  const time = new Date(instant);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

// instantOf returns what the field shows as an instant, or null if it is not a
// whole date and time.
export function instantOf(local: string): string | null {
  const time = new Date(local);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(local) && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}
