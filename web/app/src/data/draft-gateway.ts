// The calls of the gateway that editing a draft needs.

// PlainText is a title and a Markdown body.
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

// DraftFault is a userError of a mutation of drafts.
export interface DraftFault {
  code: string;
  message: string;
  field: readonly string[] | null;
}

interface DraftInput extends PlainText {
  baseRevision?: number;
  expectedVersion: number;
}

// DraftGateway reads and changes the draft of one branch and locale of an item.
export interface DraftGateway<Revision extends Published> {
  // mayEdit: the viewer may edit the item, which may also be gone.
  read(): Promise<{ draft: StoredDraft | null; current: Revision | null; mayEdit: boolean }>;
  revision(number: number): Promise<Revision | null>;
  save(input: DraftInput): Promise<{ draft: StoredDraft | null; userErrors: readonly DraftFault[] }>;
  publish(): Promise<{ userErrors: readonly DraftFault[] }>;
  discard(): Promise<{ userErrors: readonly DraftFault[] }>;
}

// hasCode reports whether one of the faults has a code.
export const hasCode = (faults: readonly DraftFault[], code: string) => faults.some((fault) => fault.code === code);

// isRefusal reports whether the faults of a save say that the viewer may not edit the item any more, or that it is gone.
export const isRefusal = (faults: readonly DraftFault[]) =>
  faults.some(({ code, field }) => (code === 'FORBIDDEN' || code === 'NOT_FOUND') && field?.[0] === 'contentId');

// sameText reports whether two texts are equal. null equals no text, not even null.
export const sameText = (a: PlainText | null, b: PlainText | null) => a !== null && b !== null && a.title === b.title && a.body === b.body;
