// A simulated gateway with one library, and the gateway's rules of pages, cursors and events. It
// delivers answers and events when a test calls it.
import { RequestError } from '../dist/index.js';

// Items are ordered by their positions: the time of the last change, or an older one if the move is
// deferred.
const positionOf = (item) => item.position ?? item.lastModified;
const keyOf = { LAST_MODIFIED: (item) => `${positionOf(item)}-${item.id}`, TITLE: (item) => `${item.title}-${item.id}` };
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export class SimulatedGateway {
  #clock = 0;
  #items = new Map(); // in the library
  #all = new Map(); // everything that was created
  #events = []; // ids of changed items, in order
  #streams = new Set();
  #answers = [];
  requests = [];
  pauses = [];
  subscribed = []; // the cursor of each subscription
  fails = () => {}; // returns the error of a request, by its variables

  // list returns the library in an order.
  list(order, field = 'LAST_MODIFIED') {
    const items = [...this.#items.values()].sort((a, b) => compare(keyOf[field](a), keyOf[field](b)));
    return order === 'DESC' ? items.reverse() : items;
  }

  ids() {
    return [...this.#all.keys()];
  }

  #tick() {
    this.#clock += 1;
    return `2026-01-01T00:00:00.${String(this.#clock).padStart(6, '0')}Z`;
  }

  // touch creates or changes an item, which moves it to the newest end.
  touch(id) {
    this.rename(id, this.#all.get(id)?.title ?? id);
  }

  // rename gives an item a title, which moves it in both orders.
  rename(id, title) {
    const version = (this.#all.get(id)?.version ?? 0) + 1;
    this.put({ id, title, version, lastModified: this.#tick() });
  }

  // defer changes an item without moving it: its position follows later.
  defer(id) {
    const item = this.#items.get(id);
    this.put({ ...item, position: item.lastModified, version: item.version + 1,
      lastModified: this.timeAfter(this.list('ASC').at(-1).id, 500) });
  }

  // timeAfter returns a time shortly after an item.
  timeAfter(id, microseconds = 1) {
    return this.#items.get(id).lastModified.replace(/\d{6}Z/,
      (fraction) => `${String(Number.parseInt(fraction, 10) + microseconds).padStart(6, '0')}Z`);
  }

  // create makes an item that is not in the library.
  create(id) {
    this.#all.set(id, { id, title: id, version: 1, lastModified: this.#tick() });
  }

  // share puts an item into the library, at its own time.
  share(id) {
    const item = this.#all.get(id);
    if (item && !this.#items.has(id)) this.put(item);
  }

  remove(id) {
    if (this.#items.delete(id)) this.#events.push(id);
  }

  put(item) {
    this.#all.set(item.id, item);
    this.#items.set(item.id, item);
    this.#events.push(item.id);
  }

  // A cursor contains the number of events when it was made. A subscriber that resumes from it gets
  // the later ones. Only one of a page by title is a position there.
  #edge(item, field, byTitle = false, bound = null, seen = this.#events.length) {
    const cursor = JSON.stringify({ at: keyOf[field](item), field, bound, seen });
    const key = byTitle ? { titleKey: keyOf.TITLE(item) } : { sortKey: keyOf.LAST_MODIFIED(item) };
    return { cursor, role: 'VIEWER', ...key, node: { ...item } };
  }

  // page answers like library(…). A client that pages to newer entries gets only those that were
  // there when it began; its last page ends with a cursor without that limit.
  page({ first, after, last, before: until, orderBy, byTitle }) {
    const { field, direction: order } = orderBy;
    const list = this.list(order, field);
    const from = after ?? until ?? null;
    const towardsNewer = field === 'LAST_MODIFIED' && (order === 'ASC') === (first !== undefined);
    const { at, bound: carried, field: of = field } = from === null ? {} : JSON.parse(from);
    if (of !== field) throw refusal('BAD_CURSOR');
    const sign = (order === 'ASC' ? 1 : -1) * (first !== undefined ? 1 : -1);
    const newest = this.list('ASC').at(-1);
    const end = newest && keyOf.LAST_MODIFIED(newest);
    const bound = towardsNewer && from !== null ? (carried ?? end) : null;
    const inWalk = (item) => !bound || keyOf.LAST_MODIFIED(item) <= bound;
    const beyond = (item) => !at || sign * compare(keyOf[field](item), at) > 0;
    const candidates = list.filter((item) => beyond(item) && inWalk(item));
    const shown = first !== undefined ? candidates.slice(0, first) : candidates.slice(-last);
    const more = candidates.length > shown.length;
    const edges = shown.map((item) => this.#edge(item, field, byTitle, towardsNewer && more ? bound ?? end : null));
    const index = (item) => list.findIndex(({ id }) => id === item.id);
    const unbound = from && JSON.stringify({ ...JSON.parse(from), bound: null });
    const outer = { previous: shown.length > 0 ? index(shown[0]) > 0 : Boolean(from) && first !== undefined,
      next: shown.length > 0 ? index(shown.at(-1)) < list.length - 1 : false };
    return {
      edges,
      pageInfo: {
        hasPreviousPage: first !== undefined ? outer.previous : more,
        hasNextPage: first !== undefined ? more : outer.next,
        startCursor: edges[0]?.cursor ?? unbound,
        endCursor: edges.at(-1)?.cursor ?? unbound,
      },
    };
  }

  // answer completes the oldest request, with the page as it was when the request arrived.
  answer() {
    this.#answers.shift()?.();
    return this.#answers.length;
  }

  // deliver sends the next event of every stream: the state of its item at this moment.
  deliver() {
    for (const stream of this.#streams) stream.deliver();
  }

  // cut ends all streams.
  cut(error) {
    for (const stream of [...this.#streams]) stream.end(error);
  }

  get isQuiet() {
    return this.#answers.length === 0 && [...this.#streams].every((stream) => stream.isQuiet);
  }

  // client returns the functions of CarrelClient that LiveLibrary calls.
  client() {
    return {
      execute: (document, variables) =>
        new Promise((resolve, reject) => {
          this.requests.push(variables);
          let error = this.fails(variables);
          let library;
          try {
            library = this.page(variables);
          } catch (refused) {
            error ??= refused;
          }
          this.#answers.push(() => (error ? reject(error) : resolve({ principal: { id: variables.id, library } })));
        }),
      subscribe: (document, { after, byTitle }, { signal, onOpen }) => this.#subscribe(after, byTitle, signal, onOpen),
      pause: async (milliseconds) => void this.pauses.push(milliseconds),
    };
  }

  async *#subscribe(after, byTitle, signal, onOpen) {
    this.subscribed.push(after);
    let next = after === null ? this.#events.length : Math.max(0, JSON.parse(after).seen - 3); // some are delivered again
    let wake = () => {};
    let failure;
    const results = [];
    const stream = {
      deliver: () => {
        if (next >= this.#events.length) return;
        const id = this.#events[next];
        next += 1;
        const item = this.#items.get(id);
        const edge = item && this.#edge(item, 'LAST_MODIFIED', byTitle, null, next);
        results.push({ libraryChanged: item ? { __typename: 'LibraryEntryPlaced', edge }
          : { __typename: 'LibraryEntryRemoved', contentId: id } });
        wake();
      },
      end: (error) => {
        failure = error;
        wake();
      },
    };
    Object.defineProperty(stream, 'isQuiet', { get: () => next >= this.#events.length });
    this.#streams.add(stream);
    const close = () => stream.end(signal.reason);
    signal.addEventListener('abort', close);
    onOpen();
    try {
      for (;;) {
        while (results.length > 0) yield results.shift();
        if (failure) throw failure;
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      this.#streams.delete(stream);
      signal.removeEventListener('abort', close);
    }
  }
}

export const refusal = (code) => new RequestError(200, [{ message: code, extensions: { code } }]);
