// Three-way merge for forms: of the typed text, the value that the field had when
// the reader began to type, and the value that is stored now.
//
// edits maps a field to { text, base }: the typed text, and the stored value that
// it replaces. A field that nobody typed into has no edit.

// Edits are the edits of the fields of a form.
export type Edits<Values> = { [field in keyof Values]?: { text: Values[field]; base: Values[field] } };

// Merged is the result of merge.
export interface Merged<Values> {
  shown: Values;
  changes: Partial<Values>;
  conflicts: (keyof Values)[];
}

// merge compares edits with the stored values. It returns
//
//   shown      the value of each field: the typed text, or else the stored value
//   changes    the typed values that have to be sent
//   conflicts  the fields that both sides changed, to different values
export function merge<Values extends object>(edits: Edits<Values>, stored: Values): Merged<Values> {
  const shown = { ...stored };
  const changes: Partial<Values> = {};
  const conflicts: (keyof Values)[] = [];
  for (const field in edits) {
    const edit = edits[field];
    if (!edit) continue;
    const { text, base } = edit;
    shown[field] = text;
    if (text === stored[field]) continue;
    if (base === stored[field]) changes[field] = text;
    else conflicts.push(field);
  }
  return { shown, changes, conflicts };
}

// type returns the edits after a text was typed into a field.
export function type<Values extends object, Field extends keyof Values>(edits: Edits<Values>, stored: Values,
  field: Field, text: Values[Field]): Edits<Values> {
  if (text === stored[field]) return takeTheirs(edits, field);
  const earlier = edits[field];
  return { ...edits, [field]: { text, base: earlier ? earlier.base : stored[field] } };
}

// takeTheirs resolves a conflict in favour of the stored value.
export function takeTheirs<Values extends object>(edits: Edits<Values>, field: keyof Values): Edits<Values> {
  const rest = { ...edits };
  delete rest[field];
  return rest;
}

// keepMine resolves a conflict in favour of the typed text.
export function keepMine<Values extends object>(edits: Edits<Values>, stored: Values, field: keyof Values): Edits<Values> {
  return { ...edits, [field]: { ...edits[field], base: stored[field] } };
}

// sinceSent returns edits that begin at what the reader has sent before, where that is stored now: if the answer was lost, nobody
// else has changed it.
export function sinceSent<Values extends object>(edits: Edits<Values>, stored: Values, sent: readonly Partial<Values>[]): Edits<Values> {
  const names = (Object.keys(edits) as (keyof Values)[]).filter((name) => sent.some((one) => one[name] === stored[name]));
  return names.reduce((all, name) => keepMine(all, stored, name), edits);
}

interface Versioned {
  id: string;
  version: number;
}

interface Payload {
  userErrors: readonly { code: string }[];
  conflicts?: undefined;
  unchanged?: undefined;
}

interface Saving<Item extends Versioned, Changes extends object, Reply extends Payload> {
  item: Item;
  mergeWith(item: Item): { changes: Changes; conflicts: PropertyKey[] };
  send(input: Changes & { id: string; expectedVersion: number }): Promise<Reply>;
  reread(): Promise<Item | null>;
}

// Saved is the result of saveMerged.
export type Saved<Reply> = (Reply & { conflicts?: undefined; unchanged?: undefined }) | {
  userErrors: []; conflicts: PropertyKey[]; unchanged?: undefined } | { userErrors: []; conflicts?: undefined; unchanged: true };

// maxAttempts is how often a change is sent while others change the item.
export const maxAttempts = 4;

// Errors of a change whose item is not what it was when it was read.
const outdated = new Set<string>(['CONFLICT', 'NOT_FOUND', 'FORBIDDEN']);

// saveMerged sends the typed values. If somebody else has changed the item first (CONFLICT), it
// reads the item again, merges, and sends what does not conflict. It returns the mutation's
// payload, or one with conflicts if the reader has to choose, or one with unchanged if nothing
// remains to send.
//
//   mergeWith(item)  the merge of the edits with an item
//   send(input)      sends the mutation and returns its payload
//   reread()         reads the item again: null if it is gone
export async function saveMerged<Item extends Versioned, Changes extends object,
  Reply extends Payload>({ item, mergeWith, send, reread }: Saving<Item, Changes, Reply>): Promise<Saved<Reply>> {
  let current = item;
  for (let attempt = 1; ; attempt += 1) {
    const { changes, conflicts } = mergeWith(current);
    if (conflicts.length > 0) return { userErrors: [], conflicts };
    if (Object.keys(changes).length === 0) return { userErrors: [], unchanged: true };
    const payload = await send({ id: current.id, ...changes, expectedVersion: current.version });
    const codes = payload.userErrors.map(({ code }) => code);
    if (!codes.some((code) => outdated.has(code))) return payload;
    const latest = await reread();
    if (latest === null || attempt === maxAttempts || !codes.includes('CONFLICT')) return payload;
    current = latest;
  }
}
