// A dialog is the browser's own: it keeps focus inside, closes with Escape, and
// makes the rest of the page inert.
import { useEffect, useId, useRef } from 'react';
import { Close } from './icons.jsx';

export function Dialog({ title, onClose, children, wide = false }) {
  const dialog = useRef(null);
  const id = useId();
  const closing = useRef(onClose);
  closing.current = onClose;

  useEffect(() => {
    const opener = document.activeElement;
    const element = dialog.current;
    element.showModal();
    return () => {
      element.close();
      // What opened the dialog may be gone with what was done in it.
      if (opener?.isConnected) opener.focus();
      else document.querySelector('main')?.focus();
    };
  }, []);

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
