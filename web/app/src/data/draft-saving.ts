// Saving a text as a draft: a moment after the last key, one save at a time, and
// over no version but the one that this session knows.
import { hasCode, sameText, type DraftGateway, type PlainText, type Published } from './draft-gateway.ts';
import type { DraftStore } from './draft-state.ts';

// delay is how long after the last key a draft is saved, in milliseconds.
export const delay = 800;

// Later calls a function after some milliseconds, unless the function it returns is called
// before.
export type Later = (act: () => void, ms: number) => () => void;

export interface DraftSaving {
  edit(change: Partial<PlainText>): void;
  // flush saves the typed text, and returns whether all of it is saved.
  flush(): Promise<boolean>;
  // resave stores the text once more, with another base or over another version.
  resave(): Promise<boolean>;
  // unschedule forgets the save that waits for a pause in typing.
  unschedule(): void;
  // running is the save under way, if any.
  running(): Promise<boolean> | null;
}

export function draftSaving<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>, later: Later): DraftSaving {
  let unschedule = () => {};
  let running: Promise<boolean> | null = null;
  const flush = () => {
    unschedule();
    running ??= saveAll(store, gateway).finally(() => {
      running = null;
    });
    return running;
  };
  return {
    edit(change) {
      store.set({ text: { ...store.state().text, ...change }, saving: 'pending' });
      unschedule();
      unschedule = later(() => void flush(), delay);
    },
    flush,
    async resave() {
      await running;
      store.stored.text = null;
      return flush();
    },
    unschedule: () => unschedule(),
    running: () => running,
  };
}

// saveAll saves until nothing typed meanwhile is unsaved, and returns whether it has succeeded.
async function saveAll<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  try {
    while (store.isDirty()) {
      const { elsewhere } = store.state();
      if (elsewhere) store.set({ saving: 'failed' });
      if (elsewhere || !(await saveOnce(store, gateway))) return false;
    }
    store.set({ saving: store.stored.version > 0 ? 'saved' : 'unchanged' });
    return true;
  } catch (error) {
    store.set({ saving: 'failed', error });
    return false;
  }
}

async function saveOnce<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  const { stored } = store;
  const { text } = store.state();
  store.set({ saving: 'saving', faults: [], error: null });
  const input = { ...text, ...(stored.base !== null && { baseRevision: stored.base }), expectedVersion: stored.version };
  const { draft, userErrors } = await gateway.save(input).catch((error: unknown) => {
    stored.unanswered = text;
    throw error;
  });
  if (hasCode(userErrors, 'CONFLICT')) return mayGoOn(store, gateway);
  if (!draft) {
    store.set({ saving: 'failed', faults: userErrors });
    return false;
  }
  // A text that was written without a base gets the current revision as its base.
  const overtaken = draft.isStale || (stored.base === null && draft.baseRevision !== null);
  stored.text = text;
  stored.version = draft.version;
  if (!overtaken) stored.base = draft.baseRevision;
  store.set({ hasDraft: true });
  if (overtaken && !store.state().stale) await store.compareWith((await gateway.read()).current);
  return true;
}

// mayGoOn handles a draft that has another version than expected, and returns whether saving
// continues.
async function mayGoOn<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  const { stored } = store;
  const { draft, current } = await gateway.read();
  if (draft && !sameText(draft, stored.unanswered) && !sameText(draft, store.state().text)) {
    store.set({ elsewhere: draft, saving: 'failed' });
    return false;
  }
  // This session has stored it, or the draft was published or discarded elsewhere: then the
  // text starts another one.
  stored.version = draft?.version ?? 0;
  store.set({ current, hasDraft: draft !== null });
  return true;
}
