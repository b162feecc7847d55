// A library, and beside it the item that is open.
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { takeOut } from '../data/cache.js';
import { mayTakeOut } from '../data/tokens.js';
import { Close, Up } from '../ui/icons.jsx';
import { useNavigation, useTitle } from '../ui/navigation.jsx';
import { useSay } from '../ui/notices.jsx';
import { useMe, useSession } from '../ui/session.jsx';
import { Empty, Failed, Loading, Unseen } from '../ui/states.jsx';
import { useWide } from '../ui/wide.js';
import { Entries } from './entries.jsx';
import { Item } from './item.jsx';
import { LibraryHead, useHead } from './library-head.jsx';
import { elementOf } from './use-scroll.js';
import { useChanges, useEntries } from './use-library.js';

export function LibraryPage({ place, onSignIn, onCreate }) {
  const { data, error, refetch } = useHead(place.id);
  const me = useMe();
  const principal = data?.principal;
  const title = principal?.id === me?.id ? 'My library' : principal?.displayName;
  useTitle(place.item ? undefined : title);

  if (principal === null) return <Unseen what="library" onSignIn={onSignIn} />;
  if (!principal && error) return <Failed error={error} onRetry={() => refetch()} heading="The library could not be read" />;
  if (!principal) return <Loading what="Opening the library…" lines={6} />;
  return <Library key={`${place.id} ${place.oldestFirst} ${place.shared}`} place={place} principal={principal} refetchHead={refetch} onCreate={onCreate} />;
}

function Library({ place, principal, refetchHead, onCreate }) {
  const client = useApolloClient();
  const say = useSay();
  const { go } = useNavigation();
  const wide = useWide();
  const main = useRef(null);
  const view = { id: place.id, direction: place.oldestFirst ? 'ASC' : 'DESC', shared: place.shared };
  const { library, error, retry, reread, lostPlace, extend, ends } = useEntries(view, place.at);
  const news = useNews(place);
  const live = useChanges({ view, ready: Boolean(library), reread, onChange: news.heard });

  useEffect(() => {
    if (lostPlace) say('That place in the library cannot be found any more: this is its beginning.');
  }, [lostPlace, say]);

  // What the reader does is told like what others do, where it can be told.
  const onChanged = (gone) => {
    if (gone) takeOut(client.cache, view, gone);
    if (live === 'live') return;
    reread();
    refetchHead();
  };
  const toBeginning = async () => {
    if (library.pageInfo.hasPreviousPage) await reread({ fromBeginning: true });
    go({ ...place, at: null }, { replace: true });
    news.read();
    scrollTo({ top: 0, behavior: 'instant' });
    main.current.querySelector('[data-entry] a')?.focus({ preventScroll: true });
  };

  return (
    <div className={place.item ? 'desk desk-open' : 'desk'}>
      <div className="desk-list" ref={main} inert={Boolean(place.item) && !wide}>
        <LibraryHead principal={principal} place={place} live={live} />
        {news.count > 0 && (
          <button type="button" className="news" onClick={toBeginning}>
            <Up /> {news.count === 1 ? 'One change' : `${news.count} changes`} at the beginning
          </button>
        )}
        {!library && error && <Failed error={error} onRetry={retry} heading="The entries could not be read" />}
        {!library && !error && <Loading what="Reading the entries…" lines={8} />}
        {library && library.edges.length === 0 && ends.next === 'done' && ends.previous === 'done' ? (
          <NoEntries principal={principal} onCreate={onCreate} />
        ) : (
          library && <Entries place={place} library={library} ends={ends} extend={extend} fresh={news.fresh} onRested={news.rested} busy={ends.next === 'loading'} />
        )}
      </div>
      {place.item && <OpenItem key={place.item} place={place} principal={principal} list={main} onChanged={onChanged} />}
    </div>
  );
}

function NoEntries({ principal, onCreate }) {
  const me = useMe();
  const mine = me?.id === principal.id;
  return (
    <Empty heading={mine ? 'Your shelves are empty' : 'Nothing on these shelves'}>
      <p>{mine ? 'What you create, and what others share with you, will stand here.' : 'Nothing that you may see has been shared into this library.'}</p>
      {mine && (
        <button type="button" className="button button-main" onClick={onCreate}>
          Create the first item
        </button>
      )}
    </Empty>
  );
}

// OpenItem is the item on the desk: beside the list where there is room, and
// over it where there is not.
function OpenItem({ place, principal, list, onChanged }) {
  const { claims } = useSession();
  const { go, close } = useNavigation();
  const wide = useWide();
  const leave = useCallback(() => {
    const entry = elementOf(list.current, place.item)?.querySelector('a');
    close({ ...place, item: null });
    // The list is inert until it is drawn again.
    requestAnimationFrame(() => (entry?.isConnected ? entry : document.querySelector('main'))?.focus({ preventScroll: true }));
  }, [close, list, place]);

  const onKeyDown = (event) => {
    if (event.key === 'Escape' && !event.defaultPrevented && !event.target.closest('dialog')) leave();
  };
  return (
    <aside className="desk-item" aria-label="Item" onKeyDown={onKeyDown}>
      <button type="button" className="desk-close" onClick={leave}>
        <Close /> {wide ? 'Close' : 'Back to the library'}
      </button>
      <Item
        id={place.item}
        heading="h2"
        library={{ id: principal.id, displayName: principal.displayName, mayTakeOut: mayTakeOut(claims, principal) }}
        focusTitle
        onChanged={onChanged}
        onGone={() => go({ ...place, item: null }, { replace: true })}
      />
    </aside>
  );
}

// useNews remembers which entries have just moved, and how many changes have
// come to a beginning that is out of sight.
function useNews(place) {
  const [fresh, setFresh] = useState(new Set());
  const [count, setCount] = useState(0);
  const newestFirst = !place.oldestFirst;

  const heard = ({ id, moved, shown, newest }) => {
    if (!moved) return;
    if (shown) setFresh((all) => new Set(all).add(id));
    if (newestFirst && newest && (!shown || scrollY > innerHeight / 2)) setCount((n) => n + 1);
  };
  useEffect(() => {
    const look = () => scrollY < innerHeight / 2 && setCount(0);
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  return {
    fresh,
    count,
    heard,
    rested: (id) => setFresh((all) => new Set([...all].filter((other) => other !== id))),
    read: () => setCount(0),
  };
}
