// What happened, said once: at the foot of the page, and to screen readers.
import { createContext, use, useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { isOnline, onNetworkChange } from '../data/network.js';

const Notices = createContext(() => {});
const shownFor = 6000;

export function NoticesProvider({ children }) {
  const [notice, setNotice] = useState(null);
  const say = useCallback((text) => setNotice((last) => ({ text, number: (last?.number ?? 0) + 1 })), []);

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

// useSay is a function that tells the reader what has happened.
export function useSay() {
  return use(Notices);
}

// useOnline tells whether there is a network.
export function useOnline() {
  return useSyncExternalStore(onNetworkChange, isOnline);
}
