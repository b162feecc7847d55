// Saving a text as a draft: shortly after the last keystroke, one save at a time,
// and never over a version of the draft that this session does not know.
import { hasCode, isRefusal, sameText, type DraftGateway, type PlainText, type Published } from './draft-gateway.ts';
import type { DraftState, DraftStore } from './draft-state.ts';

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
  // confirm saves the text even if that was done before: the draft may be another one by now. If this fails, a text
  // that was saved still is.
  confirm(): Promise<boolean>;
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
  const save = (again: boolean) => {
    unschedule();
    running ??= saveAll(store, gateway, again).finally(() => {
      running = null;
    });
    return running;
  };
  const flush = () => save(false);
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
    async confirm() {
      await running;
      return save(true);
    },
    unschedule: () => unschedule(),
    running: () => running,
  };
}

// saveAll saves until all that was typed meanwhile is saved too: at least once if again is true. It returns whether it
// succeeded.
async function saveAll<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>,
  again: boolean): Promise<boolean> {
  try {
    for (let first = again; first || store.isDirty(); first = false) {
      if (store.state().elsewhere) return fail(store);
      if (!(await saveOnce(store, gateway))) return false;
    }
    store.set({ saving: store.stored.version > 0 ? 'saved' : 'unchanged', refused: false, faults: [], error: null });
    return true;
  } catch (error) {
    return fail(store, { error });
  }
}

// fail says why a save has failed. The text may still be saved as it was before. It returns false.
function fail<Revision extends Published>(store: DraftStore<Revision>, why: Partial<DraftState<Revision>> = {}): false {
  store.set({ saving: store.isDirty() ? 'failed' : 'saved', ...why });
  return false;
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
  // A draft that was saved is lost with the item, but not with the right to edit it.
  if (hasCode(userErrors, 'NOT_FOUND')) stored.text = null;
  if (!draft) return fail(store, { faults: userErrors, refused: isRefusal(userErrors) });
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
  const { text } = store.state();
  stored.text = null;
  if (draft && !sameText(draft, stored.unanswered) && !sameText(draft, text)) return fail(store, { elsewhere: draft });
  // Either this session has stored the draft itself, or it was published or discarded, here with a lost answer or in
  // another window. A text that was published is not saved again; any other one begins a new draft.
  stored.version = draft?.version ?? 0;
  store.set({ current, hasDraft: draft !== null });
  if (!draft && current && current.number !== stored.base && sameText(current, text)) {
    stored.text = text;
    stored.base = current.number;
  }
  return true;
}
