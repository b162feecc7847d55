// A library, and the open item next to it.
import { useCallback, useEffect, useImperativeHandle, useRef, useState, type ReactNode, type Ref,
  type RefObject } from 'react';
import type { Outcome, View } from '../data/entries.ts';
import { isNarrow } from '../data/filter.ts';
import { isTyping } from '../data/keys.ts';
import { isByTitle } from '../data/order.ts';
import type { LibraryPlace } from '../data/routes.ts';
import { explain } from '../data/faults.ts';
import { mayRemoveFrom } from '../data/tokens.ts';
import { Back, Close } from '../ui/icons.tsx';
import { useNavigation, useTitle } from '../ui/navigation.tsx';
import { useOnline, useSay } from '../ui/notices.tsx';
import { useMe, useSession } from '../ui/session.tsx';
import { Empty, Failed, LeadOn, Loading, Outdated, Unseen } from '../ui/states.tsx';
import { useWide } from '../ui/wide.ts';
import { Entries } from './entries.tsx';
import { FoundEntries, type FoundHandle } from './found.tsx';
import { Item } from './item.tsx';
import { LibraryBar, LibraryHead, useHead, type Owner } from './library-head.tsx';
import { LibrarySearch } from './library-search.tsx';
import { elementOf } from './use-scroll.ts';
import { useAway, useJump } from './use-jump.ts';
import { useChanges, useLibrary, useRowsReadAgain, type Live } from './use-library.ts';

interface LibraryPageProps {
  place: LibraryPlace;
  // createdId is the id of the item that was created last, or ''.
  createdId: string;
  onSignIn: () => void;
  onCreate: () => void;
}

export function LibraryPage({ place, createdId, onSignIn, onCreate }: LibraryPageProps) {
  const { data, previousData, error, refetch } = useHead(place.id);
  const me = useMe();
  // What was read before is still shown if it cannot be read again.
  const principal = (data ?? previousData)?.principal;
  const mine = principal ? principal.id === me?.id : false;
  const lost = !principal && error && 'Could not load the library';
  useTitle(place.item && principal ? undefined : lost || (mine ? 'My library' : principal?.displayName));

  // An open item may contain typed text, so it stays when its library is gone.
  const seen = useRef<Owner>(null);
  if (principal) seen.current = principal;
  const unseen = principal === null && <Unseen what="library" onSignIn={onSignIn} />;
  if (unseen && !(place.item && seen.current)) return unseen;
  if (lost) return <Failed error={error} onRetry={() => refetch()} heading={lost} />;
  if (!seen.current) return <Loading what="Loading..." lines={6} />;
  return <Library place={place} principal={seen.current} unseen={unseen} createdId={createdId} error={error}
    refetchHead={refetch} onCreate={onCreate} />;
}

interface LibraryProps {
  place: LibraryPlace;
  principal: Owner;
  unseen: ReactNode;
  createdId: string;
  error: unknown;
  refetchHead: () => Promise<unknown>;
  onCreate: () => void;
}

// noJump is the state of a list that has no button to its newest end.
const noJump = { away: false, updates: 0 };

// Library has a head, the entries below it, and the open item next to both. Another view of the
// library replaces only the entries, so that focus stays. unseen is shown instead of a library that
// the reader may no longer see.
function Library({ place, principal, unseen, createdId, error, refetchHead, onCreate }: LibraryProps) {
  const me = useMe();
  const wide = useWide();
  const list = useRef<HTMLDivElement>(null);
  const liveEntries = useRef<LiveEntriesHandle>(null);
  const results = useRef<FoundHandle>(null);
  const field = useRef<HTMLInputElement>(null);
  const [live, setLive] = useState<Live>('');
  const [newest, setNewest] = useState(noJump);
  const searching = isNarrow(place.filter);
  const onGone = useFocusOnClose(list, place.item);
  return (
    <div className={place.item ? 'layout layout-open' : 'layout'}>
      <div className="layout-list" ref={list} inert={Boolean(place.item) && !wide}>
        {unseen || (
          <>
            <LibraryHead principal={principal} live={live} />
            {(searching || place.shared || principal.library.count.value > 0 || (me && principal.library.bucket !== 'PRIVATE')) &&
              <LibrarySearch field={field} principal={principal} place={place} />}
            {error !== undefined && <Outdated error={error} onRetry={() => refetchHead()} />}
            <LibraryBar principal={principal} place={place}
              jump={{ ...(searching ? noJump : newest), toNewest: () => liveEntries.current?.toNewest() }} />
            {searching ? (
              <FoundEntries
                key={JSON.stringify([place.order, place.shared, place.filter])}
                ref={results}
                field={field}
                view={viewOf(place)}
                place={place}
                principal={principal}
                onLive={setLive}
              />
            ) : (
              <LiveEntries
                key={`${place.order} ${place.shared}`}
                ref={liveEntries}
                place={place}
                principal={principal}
                list={list}
                live={live}
                onLive={setLive}
                onNewest={setNewest}
                createdId={createdId}
                refetchHead={refetchHead}
                onCreate={onCreate}
              />
            )}
          </>
        )}
      </div>
      {place.item && <OpenItem key={place.item} id={place.item} place={place} principal={principal} onGone={onGone} onChanged={(gone) =>
        (liveEntries.current ?? results.current)?.changed(gone)} />}
    </div>
  );
}

// useFocusOnClose moves focus to the entry of an item that was closed, also by Back, unless focus is in the list or elsewhere. It
// returns a function that says that the item is gone: its entry may be shown for a moment longer, and would lose focus then.
function useFocusOnClose(list: RefObject<HTMLElement | null>, item: string | null): () => void {
  const open = useRef(item);
  useEffect(() => {
    const main = document.querySelector('main');
    if (open.current && !item && [main, document.body].includes(document.activeElement as HTMLElement)) {
      (elementOf(list.current, open.current)?.querySelector('a') ?? main)?.focus({ preventScroll: true });
    }
    open.current = item;
  }, [list, item]);
  return useCallback(() => {
    open.current = '';
  }, []);
}

// viewOf returns the view of the library that a place shows.
function viewOf(place: LibraryPlace): View {
  return { id: place.id, order: place.order, shared: place.shared };
}

// LiveEntriesHandle has the functions of LiveEntries that other components call.
interface LiveEntriesHandle {
  changed(gone?: string): void;
  toNewest(): Promise<void>;
}

interface LiveEntriesProps {
  ref: Ref<LiveEntriesHandle>;
  place: LibraryPlace;
  principal: Owner;
  list: RefObject<HTMLElement | null>;
  live: Live;
  onLive: (live: Live) => void;
  onNewest: (newest: { away: boolean; updates: number }) => void;
  createdId: string;
  refetchHead: () => Promise<unknown>;
  onCreate: () => void;
}

// LiveEntries shows the entries of one view, and keeps them up to date. A component that changes an
// item calls changed(), with the item's id if it has left this library.
function LiveEntries({ ref, place, principal, list, live, onLive, onNewest, createdId, refetchHead, onCreate }: LiveEntriesProps) {
  const say = useSay();
  const online = useOnline();
  const { library, snapshot, listed, extend, ends } = useLibrary(viewOf(place), place.at);
  const { error, lostPosition } = snapshot;
  const updates = useUpdates(place, listed !== undefined && !listed.hasPrevious);
  useChanges(library, snapshot, { onLive, onChange: updates.changed });
  useRowsReadAgain(list);

  useEffect(() => {
    if (lostPosition) say('That position no longer exists. Showing the start of the library.');
  }, [lostPosition, say]);

  const notRead = (fault: unknown) => say(`Could not reload the library. ${explain(fault, { online }).text}`);
  // While live, the reader's own changes arrive as events, like those of others.
  const changed = (gone?: string) => {
    if (gone) library.remove(gone);
    if (live !== 'live') Promise.all([library.reload(), refetchHead()]).catch(notRead);
  };
  const toNewest = useJump({ place, library, listed, list, onArrived: updates.read, onFailed: notRead });
  useImperativeHandle(ref, () => ({ changed, toNewest }));
  const away = useAway(listed, place.order === 'oldest') && !isByTitle(place.order);
  useEffect(() => onNewest({ away, updates: updates.count }), [onNewest, away, updates.count]);
  const known = useRef(createdId);
  useEffect(() => {
    if (known.current !== createdId) changed();
    known.current = createdId;
  }, [createdId]);

  const none = listed && listed.entries.length === 0 && ends.next === 'done' && ends.previous === 'done';
  return (
    <>
      {!listed && error !== null && <Failed error={error} onRetry={() => library.reload()} heading="Could not load the items" />}
      {!listed && error === null && <Loading what="Loading..." lines={8} />}
      {none && <NoEntries principal={principal} onCreate={onCreate} />}
      {listed && !none && <Entries place={place} listed={listed} ends={ends} extend={extend} fresh={
        updates.fresh} onHighlightEnd={updates.highlightEnded} busy={ends.next === 'loading'} />}
    </>
  );
}

function NoEntries({ principal, onCreate }: { principal: Owner; onCreate: () => void }) {
  const me = useMe();
  const mine = me?.id === principal.id;
  const ours = principal.__typename === 'Group' && principal.viewerRole !== null && me !== null;
  return (
    <Empty heading="Nothing here yet">
      {mine && <p>Items that you create or that are shared with you appear here.</p>}
      {ours && <p>Items that are shared with this group appear here, for all its members.</p>}
      {!mine && !ours && <p>This library has no items that you can see.</p>}
      {mine || ours ? (
        <button type="button" className="button button-main" onClick={onCreate}>
          Create the first item
        </button>
      ) : (
        <LeadOn />
      )}
    </Empty>
  );
}

interface OpenItemProps {
  id: string;
  place: LibraryPlace;
  principal: Owner;
  onChanged: (gone?: string) => void;
  onGone: () => void;
}

// OpenItem shows the open item: next to the list if there is enough space, otherwise over it.
function OpenItem({ id, place, principal, onChanged, onGone }: OpenItemProps) {
  const { claims } = useSession();
  const { close } = useNavigation();
  const wide = useWide();
  const leave = useCallback(() => close({ ...place, item: null }), [close, place]);
  const gone = useCallback(() => {
    onGone();
    leave();
  }, [onGone, leave]);

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const inDialog = document.querySelector('dialog[open]') || (event.target instanceof Element && event.target.closest('dialog'));
      if (event.key === 'Escape' && !event.defaultPrevented && !inDialog && !isTyping(event.target)) leave();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [leave]);
  return (
    <aside className="layout-item" aria-label="Item">
      <button type="button" className="layout-close" onClick={leave}>
        {wide ? <Close /> : <Back />} {wide ? 'Close' : 'Back to the library'}
      </button>
      <Item
        id={id}
        heading="h2"
        library={{ id: principal.id, displayName: principal.displayName, mayRemove: mayRemoveFrom(claims, principal) }}
        focusTitle
        onChanged={onChanged}
        onGone={gone}
      />
    </aside>
  );
}

// useUpdates records which entries have just moved, and counts the changes at the beginning of the
// list while that is out of view.
function useUpdates(place: LibraryPlace, atBeginning: boolean) {
  const [fresh, setFresh] = useState(new Set<string>());
  const [count, setCount] = useState(0);
  const newestFirst = place.order === 'newest';

  const changed = ({ id, moved, shown, newest }: Outcome) => {
    if (!moved) return;
    if (shown) setFresh((all) => new Set(all).add(id));
    if (newestFirst && newest && (!shown || scrollY > innerHeight / 2)) setCount((n) => n + 1);
  };
  // The top of the page is the beginning only if that is loaded.
  useEffect(() => {
    if (!atBeginning) return undefined;
    const look = () => {
      if (scrollY < innerHeight / 2) setCount(0);
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, [atBeginning]);
  return {
    fresh,
    count,
    changed,
    highlightEnded: (id: string) => setFresh((all) => new Set([...all].filter((other) => other !== id))),
    read: () => setCount(0),
  };
}
