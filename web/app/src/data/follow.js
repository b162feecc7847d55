// Keeps a subscription going for as long as somebody looks. Where it breaks it
// is taken up again at the newest place that was told, so that nothing in
// between is missed; where the gateway no longer knows that far back, the
// library is read anew. Sockets, clocks and stores are the caller's.

// Codes with which a subscription ends for good: the request is at fault, and
// asking again would not mend it.
const hopeless = new Set(['GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT', 'NOT_FOUND', 'FORBIDDEN', 'UNAUTHENTICATED']);

// follow(…) begins, and answers with a function that ends it.
//
//   subscribe(after, { opened, next, error, complete })  begins to listen, returns a stop
//   newest()      the newest cursor that is known, or null
//   apply(event)  takes one change in
//   reread()      reads the library anew, because changes were missed; a promise
//   pause(n)      a promise kept when it is time for the n-th attempt
//   told(state)   'live', 'waiting' or 'off'
export function follow({ subscribe, newest, apply, reread, pause, told }) {
  let ended = false;
  let stop = () => {};
  let failures = 0;

  const listen = () => {
    if (ended) return;
    const after = newest();
    let open = true;
    const once = (settle) => (value) => {
      if (!open || ended) return;
      open = false;
      settle(value);
    };
    stop = subscribe(after, {
      opened() {
        if (!open || ended) return;
        told('live');
        // Without a place to go on from, what happened while nobody listened
        // is not told, and has to be read.
        if (after === null) reread();
      },
      next(event) {
        if (!open || ended) return;
        failures = 0;
        apply(event);
      },
      error: once((fault) => failed(codesOf(fault))),
      complete: once(() => failed([])),
    });
  };

  const failed = async (codes) => {
    if (codes.some((code) => hopeless.has(code))) {
      told('off');
      return;
    }
    failures += 1;
    told('waiting');
    if (codes.includes('RESYNC') || codes.includes('BAD_CURSOR')) await reread();
    await pause(failures);
    listen();
  };

  listen();
  return () => {
    ended = true;
    stop();
  };
}

// codesOf is what an error says it is: the codes of a list of GraphQL errors.
// The end of a socket has none.
export function codesOf(fault) {
  const errors = Array.isArray(fault) ? fault : [];
  return errors.map((error) => error.extensions?.code).filter(Boolean);
}
