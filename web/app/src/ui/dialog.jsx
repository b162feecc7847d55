// A dialog is the browser's own: it keeps focus inside, closes with Escape, and
// makes the rest of the page inert.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { Close } from './icons.jsx';

export function Dialog({ title, onClose, children, wide = false }) {
  const dialog = useRef(null);
  const id = useId();
  const closing = useRef(onClose);
  closing.current = onClose;

  // It is shown before its fields ask for focus, which what is not shown cannot
  // have; focus is given back once it is gone.
  const opener = useRef(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    opener.current = document.activeElement;
    element.showModal();
    return () => element.close();
  }, []);
  useEffect(
    () => () => {
      // What opened the dialog may be gone with what was done in it.
      if (opener.current?.isConnected) opener.current.focus();
      else document.querySelector('main')?.focus();
    },
    [],
  );

  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        closing.current();
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
          <Close />
        </button>
      </header>
      {children}
    </dialog>
  );
}

const none = { name: '' };

// useOpening is which of several dialogs is open: its name, or ''. An answer may
// come after its dialog was closed and another one opened: the close() it holds
// closes none but its own, and answers whether that was still open.
export function useOpening() {
  const [opening, setOpening] = useState(none);
  const now = useRef(none);
  const turnTo = (next) => {
    now.current = next;
    setOpening(next);
  };
  const close = () => {
    const still = now.current === opening;
    if (still) turnTo(none);
    return still;
  };
  return { open: opening.name, show: (name) => turnTo({ name }), close };
}
