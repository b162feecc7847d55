// Comparing three texts: the one that an author started from, the current one, and the author's.
import { useState } from 'react';
import type { PlainText } from '../data/draft-gateway.ts';
import { Diff } from '../ui/diff.tsx';

type Pair = 'mine' | 'theirs' | 'own';

interface ThreeTextsProps {
  base: PlainText | null;
  current: PlainText;
  text: PlainText;
  // What the author's text is: draft or text.
  what: string;
}

export function ThreeTexts({ base, current, text, what }: ThreeTextsProps) {
  const [pair, setPair] = useState<Pair>('mine');
  const theirs = { label: 'Current text', title: current.title, body: current.body };
  const mine = { label: `Your ${what}`, title: text.title, body: text.body };
  const from = { label: 'Text you started from', title: base?.title ?? '', body: base?.body ?? '' };
  const pairs = { mine: [theirs, mine], theirs: [from, theirs], own: [from, mine] } as const;
  const [before, after] = pairs[pair];
  return (
    <>
      {base && (
        <label className="note-language">
          <span>Compare</span>
          <select value={pair} onChange={(event) => setPair(event.target.value as Pair)}>
            <option value="mine">The current text and your {what}</option>
            <option value="theirs">Their changes</option>
            <option value="own">Your changes</option>
          </select>
        </label>
      )}
      <Diff before={before} after={after} />
    </>
  );
}
