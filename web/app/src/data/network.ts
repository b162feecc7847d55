// Whether the browser is online. What a browser reports may be wrong, for example about a gateway
// in the local network: an answer from the gateway proves that it is online.
import { longestPause } from './follow.ts';

const listeners = new Set<() => void>();
let online = globalThis.navigator?.onLine ?? true;

function set(now: boolean) {
  if (now === online) return;
  online = now;
  for (const notify of [...listeners]) notify();
}

globalThis.addEventListener?.('online', () => set(true));
globalThis.addEventListener?.('offline', () => set(false));

// isOnline reports whether the browser is online, as far as is known.
export const isOnline = () => online;

// answered records that the gateway has answered.
export const answered = () => set(true);

// onNetworkChange calls notify when the browser goes offline or online. It returns
// a function that ends this.
export function onNetworkChange(notify: () => void): () => void {
  listeners.add(notify);
  return () => listeners.delete(notify);
}

const firstPause = 1000;

// pause waits before an attempt to reconnect: longer with each attempt, at least as many milliseconds as
// the gateway has asked for, and only until the network is back.
export function pause(attempt: number, atLeast = 0): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener('online', over);
      resolve();
    };
    const timer = setTimeout(over, Math.max(atLeast, Math.min(firstPause * 2 ** (attempt - 1), longestPause)));
    addEventListener('online', over);
  });
}
