import { useSyncExternalStore } from 'react';

// Whether the window is wide enough for an item next to its library. The style sheet has the same
// width.
const wide = matchMedia('(min-width: 62rem)');

function onChange(notify: () => void) {
  wide.addEventListener('change', notify);
  return () => wide.removeEventListener('change', notify);
}

export function useWide() {
  return useSyncExternalStore(onChange, () => wide.matches);
}
