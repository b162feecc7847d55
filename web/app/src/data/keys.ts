// Keyboard shortcuts: what each key does, and when keys are not shortcuts.

// shortcuts are the keyboard shortcuts, in the order in which the dialog lists them.
export const shortcuts = [
  { name: 'search', keys: ['/'], meaning: 'Search in the library or page in view' },
  { name: 'next', keys: ['j'], meaning: 'Next item' },
  { name: 'previous', keys: ['k'], meaning: 'Previous item' },
  { name: 'open', keys: ['Enter'], meaning: 'Open the selected item' },
  { name: 'close', keys: ['Esc'], meaning: 'Close the item or dialog' },
  { name: 'move', keys: ['↑', '↓', 'Home', 'End'], meaning: 'Move in a list' },
  { name: 'help', keys: ['?'], meaning: 'Show this list' },
];

// Shortcut is the name of a shortcut that works anywhere on a page.
export type Shortcut = 'search' | 'next' | 'previous' | 'help';

const names: Record<string, Shortcut> = { '/': 'search', j: 'next', k: 'previous', '?': 'help' };
const notTyped = new Set(['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit']);

// Field has the properties of an element that isTyping reads.
interface Field {
  tagName?: string;
  type?: string;
  isContentEditable?: boolean;
}

interface Keystroke {
  key: string;
  target: EventTarget | Field | null;
  defaultPrevented?: boolean;
  ctrlKey?: boolean;
  metaKey?: boolean;
  altKey?: boolean;
  isComposing?: boolean;
}

// shortcutOf returns the name of the shortcut of a keydown event. It returns null while the
// user types, with a modifier, and if another part of the page has used the key.
export function shortcutOf(event: Keystroke): Shortcut | null {
  const { key, target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  return isTyping(target) ? null : (names[key] ?? null);
}

// isTyping reports whether an element accepts text, or selects an option by typed letters.
export function isTyping(element: EventTarget | Field | null): boolean {
  const { tagName, type, isContentEditable } = (element ?? {}) as Field;
  const name = tagName?.toLowerCase();
  if (name === 'input') return !notTyped.has((type ?? 'text').toLowerCase());
  return name === 'textarea' || name === 'select' || Boolean(isContentEditable);
}
