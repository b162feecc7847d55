import { useSyncExternalStore } from 'react';

// Whether there is space for an item next to its library; the style sheet uses the same width.
const wide = matchMedia('(min-width: 62rem)');

function onChange(tell: () => void) {
  wide.addEventListener('change', tell);
  return () => wide.removeEventListener('change', tell);
}

export function useWide() {
  return useSyncExternalStore(onChange, () => wide.matches);
}
