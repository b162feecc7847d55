// The state of a text that is edited: what the editor shows, and what the gateway
// has stored.
import { sameText, type DraftFault, type DraftGateway, type PlainText, type Published, type StoredDraft } from './draft-gateway.ts';

// DraftState is what the editor shows.
export interface DraftState<Revision> {
  // false until the text was read.
  ready: boolean;
  text: PlainText;
  // unchanged: there is no draft, and nothing was typed.
  saving: 'unchanged' | 'pending' | 'saving' | 'saved' | 'failed';
  // Whether the draft is being published or discarded.
  busy: boolean;
  faults: readonly DraftFault[];
  error: unknown;
  // The author may not edit the item any more, or it is gone, as the last save or publication has found.
  refused: boolean;
  hasDraft: boolean;
  // The text that visitors see, and the one that this text is based on.
  current: Revision | null;
  base: Revision | null;
  // Another revision has become current since: the reader has to decide before publishing.
  stale: boolean;
  // The draft that was saved in another window, if it differs from this text.
  elsewhere: StoredDraft | null;
}

// StoredText is what the gateway has stored, as far as this session knows.
export interface StoredText {
  text: PlainText | null;
  // unanswered is a text that was sent but whose answer was lost: it may have been stored.
  unanswered: PlainText | null;
  // The version of the draft; 0: there is none.
  version: number;
  // The number of the revision that the text is based on.
  base: number | null;
}

// DraftStore has the state of a text, and what is stored of it.
export interface DraftStore<Revision> {
  state(): DraftState<Revision>;
  set(change: Partial<DraftState<Revision>>): void;
  subscribe(notify: () => void): () => void;
  stored: StoredText;
  // isDirty reports whether the text differs from what is stored.
  isDirty(): boolean;
  // rename says what the title of the item is now, and returns whether the text should follow: it has the former one.
  rename(title: string): boolean;
  // begin starts to edit a draft, or else the current revision.
  begin(draft: StoredDraft | null, current: Revision | null): void;
  // compareWith shows the current revision next to the text and its base.
  compareWith(current: Revision | null): Promise<void>;
}

// draftStore returns the state of a text that has not been read yet. itemTitle and namesItem are those of draftSession.
export function draftStore<Revision extends Published>(gateway: DraftGateway<Revision>, itemTitle: string,
  namesItem: boolean): DraftStore<Revision> {
  const stored: StoredText = { text: null, unanswered: null, version: 0, base: null };
  const listeners = new Set<() => void>();
  let state: DraftState<Revision> = { ready: false, text: { title: itemTitle, body: '' }, saving: 'unchanged', busy: false, faults: [],
    error: null, refused: false, hasDraft: false, current: null, base: null, stale: false, elsewhere: null };
  const set = (change: Partial<DraftState<Revision>>) => {
    state = { ...state, ...change };
    for (const notify of [...listeners]) notify();
  };
  return {
    state: () => state,
    set,
    subscribe(notify) {
      listeners.add(notify);
      return () => listeners.delete(notify);
    },
    stored,
    isDirty: () => !sameText(stored.text, state.text),
    rename(title) {
      const follow = namesItem && title !== itemTitle && state.ready && state.text.title === itemTitle;
      itemTitle = title;
      return follow;
    },
    begin(draft, current) {
      // The item may have been renamed since its text was published.
      const title = draft?.title ?? (current && !namesItem ? current.title : itemTitle);
      stored.text = { title, body: (draft ?? current)?.body ?? '' };
      stored.version = draft?.version ?? 0;
      stored.base = draft ? draft.baseRevision : (current?.number ?? null);
      set({ ready: true, text: stored.text, saving: draft ? 'saved' : 'unchanged', faults: [], error: null,
        hasDraft: draft !== null, current, elsewhere: null });
    },
    async compareWith(current) {
      const base = stored.base === null ? null : await gateway.revision(stored.base);
      set({ current, base, stale: true });
    },
  };
}
