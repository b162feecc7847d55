// The entries of a library under the days of their last change, or under the first letters of their titles. The Tab key
// reaches one of them, and the arrow keys the others.
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { sharedWith } from '../data/access.ts';
import { grouped, letterOf, type LibraryEdge, type Listed } from '../data/entries.ts';
import { excerpt } from '../data/markdown.ts';
import { isByTitle } from '../data/order.ts';
import type { LibraryPlace } from '../data/routes.ts';
import type { EntryFragment } from '../generated/operations.ts';
import { VisibilityIcon } from '../ui/icons.tsx';
import { To, useNavigation } from '../ui/navigation.tsx';
import { useMe } from '../ui/session.tsx';
import { Title } from '../ui/title.tsx';
import { clockOf, dayOf, kindName, untilTomorrow, visibilityName, whenOf } from '../ui/words.ts';
import type { EndState, Ends, Side } from './use-library.ts';
import { elementOf, reveal, useFirstInView, useNearView, useScrollAnchor } from './use-scroll.ts';

interface EntriesProps {
  place: LibraryPlace;
  // fixed: scrolling does not change the address.
  fixed?: boolean;
  listed: Listed;
  ends: Ends;
  extend: (side: Side) => void;
  // fresh are the ids of entries that have just arrived or moved. They are highlighted for a
  // moment, after which onHighlightEnd is called.
  fresh: Set<string>;
  onHighlightEnd: (id: string) => void;
  busy: boolean;
}

const keys: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

export function Entries({ place, fixed = false, listed, ends, extend, fresh, onHighlightEnd, busy }: EntriesProps) {
  const { go } = useNavigation();
  const list = useRef<HTMLDivElement>(null);
  const { entries: edges, hasPrevious } = listed;
  const today = useToday();
  const byTitle = isByTitle(place.order);
  const groups = useMemo(() => grouped(edges, ({ title, lastModified }) => (byTitle ? letterOf(title) : dayOf(lastModified, today))),
    [edges, today, byTitle]);
  const [chosen, setChosen] = useState<string | null>(null);
  const reachable = edges.some(({ node }) => node.id === chosen) ? chosen : (place.item ?? edges[0]?.node.id);
  const tabbable = edges.some(({ node }) => node.id === reachable) ? reachable : edges[0]?.node.id;

  useInitialScroll(list, place.at, edges);
  useScrollAnchor(list, !hasPrevious);
  useFirstInView(list, (id) => {
    const at = cursorBefore(listed, id, place.at);
    if (!fixed && at !== place.at) go({ ...place, at }, { replace: true });
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const to = keys[event.key];
    const from = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-entry]')?.dataset.entry : undefined;
    if (to === undefined || !from || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const ids = edges.map(({ node }) => node.id);
    const next = ids[Math.min(Math.max(ids.indexOf(from) + to, 0), ids.length - 1)];
    if (next === undefined) return;
    setChosen(next);
    const element = elementOf(list.current, next);
    if (element) reveal(element);
  };

  return (
    <div className="entries" ref={list} onKeyDown={onKeyDown} aria-busy={busy}>
      <End side="previous" state={ends.previous} extend={extend} changes={`${edges[0]?.cursor} ${ends.previous}`} />
      {groups.map(({ heading, edges: below }) => (
        <div key={`${heading} ${below[0]?.node.id}`}>
          <h2 className="group-name">{heading}</h2>
          <ol>
            {below.map(({ node }) => (
              <Entry
                key={node.id}
                item={node}
                changed={(byTitle ? whenOf : clockOf)(node.lastModified, today)}
                place={{ ...place, item: node.id }}
                open={place.item === node.id}
                replace={Boolean(place.item)}
                tabbable={node.id === tabbable}
                fresh={fresh.has(node.id)}
                onChoose={() => setChosen(node.id)}
                onHighlightEnd={onHighlightEnd}
              />
            ))}
          </ol>
        </div>
      ))}
      <End side="next" state={ends.next} extend={extend} changes={`${edges.at(-1)?.cursor} ${ends.next}`} />
    </div>
  );
}

interface EntryProps {
  item: EntryFragment;
  changed: string;
  place: LibraryPlace;
  open: boolean;
  replace: boolean;
  tabbable: boolean;
  fresh: boolean;
  onChoose: () => void;
  onHighlightEnd: (id: string) => void;
}

function Entry({ item, changed, place, open, replace, tabbable, fresh, onChoose, onHighlightEnd }: EntryProps) {
  const me = useMe();
  const shared = sharedWith(item.shares, item.createdBy?.id, me?.id);
  const about = useMemo(() => excerpt(item.description ?? ''), [item.description]);
  return (
    <li className={fresh ? 'entry entry-fresh' : 'entry'} data-entry={item.id} onAnimationEnd={() => onHighlightEnd(item.id)}>
      <article>
        <time className="entry-time" dateTime={item.lastModified}>
          {changed}
        </time>
        <div className="entry-text">
          <h3>
            <To place={place} opened replace={replace} tabIndex={tabbable ? 0 : -1}
              aria-current={open ? 'true' : undefined} onFocus={onChoose}>
              <Title of={item.title} />
            </To>
          </h3>
          {item.description && <p className="entry-description" dir="auto">{about}</p>}
          <p className="entry-about">
            {kindName[item.kind]}
            <span className="badge">
              <VisibilityIcon of={item.visibility} /> {visibilityName(item.visibility, item.tenant)}
            </span>
            {item.createdBy && (
              <span>
                by <bdi>{item.createdBy.displayName}</bdi>
              </span>
            )}
            {shared && <bdi>{shared}</bdi>}
          </p>
        </div>
      </article>
    </li>
  );
}

// useToday returns a time of the present day, and renders again when the day is over.
function useToday() {
  const [today, setToday] = useState(() => new Date());
  useEffect(() => {
    const renew = () => setToday((last) => (new Date().toDateString() === last.toDateString() ? last : new Date()));
    const timer = setTimeout(renew, untilTomorrow(today));
    // Timers stop while a computer sleeps.
    document.addEventListener('visibilitychange', renew);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', renew);
    };
  }, [today]);
  return today;
}

// End loads more entries before the end of the list is reached.
function End({ side, state, extend, changes }: { side: Side; state: EndState; extend: (side: Side) => void; changes: string }) {
  const end = useRef<HTMLDivElement>(null);
  const onNear = () => {
    if (state === 'idle') extend(side);
  };
  useNearView(end, onNear, changes);
  if (state === 'done') return side === 'next' ? <p className="colophon">No more items</p> : null;
  return (
    <div ref={end} className={`end end-${side}`}>
      {state === 'failed' ? (
        <p role="alert">
          The {side === 'next' ? 'next' : 'previous'} items could not be loaded.{' '}
          <button type="button" className="button" onClick={() => extend(side)}>
            Try again
          </button>
        </p>
      ) : (
        <p role="status">Loading...</p>
      )}
    </div>
  );
}

type List = RefObject<HTMLElement | null>;

// useInitialScroll scrolls, once, to the entry after the cursor in the address.
function useInitialScroll(list: List, at: string | null, edges: readonly LibraryEdge[]) {
  const begun = useRef(false);
  useLayoutEffect(() => {
    if (begun.current) return;
    begun.current = true;
    const before = at ? edges.findIndex((edge) => edge.cursor === at) : -1;
    const first = edges[before + 1];
    if (before >= 0 && first) elementOf(list.current, first.node.id)?.scrollIntoView({ block: 'start', behavior: 'instant' });
  });
}

// cursorBefore returns the cursor of the entry before another one, after which a list starts with
// the latter; null at the beginning of the library. If the entry before was not read, it returns
// fallback.
function cursorBefore({ entries, hasPrevious }: Listed, id: string, fallback: string | null): string | null {
  const index = entries.findIndex(({ node }) => node.id === id);
  const before = entries[index - 1];
  if (before) return before.cursor;
  return index === 0 && !hasPrevious ? null : fallback;
}
