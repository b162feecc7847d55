// Navigation. The address bar is the only store of the current place.
import { createContext, useCallback, useEffect, useMemo, useRef, useState, type AnchorHTMLAttributes, type MouseEvent,
  type ReactNode } from 'react';
import { defaultOrder, keptOrder } from '../data/order.ts';
import { plain } from '../data/plain.ts';
import { addressOf, readAddress, samePage, type Destination, type Place } from '../data/routes.ts';
import { useProvided } from './provided.ts';
import { unsavedGuard } from './unsaved.ts';

// GoOptions are the options of a navigation: whether it replaces the current entry of the history,
// and whether it opens the place on top of the current one.
interface GoOptions {
  replace?: boolean | undefined;
  opened?: boolean | undefined;
}

interface NavigationValue {
  place: Place;
  go: (next: Destination, options?: GoOptions) => void;
  close: (below: Destination) => void;
}

const Navigation = createContext<NavigationValue | null>(null);

// here returns the current place, for callbacks that run later.
export const here = () => readAddress(location.pathname, location.search, keptOrder);

// arrive returns the place of an address that was opened, and puts the order that the reader has kept for a library
// into the address.
function arrive(): Place {
  const place = here();
  if (place.name === 'library' && place.order !== defaultOrder) history.replaceState(history.state, '', addressOf(place));
  return place;
}

export function NavigationProvider({ children }: { children: ReactNode }) {
  const [place, setPlace] = useState(arrive);
  // The position in the browser's history.
  const step = useRef(history.state?.step ?? 0);
  const returning = useRef(false);

  useEffect(() => {
    history.scrollRestoration = 'manual';
    const moved = () => {
      if (returning.current) {
        returning.current = false;
        return;
      }
      const back = step.current - (history.state?.step ?? 0);
      const guard = unsavedGuard();
      if (guard && back !== 0) {
        // The browser has moved already. It returns, and moves again if the reader confirms.
        returning.current = true;
        history.go(back);
        guard(() => history.go(-back));
        return;
      }
      step.current -= back;
      const to = arrive();
      setPlace((from) => {
        // Within the same page, a library restores its own scroll position.
        if (!samePage(from, to)) scrollTo(0, 0);
        return to;
      });
    };
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);

  // go navigates to a place. opened marks a place that was opened on top of the former one, so
  // that closing it can go back.
  const go = useCallback((next: Destination, { replace = false, opened = false }: GoOptions = {}) => {
    const from = here();
    const kept = next.name === 'library' ? keptOrder(next.id) : null;
    const address = addressOf(next, kept);
    const write = replace ? 'replaceState' : 'pushState';
    if (!replace) step.current += 1;
    history[write]({ step: step.current, opened: opened || (replace && history.state?.opened) }, '', address);
    setPlace(arrive());
    if (!samePage(from, here())) scrollTo(0, 0);
  }, []);

  // close leaves what was opened on top of a place.
  const close = useCallback(
    (below: Destination) => {
      if (history.state?.opened) history.back();
      else go(below, { replace: true });
    },
    [go],
  );

  const value = useMemo(() => ({ place, go, close }), [place, go, close]);
  return <Navigation value={value}>{children}</Navigation>;
}

export function useNavigation() {
  return useProvided(Navigation);
}

// To is a link to a place: it can be copied, opened in a new tab, and followed
// without loading the page again.
export function To({ place, replace, opened, children,
  ...rest }: GoOptions & { place: Destination } & AnchorHTMLAttributes<HTMLAnchorElement>) {
  const { go } = useNavigation();
  const follow = (event: MouseEvent) => {
    const asUsual = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
    if (asUsual) return;
    event.preventDefault();
    const guard = samePage(here(), place) ? undefined : unsavedGuard();
    const proceed = () => go(place, { replace, opened });
    if (guard) guard(proceed);
    else proceed();
  };
  return (
    <a href={addressOf(place)} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

// useTitle names the page in the browser's tab; undefined leaves that to others.
export function useTitle(title: string | undefined) {
  useEffect(() => {
    if (title === undefined) return;
    document.title = title ? `${plain(title)} · Carrel` : 'Carrel';
  }, [title]);
}
