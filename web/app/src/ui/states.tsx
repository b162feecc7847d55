// What a page shows while content loads, when loading failed, and if there is none.
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { initialsOf, toneOf } from '../data/avatar.ts';
import { explain, isPassing, type Explanation } from '../data/faults.ts';
import { useOnline } from './notices.tsx';
import { focusDialog } from './dialog.tsx';
import { To, useTitle } from './navigation.tsx';
import { useReadAgain } from './read-again.ts';
import { useSession, useSignIn } from './session.tsx';

export function Loading({ what = 'Loading...', lines = 3 }) {
  return (
    <div className="loading" role="status">
      <span className="hidden">{what}</span>
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className="loading-line" aria-hidden="true" />
      ))}
    </div>
  );
}

interface FailedProps {
  error: unknown;
  onRetry: Retry;
  heading?: string;
  // Other ways on.
  children?: ReactNode;
}

type Retry = () => Promise<unknown>;

export function Failed({ error, onRetry, heading = 'Could not load this', children }: FailedProps) {
  const online = useOnline();
  const { text, kind } = explain(error, { online });
  useRetries(error, onRetry);
  useRetryWhenSignedIn(kind, onRetry);
  // A repeated failure is shown again, by the component around this one.
  const retry = () => onRetry().catch(() => {});
  return (
    <div className="state" role="alert">
      <h2>{heading}</h2>
      <p>{text}</p>
      {kind === 'signedOut' && <SignInAgain />}
      <button type="button" className="button" onClick={retry}>
        Try again
      </button>
      {children}
    </div>
  );
}

// SignInAgain opens the sign-in dialog, above the dialog that it is in. A page has the button in its banner. When it has
// done its work, focus stays in the dialog.
export function SignInAgain() {
  const signIn = useSignIn();
  const button = useRef<HTMLButtonElement>(null);
  useGoneWithFocus(button, focusDialog);
  return (
    <button ref={button} type="button" className="button only-in-dialog" onClick={signIn}>
      Sign in again
    </button>
  );
}

// useRetryWhenSignedIn tries again after an expired token was replaced.
function useRetryWhenSignedIn(kind: Explanation['kind'], onRetry: Retry) {
  const { expired } = useSession();
  const before = useRef(expired);
  useEffect(() => {
    if (kind === 'signedOut' && before.current && !expired) onRetry().catch(() => {});
    before.current = expired;
  }, [expired]);
}

// Outdated is shown above data that was read before and could not be read again.
export function Outdated({ error, onRetry }: { error: unknown; onRetry: Retry }) {
  const online = useOnline();
  useRetries(error, onRetry);
  const { text, kind } = explain(error, { online });
  useRetryWhenSignedIn(kind, onRetry);
  return (
    <div className="outdated" role="alert">
      <p>This could not be refreshed, and may have changed. {text}</p>
      {kind === 'signedOut' && <SignInAgain />}
      <button type="button" className="button" onClick={() => onRetry().catch(() => {})}>
        Try again
      </button>
    </div>
  );
}

// useRetries tries again by itself, as long as that may help.
function useRetries(error: unknown, onRetry: Retry) {
  useReadAgain(() => (isPassing(error) ? onRetry() : Promise.resolve()));
}

// useRetryWhenOnline tries again when the network is back.
export function useRetryWhenOnline(onRetry: Retry) {
  const online = useOnline();
  const before = useRef(online);
  useEffect(() => {
    if (online && !before.current) onRetry().catch(() => {});
    before.current = online;
  }, [online]);
}

// Empty says why there is nothing to show. level is h1 if it is the whole page.
export function Empty({ heading, level: Heading = 'h2', children }: { heading: string; level?: 'h1' | 'h2'; children: ReactNode }) {
  return (
    <div className="state">
      <Heading>{heading}</Heading>
      {children}
    </div>
  );
}

// ShowMore reads the next page of the list above it. After the last page it
// disappears, and focus moves to the first item that was added.
export function ShowMore({ onMore, list }: { onMore: () => Promise<unknown>; list: RefObject<HTMLElement | null> }) {
  const online = useOnline();
  const button = useRef<HTMLButtonElement>(null);
  const before = useRef(0);
  useGoneWithFocus(button, () => {
    const links = [...(list.current?.children ?? [])].map((child) => child.querySelector('a'));
    (links[before.current] ?? links.at(-1))?.focus({ preventScroll: true });
  });
  const [state, setState] = useState<{ busy: boolean; error: Explanation | null }>({ busy: false, error: null });
  const more = () => {
    if (state.busy) return;
    before.current = list.current?.children.length ?? 0;
    setState({ busy: true, error: null });
    onMore().then(
      () => setState({ busy: false, error: null }),
      (error: unknown) => setState({ busy: false, error: explain(error, { online }) }),
    );
  };
  return (
    <div className="show-more">
      <button ref={button} type="button" className="button" aria-disabled={state.busy} onClick={more}>
        Show more
      </button>
      <p role="alert" className="fault">
        {state.error?.kind === 'offline' && online ? '' : state.error?.text}
      </p>
    </div>
  );
}

// useGoneWithFocus calls goOn when an element is removed while it has focus.
function useGoneWithFocus(element: RefObject<HTMLElement | null>, goOn: () => void) {
  const had = useRef(false);
  useLayoutEffect(
    () => () => {
      had.current = element.current === document.activeElement;
    },
    [element],
  );
  useEffect(
    () => () => {
      if (had.current) goOn();
    },
    [],
  );
}

// Unseen says that something does not exist or that the viewer may not see it: the gateway does
// not reveal which.
export function Unseen({ what, onSignIn }: { what: string; onSignIn: () => void }) {
  const { signedIn } = useSession();
  useTitle('Not found');
  return (
    <div className="state">
      <h1>Not found</h1>
      <p>
        There is no such {what}, or {signedIn ? 'you do not have access to it' : 'you need to sign in to see it'}.
      </p>
      {!signedIn && (
        <button type="button" className="button button-main" onClick={onSignIn}>
          Sign in
        </button>
      )}
      <LeadOn asked />
    </div>
  );
}

// LeadOn has the ways on from a page that shows nothing. asked: the page asks to sign in already.
export function LeadOn({ asked = false }: { asked?: boolean }) {
  const { signedIn } = useSession();
  const signIn = useSignIn();
  return (
    <p>
      {signedIn ? <To place={{ name: 'home' }}>Go to your library</To>
        : <To place={{ name: 'home' }}>Go to the start page</To>} or <To place={{ name: 'find', q: '' }}>search</To>.{' '}
      {!signedIn && !asked && (
        <>
          If you have an account,{' '}
          <button type="button" className="text-button" onClick={signIn}>
            sign in
          </button>{' '}
          to see more.
        </>
      )}
    </p>
  );
}

// Monogram is the avatar of a user or group: initials on the colour of its id.
export function Monogram({ id, name }: { id: string; name: string }) {
  const shape = id.startsWith('g:') ? 'monogram monogram-group' : 'monogram';
  return (
    <span className={`${shape} tone-${toneOf(id)}`} aria-hidden="true">
      {initialsOf(name)}
    </span>
  );
}
