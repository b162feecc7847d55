// Reading again what is open on a screen, or could not be read. Not every change is an event: those of members are none, and an
// item by itself is in no library that is followed.
import { useEffect, useRef } from 'react';
import { isOnline, onNetworkChange } from '../data/network.ts';
import { useSession } from './session.tsx';

// every is how long what is in view may be out of date, in milliseconds.
const every = 30_000;

// useReadAgain calls read when the reader comes back to the page or the network does, and every 30 seconds while the page is
// visible. What read fails with is shown by the component.
export function useReadAgain(read: () => Promise<unknown>) {
  const { expired } = useSession();
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (expired) return undefined;
    const again = () => {
      if (document.visibilityState === 'visible' && isOnline()) latest.current().catch(() => {});
    };
    const timer = setInterval(again, every);
    const forget = onNetworkChange(again);
    addEventListener('focus', again);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearInterval(timer);
      forget();
      removeEventListener('focus', again);
      document.removeEventListener('visibilitychange', again);
    };
  }, [expired]);
}
