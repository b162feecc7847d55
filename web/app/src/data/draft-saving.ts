// Saving a text as a draft: shortly after the last keystroke, one save at a time,
// and never over a version of the draft that this session does not know.
import { hasCode, isRefusal, sameText, type DraftGateway, type PlainText, type Published } from './draft-gateway.ts';
import type { DraftStore } from './draft-state.ts';

// delay is how long after the last keystroke a draft is saved, in milliseconds.
export const delay = 800;

// Later calls a function after some milliseconds. The function that it returns cancels the call.
export type Later = (act: () => void, ms: number) => () => void;

// DraftSaving saves the text of a DraftStore.
export interface DraftSaving {
  // edit changes the text, and schedules a save.
  edit(change: Partial<PlainText>): void;
  // flush saves the typed text, and returns whether all of it is saved.
  flush(): Promise<boolean>;
  // resave saves the text again, with another base or over another version.
  resave(): Promise<boolean>;
  // unschedule cancels the save that waits for a pause in typing.
  unschedule(): void;
  // running is the save that is running, if any.
  running(): Promise<boolean> | null;
}

// draftSaving returns the saving of a store's text. later schedules the saves.
export function draftSaving<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>,
  later: Later): DraftSaving {
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

// saveAll saves until all that was typed meanwhile is saved too. It returns whether it succeeded.
async function saveAll<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  try {
    while (store.isDirty()) {
      const { elsewhere } = store.state();
      if (elsewhere) store.set({ saving: 'failed' });
      if (elsewhere || !(await saveOnce(store, gateway))) return false;
    }
    store.set({ saving: store.stored.version > 0 ? 'saved' : 'unchanged', refused: false });
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
  if (hasCode(userErrors, 'CONFLICT')) return handleConflict(store, gateway);
  if (!draft) {
    store.set({ saving: 'failed', faults: userErrors, refused: isRefusal(userErrors) });
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

// handleConflict handles a draft whose version is not the expected one. It returns whether
// saving may continue.
async function handleConflict<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  const { stored } = store;
  const { draft, current } = await gateway.read();
  if (draft && !sameText(draft, stored.unanswered) && !sameText(draft, store.state().text)) {
    store.set({ elsewhere: draft, saving: 'failed' });
    return false;
  }
  // Either this session has stored the draft itself, or it was published or discarded elsewhere,
  // and the text begins a new draft.
  stored.version = draft?.version ?? 0;
  store.set({ current, hasDraft: draft !== null });
  return true;
}
