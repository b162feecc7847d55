// Unsaved text. Everything that would discard it asks first: closing a dialog, the browser's
// Back button, signing in as another user. The browser itself asks before it closes the tab.
import { useEffect, useRef } from 'react';

type Proceed = () => void;
type Guard = (proceed: Proceed) => void;

const guards: Guard[] = [];

// useUnsaved guards typed text while unsaved is true. ask(proceed) asks the
// reader, and calls proceed if the text may be discarded.
export function useUnsaved(unsaved: boolean, ask: Guard) {
  const asking = useRef(ask);
  asking.current = ask;
  useEffect(() => {
    if (!unsaved) return undefined;
    const guard: Guard = (proceed) => asking.current(proceed);
    const beforeClosing = (event: Event) => event.preventDefault();
    guards.push(guard);
    addEventListener('beforeunload', beforeClosing);
    return () => {
      guards.splice(guards.indexOf(guard), 1);
      removeEventListener('beforeunload', beforeClosing);
    };
  }, [unsaved]);
}

// unsavedGuard returns the guard of the dialog that was opened last, or undefined.
export function unsavedGuard(): Guard | undefined {
  return guards.at(-1);
}
