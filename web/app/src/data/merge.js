// Three-way merge for forms: what the reader typed, what the field held when the
// reader began to type, and what is stored now.
//
// edits maps a field to { text, base }: the typed text, and the stored value that
// it replaces. A field that nobody typed into has no edit.

// merge compares edits with the stored values. It answers with
//
//   shown      the value of each field: the typed text, or else the stored value
//   changes    the typed values that have to be sent
//   conflicts  the fields that both sides changed, to different values
export function merge(edits, stored) {
  const shown = { ...stored };
  const changes = {};
  const conflicts = [];
  for (const [field, { text, base }] of Object.entries(edits)) {
    shown[field] = text;
    if (text === stored[field]) continue;
    if (base === stored[field]) changes[field] = text;
    else conflicts.push(field);
  }
  return { shown, changes, conflicts };
}

// type is the edits after a field was given a text.
export function type(edits, stored, field, text) {
  if (text === stored[field]) return takeTheirs(edits, field);
  return { ...edits, [field]: { text, base: field in edits ? edits[field].base : stored[field] } };
}

// takeTheirs resolves a conflict in favour of the stored value.
export function takeTheirs(edits, field) {
  const { [field]: dropped, ...rest } = edits;
  return rest;
}

// keepMine resolves a conflict in favour of the typed text.
export function keepMine(edits, stored, field) {
  return { ...edits, [field]: { ...edits[field], base: stored[field] } };
}

// maxAttempts is how often a change is sent while others change the item.
export const maxAttempts = 4;

// What is refused because the item is not what it was when it was read.
const outdated = new Set(['CONFLICT', 'NOT_FOUND', 'FORBIDDEN']);

// saveMerged sends the typed values. When somebody else was quicker (CONFLICT) it
// reads the item again, merges, and sends what does not collide. It answers with
// the mutation's payload, or with { userErrors: [], conflicts } if the reader has
// to choose, or { userErrors: [], unchanged: true } if nothing is left to send.
//
//   mergeWith(item)  the merge of the edits with an item
//   send(input)      sends the mutation, answers with its payload
//   reread()         reads the item again: null if it is gone
export async function saveMerged({ item, mergeWith, send, reread }) {
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
