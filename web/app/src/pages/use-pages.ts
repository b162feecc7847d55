// A list that is read page by page without the cache, because others may change it
// while it is open.
import { useCallback, useEffect, useRef, useState } from 'react';

interface Page<Node> {
  nodes: readonly Node[];
  // after is the cursor of the next page; null: this is the last one.
  after: string | null;
}

export interface Pages<Node> {
  nodes: readonly Node[] | null;
  error: unknown;
  hasMore: boolean;
  more: () => Promise<unknown>;
  reread: () => Promise<unknown>;
}

// usePages reads the first page immediately, and again when key changes.
// read(after) returns a promise of the page after a cursor, or of the first page
// for null.
export function usePages<Node>(key: string, read: (after: string | null) => Promise<Page<Node>>): Pages<Node> {
  const [held, setHeld] = useState<Page<Node> | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  const reading = useRef(read);
  reading.current = read;
  // The answer to a request is ignored once a later one was sent.
  const asked = useRef(0);

  const load = useCallback(async (before: Page<Node> | null) => {
    const number = (asked.current += 1);
    const page = await reading.current(before?.after ?? null);
    if (asked.current !== number) return;
    setHeld({ nodes: [...(before?.nodes ?? []), ...page.nodes], after: page.after });
    setError(undefined);
  }, []);
  const reread = useCallback(() => load(null).catch(setError), [load]);
  useEffect(() => {
    setHeld(null);
    void reread();
  }, [key, reread]);
  return { nodes: held?.nodes ?? null, error, hasMore: held?.after != null, more: () => load(held), reread };
}
