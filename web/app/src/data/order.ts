// The orders of a library: in the address of the page and in the input of the gateway, and which one
// the reader has chosen for each library.
import type { LibraryOrder } from '../generated/operations.ts';

// Order is an order by its name in addresses. The first one is the default.
export type Order = 'newest' | 'oldest' | 'a-z' | 'z-a';

export const defaultOrder: Order = 'newest';

// orderBy has the gateway's input for each order.
export const orderBy: Record<Order, LibraryOrder> = {
  newest: { field: 'LAST_MODIFIED', direction: 'DESC' },
  oldest: { field: 'LAST_MODIFIED', direction: 'ASC' },
  'a-z': { field: 'TITLE', direction: 'ASC' },
  'z-a': { field: 'TITLE', direction: 'DESC' },
};

export const isByTitle = (order: Order) => orderBy[order].field === 'TITLE';

// readOrder returns the order with a name, or null.
export function readOrder(name: string | null): Order | null {
  return name !== null && Object.hasOwn(orderBy, name) ? (name as Order) : null;
}

const key = (library: string) => `carrel.order.${library}`;

// keptOrder returns the order that the reader has chosen for a library; null if it is the default.
export function keptOrder(library: string): Order | null {
  try {
    return readOrder(localStorage.getItem(key(library)));
  } catch {
    return null; // storage is disabled
  }
}

// keepOrder stores the reader's choice in the browser.
export function keepOrder(library: string, order: Order) {
  try {
    if (order === defaultOrder) localStorage.removeItem(key(library));
    else localStorage.setItem(key(library), order);
  } catch {
    // Storage is disabled: the choice is only in the address.
  }
}
