// The head of a library: its owner, how much of it the viewer sees, and the order of the list.
import { useEffect, useRef, useState, type RefObject } from 'react';
import { useQuery } from '@apollo/client/react';
import type { FollowStatus } from 'carrel-client';
import { keepOrder, type Order } from '../data/order.ts';
import type { LibraryPlace, Place } from '../data/routes.ts';
import { LibraryHeadDocument, type LibraryHeadQuery } from '../generated/operations.ts';
import { Down, Rows, Up, VisibilityIcon } from '../ui/icons.tsx';
import { To, useNavigation } from '../ui/navigation.tsx';
import { usePreference } from '../ui/preference.ts';
import { useMe } from '../ui/session.tsx';
import { accessTo, countOf, kindOfPrincipal, newUpdates, visibilityName } from '../ui/words.ts';
import type { Live } from './use-library.ts';

// Owner is the user or the group that a library belongs to.
export type Owner = NonNullable<LibraryHeadQuery['principal']>;

// useHead reads the owner of the library, and what the viewer may see of it.
export function useHead(id: string) {
  return useQuery(LibraryHeadDocument, { variables: { id }, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first' });
}

const liveWords: Record<FollowStatus, string> = {
  live: 'Changes by others appear here as they happen.',
  reconnecting: 'The connection for live updates is lost. Reconnecting...',
  failed: 'Live updates are off. Reload the page to see changes by others.',
};

export function LibraryHead({ principal, live }: { principal: Owner; live: Live }) {
  const me = useMe();
  const isGroup = kindOfPrincipal(principal.id) === 'group';
  const mine = me?.id === principal.id;
  const { bucket, count } = principal.library;
  return (
    <header className="library-head">
      <p className="eyebrow">
        {isGroup ? 'Group' : 'User'}
        <span className="badge">
          <VisibilityIcon of={principal.visibility} /> {visibilityName(principal.visibility, principal.tenant, isGroup ? 'group' : 'user')}
        </span>
      </p>
      <h1>{mine ? 'My library' : principal.displayName}</h1>
      <p className="library-about">
        {countOf(count)} · {accessTo(bucket, principal.tenant)}
        {live && (
          <span className={`live live-${live}`} title={liveWords[live]}>
            <span className="hidden">{liveWords[live]}</span>
            <span aria-hidden="true">{{ live: 'Live', reconnecting: 'Reconnecting', failed: 'Not live' }[live]}</span>
          </span>
        )}
      </p>
      {isGroup && <LibraryTabs id={principal.id} />}
    </header>
  );
}

export function LibraryTabs({ id }: { id: string }) {
  const { place } = useNavigation();
  const current = (name: Place['name']) => (place.name === name ? 'page' : undefined);
  return (
    <nav className="tabs" aria-label="Group">
      <To place={{ name: 'library', id }} aria-current={current('library')}>
        Library
      </To>
      <To place={{ name: 'members', id }} aria-current={current('members')}>
        Members
      </To>
    </nav>
  );
}

// Jump is the state of a list that the button to its newest end needs.
interface Jump {
  away: boolean;
  updates: number;
  toNewest: () => void;
}

// LibraryBar stays at the top of the window. It sets the order and density of the
// list below it, and has the button to its newest end.
export function LibraryBar({ principal, place, jump }: { principal: Owner; place: LibraryPlace; jump: Jump }) {
  const mine = useMe()?.id === principal.id;
  const { go } = useNavigation();
  const [density, chooseDensity] = usePreference('density', densities);
  // A position in one order is not valid in another, so the list starts at its beginning.
  const choose = (order: Order) => {
    keepOrder(place.id, order);
    go({ ...place, order, at: null }, { replace: true });
    // An open item keeps the page long, and so the position.
    scrollTo({ top: 0, behavior: 'instant' });
  };
  const top = useRef<HTMLDivElement>(null);
  const stuck = useScrolledPast(top);
  return (
    <>
      <div ref={top} />
      <div className={stuck ? 'library-bar library-bar-stuck' : 'library-bar'}>
        {stuck && (
          <p className="library-bar-name" aria-hidden="true">
            {mine ? 'My library' : principal.displayName}
          </p>
        )}
        <select aria-label="Order" value={place.order} onChange={(event) => choose(event.target.value as Order)}>
          {orders.map(([by, all]) => (
            <optgroup key={by} label={by}>
              {all.map(([order, label]) => (
                <option key={order} value={order}>
                  {label}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
        <button
          type="button"
          className="icon-button"
          aria-label="Compact list"
          title="Compact list"
          aria-pressed={density === 'compact'}
          onClick={() => chooseDensity(density === 'compact' ? 'comfortable' : 'compact')}
        >
          <Rows />
        </button>
        {(jump.away || jump.updates > 0) && (
          <button type="button" className={jump.updates > 0 ? 'button button-main jump' : 'button jump'} onClick={jump.toNewest}>
            {place.order === 'oldest' ? <Down /> : <Up />} {jump.updates > 0 ? newUpdates(jump.updates) : 'Jump to newest'}
          </button>
        )}
        <span className="hidden" role="status">
          {jump.updates > 0 && newUpdates(jump.updates)}
        </span>
      </div>
    </>
  );
}

const densities: ['comfortable', 'compact'] = ['comfortable', 'compact'];
const orders: [by: string, all: [Order, string][]][] = [
  ['Last changed', [['newest', 'Newest first'], ['oldest', 'Oldest first']]],
  ['Title', [['a-z', 'A to Z'], ['z-a', 'Z to A']]],
];

// useScrolledPast reports whether an element is above the window.
function useScrolledPast(element: RefObject<Element | null>): boolean {
  const [past, setPast] = useState(false);
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new IntersectionObserver(([entry]) => setPast(entry !== undefined && !entry.isIntersecting &&
      entry.boundingClientRect.top < 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return past;
}
