import { useSyncExternalStore } from 'react';

// Whether there is space for an item next to its library; the style sheet uses the same width.
const wide = matchMedia('(min-width: 62rem)');

function onChange(notify: () => void) {
  wide.addEventListener('change', notify);
  return () => wide.removeEventListener('change', notify);
}

export function useWide() {
  return useSyncExternalStore(onChange, () => wide.matches);
}
