// Keyboard shortcuts, and the dialog that lists them.
import { useEffect, useRef } from 'react';
import { shortcutOf, shortcuts, type Shortcut } from '../data/keys.ts';
import { firstInView, reveal } from '../pages/use-scroll.ts';
import { Dialog } from './dialog.tsx';
import { useNavigation } from './navigation.tsx';
import { unsavedGuard } from './unsaved.ts';

// useShortcuts handles shortcuts anywhere on the page. onHelp shows the list of them.
export function useShortcuts(onHelp: () => void) {
  const { go } = useNavigation();
  const help = useRef(onHelp);
  help.current = onHelp;
  useEffect(() => {
    const act: Record<Shortcut, () => void> = {
      search() {
        const field = searchField();
        if (field) {
          field.select();
          return;
        }
        const proceed = () => {
          go({ name: 'find', q: '' });
          // The field is rendered by then.
          requestAnimationFrame(() => searchField()?.select());
        };
        const guard = unsavedGuard();
        if (guard) guard(proceed);
        else proceed();
      },
      help: () => help.current(),
      next: () => step(1),
      previous: () => step(-1),
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const name = shortcutOf(event);
      // While a dialog is open, the page is inert.
      if (!name || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      act[name]();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [go]);
}

// searchField returns the search field of the page, unless something covers it.
function searchField(): HTMLInputElement | null {
  const field = document.querySelector<HTMLInputElement>('main [data-search]');
  return field?.closest('[inert]') ? null : field;
}

// step moves focus to the next or previous row of the list, from the row with focus or else the
// open item. Without either, it moves focus to the first row in view.
function step(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-entry], main .principals > li, main [data-found]')].filter((row) =>
    !row.closest('[inert]'));
  if (rows.length === 0) return;
  const from = rows.findIndex((row) => row.contains(document.activeElement));
  const open = from >= 0 ? from : rows.findIndex((row) => row.querySelector('[aria-current="true"]'));
  const next = open >= 0 ? rows[open + by] : (firstInView(rows) ?? rows[0]);
  if (next) reveal(next);
}

export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="shortcuts">
        {shortcuts.map(({ name, keys, meaning }) => (
          <div key={name}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
