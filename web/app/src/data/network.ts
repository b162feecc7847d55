// Whether there is a network. Browsers report it, but may be wrong about a gateway in the
// reader's own network: an answer of the gateway is the better evidence.
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

export const isOnline = () => online;

// answered notes that the gateway has answered.
export const answered = () => set(true);

// onNetworkChange calls back when the network is lost or back, and answers with a
// way to call that off.
export function onNetworkChange(notify: () => void): () => void {
  listeners.add(notify);
  return () => listeners.delete(notify);
}

const firstPause = 1000;

// pause is for attempts to connect again: it is longer after each, and over at once
// when the network is back.
export function pause(attempt: number): Promise<void> {
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
