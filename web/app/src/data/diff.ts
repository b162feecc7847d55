// The differences between two texts, line by line.

// Row is a row of a comparison side by side: before is null for a line that was
// added, and after is null for one that was removed.
export interface Row {
  before: string | null;
  after: string | null;
}

// Fold is a number of lines that are the same in both and are not shown.
export interface Fold {
  folded: number;
}

// isChange reports whether a row differs between the texts.
export const isChange = ({ before, after }: Row) => before !== after;

// maxCells limits the table of the longest common subsequence. Larger texts are compared as one
// block.
const maxCells = 4_000_000;

// compare returns the rows of two texts. Lines that both have are in one row, and so are a line
// and its replacement.
export function compare(before: string, after: string): Row[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (line: string): Row => ({ before: line, after: line });
  return [...a.slice(0, start).map(same), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same)];
}

function linesOf(text: string): string[] {
  return text.replaceAll('\r\n', '\n').split('\n');
}

function middle(a: string[], b: string[]): Row[] {
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  const upTo = (nextA: number, nextB: number) => {
    for (let n = 0; n < Math.max(nextA - i, nextB - j); n += 1) {
      rows.push({ before: i + n < nextA ? (a[i + n] ?? null) : null, after: j + n < nextB ? (b[j + n] ?? null) : null });
    }
    [i, j] = [nextA, nextB];
  };
  for (const [inA, inB] of common(a, b)) {
    upTo(inA, inB);
    rows.push({ before: a[inA] ?? null, after: b[inB] ?? null });
    [i, j] = [inA + 1, inB + 1];
  }
  upTo(a.length, b.length);
  return rows;
}

// common returns the positions, in both texts, of the lines of a longest common subsequence.
function common(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  if ((a.length + 1) * width > maxCells) return [];
  // length[i * width + j] is its length for the lines of a from i on and of b from j on.
  const length = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => length[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) length[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1
      : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

// fold replaces unchanged lines by their number, except those near a change.
export function fold(rows: readonly Row[], around = 2): (Row | Fold)[] {
  const near = new Uint8Array(rows.length);
  rows.forEach((row, index) => {
    if (isChange(row)) near.fill(1, Math.max(0, index - around), index + around + 1);
  });
  const shown: (Row | Fold)[] = [];
  rows.forEach((row, index) => {
    const last = shown.at(-1);
    if (near[index]) shown.push(row);
    else if (last && 'folded' in last) last.folded += 1;
    else shown.push({ folded: 1 });
  });
  return shown;
}

interface Text {
  title: string;
  body: string;
}

// compareTexts compares two texts. If their titles differ, they are the first lines, before an empty one: else the lines that fold
// counts are those of the body.
export function compareTexts(before: Text, after: Text): Row[] {
  const linesOf = ({ title, body }: Text) => (before.title === after.title ? body : `${title}\n\n${body}`);
  return compare(linesOf(before), linesOf(after));
}

// missingParts returns the title and the lines that somebody has written since base, null for no
// text, and that a merged text does not contain.
export function missingParts(base: Text | null, theirs: Text, merged: Text): string[] {
  const written = compare(base?.body ?? '', theirs.body).filter((row) => isChange(row) && row.after?.trim());
  const lines = written.map(({ after }) => after ?? '');
  const has = (line: string) => merged.body.includes(line.trim());
  const title = theirs.title !== base?.title && theirs.title !== merged.title ? [theirs.title] : [];
  return [...title, ...lines.filter((line) => !has(line))];
}
