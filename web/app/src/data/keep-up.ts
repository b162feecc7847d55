// Reading a page again replaces the range of a library. The page may lack changes that arrive
// while it is being read; without this module they would be lost.

// Keeping is what keepUp returns:
//
//   apply(event, again)  applies a change, and reports whether the library must be read again.
//                        again is true if the change was applied before. The caller sets apply
//   during(read)         reads, and then applies again the changes that arrived meanwhile. The
//                        promise is rejected if the read fails
//   receive(event)       applies a change that has arrived, and returns what apply returns
export interface Keeping<Change> {
  apply(event: Change, again: boolean): boolean;
  during(read: () => Promise<unknown>): Promise<void>;
  receive(event: Change): boolean;
}

// keepUp returns a Keeping for one view of a library.
export function keepUp<Change>(): Keeping<Change> {
  const readings = new Set<Change[]>();
  const keeping: Keeping<Change> = {
    apply: () => false,
    async during(read) {
      const missed: Change[] = [];
      readings.add(missed);
      try {
        await read();
      } finally {
        readings.delete(missed);
      }
      const anew = missed.filter((event) => keeping.apply(event, true));
      if (anew.length > 0) await keeping.during(read);
    },
    receive(event) {
      for (const missed of readings) missed.push(event);
      return keeping.apply(event, false);
    },
  };
  return keeping;
}
