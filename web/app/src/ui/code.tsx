// A text with syntax colours and line numbers.
import { memo, useEffect, useMemo, useState, type ReactNode } from 'react';
import type { ColourToken } from '../data/colour.ts';
import { Panel } from './panel.tsx';

// mostNumbered is the most lines of a text whose lines are numbered.
const mostNumbered = 20_000;

const loadColour = () => import('../data/colour.ts');

// useColours returns the tokens of a text, coloured once the highlighter is loaded, and the
// language. It guesses the language if that is undefined; null means no language.
export function useColours(text: string, language: string | null | undefined): { tokens: ColourToken[]; language: string | null } {
  const [colours, setColours] = useState<Awaited<ReturnType<typeof loadColour>> | null>(null);
  useEffect(() => {
    let gone = false;
    // Without the highlighter the text is shown as it is.
    loadColour().then((loaded) => gone || setColours(loaded), () => {});
    return () => {
      gone = true;
    };
  }, []);
  return useMemo(() => {
    const known = language === undefined ? (colours?.guessLanguage(text) ?? null) : language;
    return { tokens: colours ? colours.colour(text, known) : [text], language: known };
  }, [colours, text, language]);
}

interface CodeProps {
  text: string;
  tokens: ColourToken[];
}

export const Code = memo(function Code(props: CodeProps) {
  return (
    <Panel what="the text" of={props.tokens}>
      <Numbered {...props} />
    </Panel>
  );
});

function Numbered({ text, tokens }: CodeProps) {
  const numbers = useMemo(() => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    return lines > mostNumbered ? null : Array.from({ length: lines }, (_, i) => i + 1).join('\n');
  }, [text]);
  // tabIndex lets the keyboard scroll it.
  return (
    <div className="code" role="region" aria-label="Text" tabIndex={0}>
      {numbers && (
        <pre className="code-numbers" aria-hidden="true">
          {numbers}
        </pre>
      )}
      <pre className="code-text">
        <code>{draw(tokens)}</code>
      </pre>
    </div>
  );
}

function draw(tokens: ColourToken[]): ReactNode[] {
  return tokens.map((token, i) =>
    typeof token === 'string' ? (
      token
    ) : (
      <span key={i} className={token.className}>
        {draw(token.children)}
      </span>
    ),
  );
}
