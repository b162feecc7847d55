// Dialogs, as <dialog> elements: the browser keeps focus inside, closes them with
// Escape, and makes the rest of the page inert.
import { createContext, use, useEffect, useId, useLayoutEffect, useRef, useState, type ReactNode, type RefObject,
  type SyntheticEvent } from 'react';
import { Close } from './icons.tsx';
import { useNoticesWithin } from './notices.tsx';
import { Panel } from './panel.tsx';
import { useUnsaved } from './unsaved.ts';

const Leave = createContext(() => {});

// useLeave returns the action of a Cancel button: it closes the dialog around it, and asks
// first if changes would be lost.
export function useLeave() {
  return use(Leave);
}

type Count = (change: (forms: number) => number) => void;

const Sending = createContext<Count>(() => {});
const Unclear = createContext<Count>(() => {});

// useSending tells the dialog around a form whether the form is being sent, and whether an answer was lost.
export function useSending(busy: boolean, unclear: boolean) {
  useCounted(busy, use(Sending));
  useCounted(unclear, use(Unclear));
}

function useCounted(counts: boolean, count: Count) {
  useEffect(() => {
    if (!counts) return undefined;
    count((forms) => forms + 1);
    return () => count((forms) => forms - 1);
  }, [counts, count]);
}

// FocusTarget is an element that can get focus.
export type FocusTarget = RefObject<HTMLElement | null>;

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  unsaved?: boolean;
  wide?: boolean;
  returnTo?: FocusTarget | undefined;
}

// Dialog shows a modal dialog. If unsaved is set it contains changes, and asks before it closes:
// whether to discard them or, while they are being sent, whether not to wait. Focus starts on the
// element with data-autofocus; afterwards it returns to the element that opened the dialog or, if
// that no longer exists, to returnTo.
export function Dialog({ title, onClose, children, unsaved = false, wide = false, returnTo }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [discarding, setDiscarding] = useState<{ proceed: () => void } | null>(null);
  const [sending, setSending] = useState(0);
  const [unclear, setUnclear] = useState(0);
  // Once the answer is there, the question is another one.
  useEffect(() => {
    if (sending === 0) setDiscarding(null);
  }, [sending]);
  const ask = (proceed: () => void) => setDiscarding({ proceed });
  const leave = () => (unsaved ? ask(() => {}) : onClose());
  useUnsaved(unsaved, ask);
  useShown(dialog, returnTo);
  useNoticesWithin(dialog);

  const discard = () => {
    setDiscarding(null);
    onClose();
    discarding?.proceed();
  };
  // Browsers close a dialog on a second Escape, even if the first was prevented.
  const closedByBrowser = (event: SyntheticEvent) => {
    if (event.target !== dialog.current || !dialog.current?.isConnected) return;
    dialog.current.showModal();
    leave();
  };
  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        leave();
      }}
      onCancel={(event) => {
        if (event.target !== dialog.current) return;
        event.preventDefault();
        leave();
      }}
      onClose={closedByBrowser}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={leave}>
          <Close />
        </button>
      </div>
      <Leave value={leave}>
        <Sending value={setSending}>
          <Unclear value={setUnclear}>
            <Panel what="this dialog">{children}</Panel>
          </Unclear>
        </Sending>
      </Leave>
      {discarding && <Discard state={sending > 0 ? 'sending' : unclear > 0 ? 'unclear' : 'unsent'} onKeep={() =>
        setDiscarding(null)} onDiscard={discard} />}
    </dialog>
  );
}

// useShown shows a dialog before its fields request focus, which hidden elements cannot have,
// and returns focus once the dialog is closed.
function useShown(dialog: RefObject<HTMLDialogElement | null>, returnTo: FocusTarget | undefined) {
  const opener = useRef<Element>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    opener.current = document.activeElement;
    if (!element) return undefined;
    element.showModal();
    element.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => element.close();
  }, [dialog]);
  useEffect(
    () => () => {
      // The dialog's action may have removed the element that opened it; then focus stays where
      // other code has put it.
      const element = opener.current;
      if (element?.isConnected) focusOn(element);
      else if (document.activeElement !== document.body) return;
      else if (returnTo?.current) focusOn(returnTo.current);
      else if (!focusDialog()) focusOn(document.querySelector('main'));
    },
    [],
  );
}

// focusDialog moves focus to the last open dialog, to its first field if it has one, and returns whether there is a dialog.
export function focusDialog(): boolean {
  const around = [...document.querySelectorAll('dialog[open]')].at(-1);
  const first = (what: string) => around?.querySelector(what) ?? null;
  focusOn(first('[data-autofocus]') ?? first('input:not([type="radio"]), textarea, select') ?? first('button'));
  return around !== undefined;
}

function focusOn(element: Element | null) {
  if (element instanceof HTMLElement) element.focus({ preventScroll: true });
}

const questions = {
  unsent: { title: 'Discard your changes?', text: 'They have not been saved.', stay: 'Keep editing', leave: 'Discard' },
  sending: { title: 'Close while this is being saved?', text:
    'It may still take effect. Anything else that you have changed here is lost.', stay: 'Keep waiting', leave: 'Close anyway' },
  unclear: { title: 'Close without an answer?', text:
    'What you sent may have taken effect. Anything else that you have changed here is lost.', stay: 'Keep editing', leave: 'Close anyway' },
};

// Discard asks whether to discard changes or, while they are being sent or after their answer was lost, whether not to wait for it.
function Discard({ state, onKeep, onDiscard }: { state: keyof typeof questions; onKeep: () => void; onDiscard: () => void }) {
  const { title, text, stay, leave } = questions[state];
  return (
    <Dialog title={title} onClose={onKeep}>
      <div className="dialog-text">
        <p>{text}</p>
        <div className="dialog-actions">
          <button type="button" className="button" data-autofocus onClick={onKeep}>
            {stay}
          </button>
          <button type="button" className="button button-danger button-filled" onClick={onDiscard}>
            {leave}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

const none = { name: '' as const };

// Opening is what useOpening returns.
export interface Opening<Name extends string> {
  open: Name | '';
  show: (name: Name) => void;
  close: () => boolean;
}

// useOpening holds which of several dialogs is open: its name, or ''. close() closes only the
// dialog that was open when close was returned, because an answer may arrive after another dialog
// was opened. It returns whether that dialog was still open.
export function useOpening<Name extends string>(): Opening<Name> {
  const [opening, setOpening] = useState<{ name: Name | '' }>(none);
  const now = useRef<{ name: Name | '' }>(none);
  const turnTo = (next: { name: Name | '' }) => {
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
