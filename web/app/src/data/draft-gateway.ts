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
  read(): Promise<{ draft: StoredDraft | null; current: Revision | null }>;
  revision(number: number): Promise<Revision | null>;
  save(input: DraftInput): Promise<{ draft: StoredDraft | null; userErrors: readonly DraftFault[] }>;
  publish(): Promise<{ userErrors: readonly DraftFault[] }>;
  discard(): Promise<{ userErrors: readonly DraftFault[] }>;
}

// hasCode reports whether one of the faults has a code.
export const hasCode = (faults: readonly DraftFault[], code: string) => faults.some((fault) => fault.code === code);

// sameText reports whether two texts are equal. null equals no text, not even null.
export const sameText = (a: PlainText | null, b: PlainText | null) => a !== null && b !== null && a.title === b.title && a.body === b.body;
