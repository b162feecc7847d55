// Keyboard shortcuts, anywhere in the client, and the dialog that lists them.
import { useEffect, useRef } from 'react';
import { shortcutOf, shortcuts, type Shortcut } from '../data/keys.ts';
import { firstInView, reveal } from '../pages/use-scroll.ts';
import { Dialog } from './dialog.tsx';
import { here, useNavigation } from './navigation.tsx';

// useShortcuts listens for as long as the page is open. onHelp shows the list.
export function useShortcuts(onHelp: () => void) {
  const { go } = useNavigation();
  const help = useRef(onHelp);
  help.current = onHelp;
  useEffect(() => {
    const act: Record<Shortcut, () => void> = {
      search() {
        if (here().name !== 'find') go({ name: 'find', q: '' });
        // The field is drawn by then.
        requestAnimationFrame(() => document.querySelector<HTMLInputElement>('#find')?.select());
      },
      help: () => help.current(),
      next: () => step(1),
      previous: () => step(-1),
    };
    const onKeyDown = (event: KeyboardEvent) => {
      const name = shortcutOf(event);
      // Behind a dialog the page is out of reach.
      if (!name || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      act[name]();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [go]);
}

// step moves focus by one row of the list on the page, from the row that has it; otherwise from
// the open item, or to the first row in view.
function step(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-entry], main .principals > li')].filter((row) => !row.closest('[inert]'));
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
