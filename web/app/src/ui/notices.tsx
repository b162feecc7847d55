// Notices of what happened, shown for a few seconds at the foot of the page, and announced by
// screen readers. A notice may offer to undo what happened.
import { createContext, use, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore,
  type ReactNode, type RefObject } from 'react';
import { createPortal } from 'react-dom';
import { isOnline, onNetworkChange } from '../data/network.ts';

// Undo takes back what a notice reports. It returns whether that was done, why not, or null if the answer was lost.
export type Undo = () => Promise<boolean | string | null>;

type Say = (text: string, undo?: Undo) => void;

interface Value {
  say: Say;
  // open adds a modal dialog, outside of which nothing can be pressed. It returns a function that
  // removes it.
  open: (dialog: Element) => () => void;
}

interface Notice {
  text: string;
  number: number;
  undo: Undo | undefined;
  // The dialogs that were open when it was said, the last one on top.
  dialogs: readonly Element[];
}

const Notices = createContext<Value>({ say: () => {}, open: () => () => {} });
const shownFor = 6000;
const undoFor = 15_000;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<Notice | null>(null);
  const [dialogs, setDialogs] = useState<readonly Element[]>([]);
  const top = useRef<readonly Element[]>([]);
  const said = useRef(0);
  const say = useCallback<Say>((text, undo) => {
    said.current += 1;
    setNotice({ text, undo, number: said.current, dialogs: top.current });
  }, []);
  const open = useCallback((dialog: Element) => {
    const set = (next: readonly Element[]) => {
      top.current = next;
      setDialogs(next);
    };
    set([...top.current, dialog]);
    return () => set(top.current.filter((other) => other !== dialog));
  }, []);
  const value = useMemo(() => ({ say, open }), [say, open]);

  useEffect(() => {
    if (!notice) return undefined;
    // A notice that is being used stays.
    const end = () => setNotice(document.querySelector('.notices :is(:hover, :focus)') ? { ...notice } : null);
    const timer = setTimeout(end, notice.undo ? undoFor : shownFor);
    return () => clearTimeout(timer);
  }, [notice]);

  const shown = notice && (
    <p key={notice.number} data-number={notice.number}>
      {notice.text}
      {notice.undo && <UndoButton undo={notice.undo} say={say} />}
    </p>
  );
  const host = notice?.dialogs.filter((dialog) => dialogs.includes(dialog)).at(-1);
  return (
    <Notices value={value}>
      {children}
      <div className="notices" role="status">
        {!host && shown}
      </div>
      {/* A screen reader announces a notice only in an element that was there before. */}
      {dialogs.map((dialog, index) =>
        createPortal(
          <div className="notices" role="status">
            {dialog === host && shown}
          </div>,
          dialog,
          String(index),
        ),
      )}
    </Notices>
  );
}

function UndoButton({ undo, say }: { undo: Undo; say: Say }) {
  const [busy, setBusy] = useState(false);
  const act = async (button: HTMLElement) => {
    if (busy) return;
    setBusy(true);
    const done = await undo().catch(() => false);
    // The button disappears with its notice.
    (button.closest('dialog')?.querySelector<HTMLElement>('button') ?? document.querySelector('main'))?.focus({ preventScroll: true });
    say(done === true ? 'Undone.' : done === null ? 'The server did not answer. This may have been undone.'
      : `This could not be undone.${done ? ` ${done}` : ''}`);
  };
  return (
    <button type="button" className="button" aria-disabled={busy} onClick={({ currentTarget }) => void act(currentTarget)}>
      Undo
    </button>
  );
}

// useSay returns a function that shows a message, with a button that undoes what it reports if undo
// is given.
export function useSay(): Say {
  return use(Notices).say;
}

// useNoticesWithin shows the notices in a modal dialog while that is open: the rest of the page
// cannot be used then.
export function useNoticesWithin(dialog: RefObject<Element | null>) {
  const { open } = use(Notices);
  useLayoutEffect(() => (dialog.current ? open(dialog.current) : undefined), [dialog, open]);
}

// useOnline reports whether the browser is online.
export function useOnline() {
  return useSyncExternalStore(onNetworkChange, isOnline);
}
