// Whether the browser is online. What a browser reports may be wrong, for example about a gateway
// in the local network: an answer from the gateway proves that it is online.

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
