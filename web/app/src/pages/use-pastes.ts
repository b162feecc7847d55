// The newest public pastes, and those that are created while they are shown.
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { follow } from 'carrel-client';
import { hasExpired, joinPastes, nextExpiry } from '../data/pastes.ts';
import { LatestPastesDocument, type PasteSummaryFragment } from '../generated/operations.ts';
import { useConnection } from '../ui/session.tsx';
import type { Live } from './use-library.ts';

const pageSize = 30;
// longestTimer is the longest delay of a browser's timer, in milliseconds.
const longestTimer = 2 ** 31 - 1;

interface Held {
  pastes: readonly PasteSummaryFragment[];
  // after is the cursor of the next page; null: there is none.
  after: string | null;
  // newest is the cursor from which new pastes are followed; null if the list was empty.
  newest: string | null;
}

export interface Pastes {
  pastes: readonly PasteSummaryFragment[] | null;
  // waiting is how many new pastes are not shown yet, and show shows them.
  waiting: number;
  show: () => void;
  live: Live;
  error: unknown;
  reread: () => Promise<unknown>;
  more: (() => Promise<unknown>) | null;
}

// usePastes reads the newest pastes. New ones are added immediately if atTop() returns true;
// otherwise they wait, so that the list does not move while it is being read.
export function usePastes(atTop: () => boolean): Pastes {
  const client = useApolloClient();
  const connection = useConnection();
  const [held, setHeld] = useState<Held | null>(null);
  const [come, setCome] = useState<readonly PasteSummaryFragment[]>([]);
  const [live, setLive] = useState<Live>('');
  const [error, setError] = useState<unknown>(undefined);
  const latest = useRef({ held, atTop });
  latest.current = { held, atTop };

  const read = useCallback(
    async (after: string | null) => {
      const { data } = await client.query({ query: LatestPastesDocument, variables: { first: pageSize, after }, fetchPolicy: 'no-cache' });
      if (!data) throw new Error('The answer has no data.');
      const { edges, pageInfo } = data.latestPastes;
      return { pastes: edges.map(({ node }) => node), after: pageInfo.hasNextPage ? pageInfo.endCursor : null,
        newest: edges[0]?.cursor ?? null };
    },
    [client],
  );
  const reread = useCallback(async () => {
    try {
      const first = await read(null);
      setHeld(first);
      setCome([]);
      setError(undefined);
    } catch (fault) {
      setError(fault);
      throw fault;
    }
  }, [read]);
  useEffect(() => {
    reread().catch(() => {});
  }, [reread]);

  const ready = held !== null;
  useEffect(() => {
    if (!ready) return undefined;
    const ending = new AbortController();
    void follow({
      subscribe: connection.listenPastes,
      cursor: () => latest.current.held?.newest ?? null,
      apply({ pasteCreated: paste }) {
        if (latest.current.atTop()) setHeld((now) => now && { ...now, pastes: joinPastes(now.pastes, [paste]) });
        else setCome((now) => joinPastes(now, [paste]));
      },
      reread,
      pause: connection.pause,
      onStatus: setLive,
      signal: ending.signal,
    });
    return () => {
      ending.abort();
      setLive('');
    };
  }, [connection, ready, reread]);

  const now = useNow([...(held?.pastes ?? []), ...come]);
  const shown = held?.pastes.filter((paste) => !hasExpired(paste, now)) ?? null;
  const known = new Set(held?.pastes.map(({ id }) => id));
  const waiting = come.filter((paste) => !known.has(paste.id) && !hasExpired(paste, now));
  const show = () => {
    setHeld((all) => all && { ...all, pastes: joinPastes(all.pastes, waiting) });
    setCome([]);
  };
  const after = held?.after ?? null;
  const more = async () => {
    const page = await read(after);
    setHeld((all) => (all && all.after === after ? { ...all, pastes: joinPastes(all.pastes, page.pastes), after: page.after } : all));
  };
  return { pastes: shown, waiting: waiting.length, show, live, error, reread, more: after === null ? null : more };
}

// useNow returns the current time. It is updated when one of the pastes expires.
export function useNow(pastes: readonly { expiresAt: string | null }[]): number {
  const [now, setNow] = useState(() => Date.now());
  const next = nextExpiry(pastes, now);
  useEffect(() => {
    if (next === null) return undefined;
    const timer = setTimeout(() => setNow(Date.now()), Math.min(Math.max(next - Date.now(), 0) + 1, longestTimer));
    return () => clearTimeout(timer);
  }, [next, now]);
  return now;
}
