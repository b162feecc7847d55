// Editing a text. It is saved as a draft shortly after the last keystroke, and published on
// request. What others save or publish meanwhile is never overwritten without asking.
import { hasCode, type DraftGateway, type PlainText, type Published } from './draft-gateway.ts';
import { draftSaving, type Later } from './draft-saving.ts';
import { draftStore, type DraftState, type DraftStore } from './draft-state.ts';
import { explain, isTooLarge, sentence } from './faults.ts';
import { isOnline } from './network.ts';

// DraftSession is the editing of one text. Functions that return a boolean report success.
export interface DraftSession<Revision> {
  state(): DraftState<Revision>;
  subscribe(notify: () => void): () => void;
  // open reads the draft, or else the current text.
  open(): Promise<void>;
  // refresh reads the current text again, because somebody may have published another one. title is the item's title now.
  refresh(title: string): Promise<void>;
  edit(change: Partial<PlainText>): void;
  flush(): Promise<boolean>;
  // keepMine saves this text over a draft that was saved in another window, and takeElsewhere
  // continues with that draft.
  keepMine(): Promise<boolean>;
  takeElsewhere(): Promise<void>;
  // rebase saves a text, this one by default, with the current text as its base.
  rebase(text?: PlainText): Promise<boolean>;
  // publish first asks whether the author has seen who will see the text.
  publish(isSeen?: () => Promise<boolean>): Promise<boolean>;
  discard(): Promise<boolean>;
}

// draftSession returns a session that has not been opened. itemTitle is the title of a text that
// does not exist yet, and of one that gives the item its title (namesItem): publishing it does not undo a rename.
export function draftSession<Revision extends Published>(gateway: DraftGateway<Revision>, itemTitle: string, namesItem: boolean,
  later: Later): DraftSession<Revision> {
  const store = draftStore(gateway, itemTitle, namesItem);
  const saving = draftSaving(store, gateway, later);
  const { state, subscribe, stored } = store;
  const { edit, flush } = saving;
  return {
    state,
    subscribe,
    edit,
    flush,
    async open() {
      const { draft, current } = await gateway.read();
      store.begin(draft, current);
      if (draft?.isStale) await store.compareWith(current);
    },
    async refresh(title) {
      if (store.rename(title)) {
        if (stored.version === 0 && !store.isDirty()) store.begin(null, state().current);
        else edit({ title });
      }
      if (state().ready && !state().busy && !saving.running()) await readCurrent(store, gateway);
    },
    keepMine() {
      stored.version = state().elsewhere?.version ?? stored.version;
      store.set({ elsewhere: null });
      return saving.resave();
    },
    async takeElsewhere() {
      const { current, elsewhere } = state();
      if (!elsewhere) return;
      saving.unschedule();
      store.begin(elsewhere, current);
      if (elsewhere.isStale) await store.compareWith(current);
    },
    async rebase(text = state().text) {
      // Only the text that the author has seen, not one that is read while a save is running.
      const { current } = state();
      await saving.running();
      stored.base = current?.number ?? null;
      store.set({ text, stale: false, base: null });
      return saving.resave();
    },
    publish: (isSeen = async () => true) => whileBusy(store, () => publish(store, gateway, saving.confirm, isSeen)),
    async discard() {
      saving.unschedule();
      await saving.running();
      return whileBusy(store, () => discard(store, gateway));
    },
  };
}

// readCurrent reads the current revision. If it is another one than before, it
// replaces a text that was not edited, and is compared with one that was.
async function readCurrent<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<void> {
  const { draft, current } = await gateway.read();
  const number = current?.number ?? null;
  if (number === (store.state().current?.number ?? null)) return;
  if (store.stored.version === 0 && !draft && !store.isDirty()) store.begin(null, current);
  else if (number !== store.stored.base) await store.compareWith(current);
}

// whileBusy runs act, which publishes or discards, and returns whether it succeeded.
async function whileBusy<Revision>(store: DraftStore<Revision>, act: () => Promise<boolean>): Promise<boolean> {
  store.set({ busy: true, faults: [], error: null });
  try {
    return await act();
  } catch (error) {
    store.set({ error });
    return false;
  } finally {
    store.set({ busy: false });
  }
}

// publish publishes what the editor shows. The draft may be another one by now, so save saves the text first: without a draft
// afterwards, it was published meanwhile.
async function publish<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>,
  save: () => Promise<boolean>, isSeen: () => Promise<boolean>): Promise<boolean> {
  if (!(await save()) || store.state().stale || !(await isSeen())) return false;
  if (store.stored.version === 0) return true;
  const { userErrors } = await gateway.publish();
  if (userErrors.length === 0 || (hasCode(userErrors, 'NOT_FOUND') && (await save()) && store.stored.version === 0)) return true;
  if (hasCode(userErrors, 'REVISION_CONFLICT')) await store.compareWith((await gateway.read()).current);
  else if (hasCode(userErrors, 'FORBIDDEN')) store.set({ refused: true });
  else if (!store.state().refused) store.set({ faults: userErrors });
  return false;
}

async function discard<Revision extends Published>(store: DraftStore<Revision>, gateway: DraftGateway<Revision>): Promise<boolean> {
  const { userErrors } = await gateway.discard();
  store.set({ faults: userErrors });
  if (userErrors.length > 0) return false;
  store.stored.text = store.state().text;
  return true;
}

// whyNot returns a sentence that says why a text was not saved; '' if it was.
export function whyNot({ faults, error }: Pick<DraftState<unknown>, 'faults' | 'error'>): string {
  if (faults.length > 0) return faults.map(({ message }) => sentence(message)).join(' ');
  return error ? explain(error, { online: isOnline() }).text : '';
}

// mayRetry reports whether the same text may be saved later. What is wrong with it has to be corrected first.
export const mayRetry = ({ faults, error }: Pick<DraftState<unknown>, 'faults' | 'error'>) =>
  faults.length === 0 && !isTooLarge(error);
