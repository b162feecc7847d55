import { useCallback, useState } from 'react';

// usePreference stores one of several values for the reader: in a data attribute of the page,
// for the style sheet, and in the browser's storage. index.html applies it before the first
// paint. The first value is the default and has no attribute. choose(value) changes it.
export function usePreference<Value extends string>(name: string, values: readonly [Value, ...Value[]]): [Value, (next: Value) => void] {
  const kept = document.documentElement.dataset[name];
  const [value, setValue] = useState(() => values.find((one) => one === kept) ?? values[0]);
  const choose = useCallback(
    (next: Value) => {
      if (next === values[0]) delete document.documentElement.dataset[name];
      else document.documentElement.dataset[name] = next;
      try {
        localStorage.setItem(`carrel.${name}`, next);
      } catch {
        // Storage is disabled: the choice lasts until the page is loaded again.
      }
      setValue(next);
    },
    [name, values],
  );
  return [value, choose];
}
