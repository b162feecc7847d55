import { useSyncExternalStore } from 'react';

// Where an item has room beside its library; the style sheet knows the same width.
const wide = matchMedia('(min-width: 62rem)');

function onChange(tell: () => void) {
  wide.addEventListener('change', tell);
  return () => wide.removeEventListener('change', tell);
}

export function useWide() {
  return useSyncExternalStore(onChange, () => wide.matches);
}
