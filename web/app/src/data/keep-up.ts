// A page that is read again replaces all that was known of a library. Events that arrive while
// it is being read may not be in it, and would be lost.
//
// keepUp() answers with
//
//   apply(event, again)  takes a change in; whoever hears of changes sets it. It
//                        answers whether the library has to be read anew for it.
//                        again: it was taken in before
//   during(read)         reads, and then takes in once more what was told meanwhile;
//                        a promise, broken where the reading fails
//   tell(event)          takes a change in that is told; answers as apply does
export interface Keeping<Change> {
  apply(event: Change, again: boolean): boolean;
  during(read: () => Promise<unknown>): Promise<void>;
  tell(event: Change): boolean;
}

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
    tell(event) {
      for (const missed of readings) missed.push(event);
      return keeping.apply(event, false);
    },
  };
  return keeping;
}
