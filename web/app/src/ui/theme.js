import { useCallback, useState } from 'react';

const STORE = 'carrel.theme';
const themes = ['system', 'light', 'dark'];

// useTheme is the reader's choice between the system's theme, light and dark,
// with a step to the next one. index.html applies it before the first paint.
export function useTheme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? 'system');
  const step = useCallback(() => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length];
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(STORE, next);
    } catch {
      // Storage is switched off: the choice lasts until the page is loaded again.
    }
    setTheme(next);
  }, [theme]);
  return { theme, step };
}
