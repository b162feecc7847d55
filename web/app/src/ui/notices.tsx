// Notices of what happened, shown for a few seconds at the foot of the page, and announced by
// screen readers.
import { createContext, use, useCallback, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import { isOnline, onNetworkChange } from '../data/network.ts';

type Say = (text: string) => void;

const Notices = createContext<Say>(() => {});
const shownFor = 6000;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<{ text: string; number: number } | null>(null);
  const say = useCallback((text: string) => setNotice((last) => ({ text, number: (last?.number ?? 0) + 1 })), []);

  useEffect(() => {
    if (!notice) return undefined;
    const timer = setTimeout(() => setNotice(null), shownFor);
    return () => clearTimeout(timer);
  }, [notice]);

  return (
    <Notices value={say}>
      {children}
      <div className="notices" role="status">
        {notice && <p key={notice.number}>{notice.text}</p>}
      </div>
    </Notices>
  );
}

// useSay returns a function that shows the reader a message.
export function useSay(): Say {
  return use(Notices);
}

// useOnline reports whether the browser is online.
export function useOnline() {
  return useSyncExternalStore(onNetworkChange, isOnline);
}
