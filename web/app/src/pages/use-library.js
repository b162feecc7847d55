// One library as it is looked at: its stretch of entries, how to make it longer
// at either end, and what happens to it meanwhile.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { applyChange, heldView, settleView } from '../data/cache.js';
import { ITEM, LIBRARY_HEAD, LIBRARY_PAGE, pageSize } from '../data/documents.js';
import { holdsPlace } from '../data/entries.js';
import { explain } from '../data/faults.js';
import { follow, longestPause } from '../data/follow.js';
import { keepUp } from '../data/keep-up.js';
import { useConnection } from '../ui/session.jsx';

// useEntries reads a view from the place after a cursor on, or from its
// beginning. What was read before is shown at once where it holds that place.
export function useEntries(view, at) {
  const client = useApolloClient();
  const [begin] = useState(() => ({ after: at ?? undefined, held: holdsPlace(heldView(client.cache, view), at) }));
  const [keeping] = useState(keepUp);
  const [lostPlace, setLostPlace] = useState(false);
  const variables = { ...view, first: pageSize, after: lostPlace ? undefined : begin.after };
  const { data, error, refetch } = useQuery(LIBRARY_PAGE, {
    variables,
    fetchPolicy: begin.held ? 'cache-first' : 'network-only',
    nextFetchPolicy: 'cache-first',
  });
  const wanderedOff = error && explain(error).kind === 'place' && !lostPlace;
  useEffect(() => {
    if (wanderedOff) setLostPlace(true);
  }, [wanderedOff]);

  // reread reads one page anew, in place of all that is held: the page where the
  // reader is ("here"), or the one at the start or the end of the library. When
  // that fails the stretch stays as it was, and the error is the caller's.
  const { id, direction, shared } = view;
  const here = useRef(at);
  here.current = at;
  const reread = useCallback(
    (from = 'here') => {
      const read = (page) => client.query({ query: LIBRARY_PAGE, variables: { id, direction, shared, ...page }, fetchPolicy: 'network-only' });
      return keeping.during(async () => {
        if (from === 'end') return read({ last: pageSize });
        try {
          return await read({ first: pageSize, after: (from === 'here' && here.current) || undefined });
        } catch (error) {
          if (explain(error).kind !== 'place') throw error;
          return read({ first: pageSize });
        }
      });
    },
    [client, keeping, id, direction, shared],
  );

  const library = data?.principal?.library;
  useLayoutEffect(() => {
    if (library) settleView(client.cache, { id, direction, shared });
  }, [client, library, id, direction, shared]);
  const ends = useEnds({ view, library, reread });
  return { library, error: wanderedOff ? null : error, lostPlace, retry: () => refetch(), reread, keeping, ...ends };
}

// useEnds makes a stretch longer: extend('next') and extend('previous').
// ends.next and ends.previous tell how that goes: 'idle', 'loading', 'failed'
// or, where there is no more, 'done'.
function useEnds({ view, library, reread }) {
  const client = useApolloClient();
  const [going, setGoing] = useState({ next: 'idle', previous: 'idle' });
  const busy = useRef({ next: false, previous: false });
  const { id, direction, shared } = view;

  const extend = useCallback(
    async (side) => {
      const ours = { id, direction, shared };
      if (busy.current[side]) return;
      busy.current[side] = true;
      setGoing((all) => ({ ...all, [side]: 'loading' }));
      const lostPlace = (error) => {
        if (explain(error).kind !== 'place') throw error;
        return reread();
      };
      let state = 'idle';
      try {
        await readOn(client, ours, side).catch(lostPlace);
      } catch {
        state = 'failed';
      }
      busy.current[side] = false;
      setGoing((all) => ({ ...all, [side]: state }));
    },
    [client, id, direction, shared, reread],
  );

  const ends = {
    next: library?.pageInfo.hasNextPage ? going.next : 'done',
    previous: library?.pageInfo.hasPreviousPage ? going.previous : 'done',
  };
  return { extend, ends };
}

// readOn reads the page beyond an end of a stretch and joins it, unless the
// stretch ends elsewhere by then: changes come while a page is on its way.
async function readOn(client, view, side) {
  const endOf = () => {
    const pageInfo = heldView(client.cache, view)?.pageInfo;
    return side === 'next' ? { first: pageSize, after: pageInfo?.endCursor } : { last: pageSize, before: pageInfo?.startCursor };
  };
  const asked = endOf();
  const variables = { ...view, ...asked };
  const { data } = await client.query({ query: LIBRARY_PAGE, variables, fetchPolicy: 'no-cache' });
  const now = endOf();
  if (data.principal && now.after === asked.after && now.before === asked.before) {
    client.cache.writeQuery({ query: LIBRARY_PAGE, variables, data });
  }
}

const firstPause = 1000;
const recount = 300;

// useChanges follows a library while it is shown. It tells onLive of the state of
// the connection, which is '' until there is one, and onChange of every change.
export function useChanges({ view, ready, reread, keeping, onLive, onChange }) {
  const client = useApolloClient();
  const { listen } = useConnection();
  const told = useRef(onChange);
  told.current = onChange;
  const { id, direction, shared } = view;

  useEffect(() => {
    if (!ready) return undefined;
    const ours = { id, direction, shared };
    const counter = countAfterChanges(client);
    keeping.apply = (change, again) => {
      const outcome = applyChange(client.cache, ours, change);
      if (!again) {
        counter.changed();
        told.current(outcome);
      }
      // A private item that leaves the bucket may stay among those shared with
      // the viewer; only the gateway knows.
      return shared && change.__typename === 'LibraryEntryRemoved';
    };
    const end = follow({
      subscribe: (after, sink) => listen(id, after, sink),
      newest: () => heldView(client.cache, ours)?.newest ?? null,
      apply(change) {
        if (keeping.tell(change)) reread().catch(() => {});
      },
      reread() {
        // Who reads how much of the library may be what has changed.
        counter.changed();
        return reread();
      },
      pause,
      now: () => performance.now(),
      told(state) {
        onLive(state);
        if (state === 'off') counter.changed();
      },
    });
    return () => {
      end();
      keeping.apply = () => false;
      counter.stop();
      onLive('');
    };
  }, [client, listen, id, direction, shared, ready, reread, keeping, onLive]);
}

// pause is longer after each attempt, and over at once when the network is back.
function pause(attempt) {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener('online', over);
      resolve();
    };
    const timer = setTimeout(over, Math.min(firstPause * 2 ** (attempt - 1), longestPause));
    addEventListener('online', over);
  });
}

// countAfterChanges reads the number of entries, and the item that is open,
// again once a flurry of changes is over.
function countAfterChanges(client) {
  let timer = null;
  return {
    changed() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        client.refetchQueries({ include: [LIBRARY_HEAD, ITEM].map(operationName) }).catch(() => {});
      }, recount);
    },
    stop: () => clearTimeout(timer),
  };
}

function operationName(document) {
  return document.definitions.find(({ kind }) => kind === 'OperationDefinition').name.value;
}

