import { useSyncExternalStore } from 'react';

// The style sheet has the same width.
const wide = matchMedia('(min-width: 62rem)');

function onChange(notify: () => void) {
  wide.addEventListener('change', notify);
  return () => wide.removeEventListener('change', notify);
}

// useWide reports whether the window is wide enough for an item next to its library.
export function useWide() {
  return useSyncExternalStore(onChange, () => wide.matches);
}
