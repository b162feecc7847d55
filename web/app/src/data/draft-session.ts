// A text while it is edited. It is saved as a draft a moment after the last key,
// and published when its author says so. What others save or publish meanwhile is
// noticed and never overwritten unasked.
import { explain } from './faults.ts';
import { isOnline } from './network.ts';

export interface PlainText {
  title: string;
  body: string;
}

// Published is a revision that others can see.
export interface Published extends PlainText {
  number: number;
}

// StoredDraft is the viewer's draft as the gateway has it.
export interface StoredDraft extends PlainText {
  version: number;
  baseRevision: number | null;
  isStale: boolean;
}

interface Fault {
  code: string;
  message: string;
  field: readonly string[] | null;
}

interface DraftInput extends PlainText {
  baseRevision?: number;
  expectedVersion: number;
}

// DraftGateway is what a session asks of the gateway, for one place of an item.
export interface DraftGateway<Revision extends Published> {
  read(): Promise<{ draft: StoredDraft | null; current: Revision | null }>;
  revision(number: number): Promise<Revision | null>;
  save(input: DraftInput): Promise<{ draft: StoredDraft | null; userErrors: readonly Fault[] }>;
  publish(): Promise<{ userErrors: readonly Fault[] }>;
  discard(): Promise<{ userErrors: readonly Fault[] }>;
}

export interface DraftState<Revision> {
  // Until the text was read there is nothing to edit.
  ready: boolean;
  text: PlainText;
  // unchanged: there is no draft, and nothing was typed.
  saving: 'unchanged' | 'pending' | 'saving' | 'saved' | 'failed';
  // publishing or discarding.
  busy: boolean;
  faults: readonly Fault[];
  error: unknown;
  hasDraft: boolean;
  // The text that visitors see, and the one that this text was made from.
  current: Revision | null;
  base: Revision | null;
  // Another revision has become current since: publishing waits for a decision.
  stale: boolean;
  // The draft that was saved in another window, where it is not this text.
  elsewhere: StoredDraft | null;
}

export interface DraftSession<Revision> {
  state(): DraftState<Revision>;
  subscribe(tell: () => void): () => void;
  open(): Promise<void>;
  refresh(): Promise<void>;
  edit(change: Partial<PlainText>): void;
  flush(): Promise<boolean>;
  keepMine(): Promise<boolean>;
  takeElsewhere(): Promise<void>;
  rebase(text?: PlainText): Promise<boolean>;
  publish(): Promise<boolean>;
  discard(): Promise<boolean>;
}

// delay is how long after the last key a draft is saved, in milliseconds.
export const delay = 800;

type Later = (act: () => void, ms: number) => () => void;

const same = (a: PlainText | null, b: PlainText | null) => a !== null && b !== null && a.title === b.title && a.body === b.body;
const has = (faults: readonly Fault[], code: string) => faults.some((fault) => fault.code === code);
const plain = ({ title, body }: PlainText): PlainText => ({ title, body });

export function draftSession<Revision extends Published>(gateway: DraftGateway<Revision>, emptyTitle: string, later: Later): DraftSession<Revision> {
  let state: DraftState<Revision> = { ready: false, text: { title: emptyTitle, body: '' }, saving: 'unchanged', busy: false, faults: [], error: null, hasDraft: false, current: null, base: null, stale: false, elsewhere: null };
  const listeners = new Set<() => void>();
  const set = (change: Partial<DraftState<Revision>>) => {
    state = { ...state, ...change };
    for (const tell of [...listeners]) tell();
  };
  // What is stored: its text, its version (0: no draft) and its base. unheard is a
  // text that was sent and whose answer was lost: it may be stored.
  let stored: PlainText | null = null;
  let unheard: PlainText | null = null;
  let version = 0;
  let base: number | null = null;
  let cancel = () => {};
  let running: Promise<boolean> | null = null;

  // began takes over what is stored, in place of what was shown.
  const began = (draft: StoredDraft | null, current: Revision | null) => {
    const text = draft ?? current;
    stored = plain(text ?? { title: emptyTitle, body: '' });
    version = draft?.version ?? 0;
    base = draft ? draft.baseRevision : (current?.number ?? null);
    set({ ready: true, text: stored, saving: draft ? 'saved' : 'unchanged', faults: [], error: null, hasDraft: draft !== null, current, elsewhere: null });
  };

  // compareWith shows the text that is current now beside this one and its base.
  const compareWith = async (current: Revision | null) => {
    const from = base === null ? null : await gateway.revision(base);
    set({ current, base: from, stale: true });
  };

  const open = async () => {
    const { draft, current } = await gateway.read();
    began(draft, current);
    if (draft?.isStale) await compareWith(current);
  };

  // lost handles a draft whose stored version is another one than was expected. It
  // returns whether saving goes on.
  const lost = async () => {
    const { draft, current } = await gateway.read();
    if (draft && !same(draft, unheard) && !same(draft, state.text)) {
      set({ elsewhere: draft, saving: 'failed' });
      return false;
    }
    // It was this session that stored it, or the draft was published or discarded
    // elsewhere: then the text begins another one.
    version = draft?.version ?? 0;
    set({ current, hasDraft: draft !== null });
    return true;
  };

  const saveOnce = async () => {
    const text = state.text;
    set({ saving: 'saving', faults: [], error: null });
    const { draft, userErrors } = await gateway.save({ ...text, ...(base !== null && { baseRevision: base }), expectedVersion: version }).catch((error: unknown) => {
      unheard = text;
      throw error;
    });
    if (has(userErrors, 'CONFLICT')) return lost();
    if (!draft) {
      set({ saving: 'failed', faults: userErrors });
      return false;
    }
    // A text that was made from nothing is given what is current as its base.
    const overtaken = draft.isStale || (base === null && draft.baseRevision !== null);
    stored = text;
    version = draft.version;
    if (!overtaken) base = draft.baseRevision;
    set({ hasDraft: true });
    if (overtaken && !state.stale) await compareWith((await gateway.read()).current);
    return true;
  };

  const dirty = () => !same(stored, state.text);
  const saveAll = async () => {
    try {
      while (dirty()) {
        if (state.elsewhere) set({ saving: 'failed' });
        if (state.elsewhere || !(await saveOnce())) return false;
      }
      set({ saving: version > 0 ? 'saved' : 'unchanged' });
      return true;
    } catch (error) {
      set({ saving: 'failed', error });
      return false;
    }
  };

  const flush = () => {
    cancel();
    running ??= saveAll().finally(() => {
      running = null;
    });
    return running;
  };

  // resave stores the text once more, with another base or over another version.
  const resave = async () => {
    await running;
    stored = null;
    return flush();
  };

  const work = async (act: () => Promise<boolean>) => {
    set({ busy: true, faults: [], error: null });
    try {
      return await act();
    } catch (error) {
      set({ error });
      return false;
    } finally {
      set({ busy: false });
    }
  };

  // published tells whether an earlier attempt to publish has succeeded whose answer was lost.
  const published = async () => {
    const { draft, current } = await gateway.read();
    if (draft === null && same(current, state.text) && current?.number !== base) return true;
    version = draft?.version ?? 0;
    set({ current, hasDraft: draft !== null });
    return false;
  };

  return {
    state: () => state,
    subscribe(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    open,
    async refresh() {
      if (!state.ready || state.busy || running) return;
      const { draft, current } = await gateway.read();
      if ((current?.number ?? null) === (state.current?.number ?? null)) return;
      if (version === 0 && !draft && !dirty()) began(null, current);
      else if ((current?.number ?? null) !== base) await compareWith(current);
    },
    edit(change) {
      set({ text: { ...state.text, ...change }, saving: 'pending' });
      cancel();
      cancel = later(() => void flush(), delay);
    },
    flush,
    keepMine() {
      version = state.elsewhere?.version ?? version;
      set({ elsewhere: null });
      return resave();
    },
    async takeElsewhere() {
      const { current, elsewhere } = state;
      if (!elsewhere) return;
      cancel();
      began(elsewhere, current);
      if (elsewhere.isStale) await compareWith(current);
    },
    async rebase(text = state.text) {
      await running;
      base = state.current?.number ?? null;
      set({ text, stale: false, base: null });
      return resave();
    },
    async publish() {
      if (!(await flush()) || state.stale || version === 0) return false;
      return work(async () => {
        const { userErrors } = await gateway.publish();
        if (userErrors.length === 0 || (has(userErrors, 'NOT_FOUND') && (await published()))) return true;
        if (has(userErrors, 'REVISION_CONFLICT')) await compareWith((await gateway.read()).current);
        else set({ faults: userErrors });
        return false;
      });
    },
    async discard() {
      cancel();
      await running;
      return work(async () => {
        const { userErrors } = await gateway.discard();
        set({ faults: userErrors });
        if (userErrors.length === 0) stored = state.text;
        return userErrors.length === 0;
      });
    },
  };
}

// whyNot is why a text was not saved, in a sentence.
export function whyNot({ faults, error }: Pick<DraftState<unknown>, 'faults' | 'error'>): string {
  if (faults.length > 0) return faults.map(({ message }) => message).join(' ');
  return error ? explain(error, { online: isOnline() }).text : '';
}
