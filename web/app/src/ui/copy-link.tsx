// Copying a link to the clipboard or, if the browser refuses that, from a field in which the link
// is selected.
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { useSay } from './notices.tsx';

interface Refused {
  name: string;
  link: string;
}

interface Copying {
  copy: (name: string, link: string, onCopied?: () => void) => void;
  // byHand is the field with the link that could not be copied, if any.
  byHand: ReactNode;
}

// useCopyLink copies links to the clipboard, which only pages loaded over HTTPS have. name is the
// link's name in messages.
export function useCopyLink(): Copying {
  const say = useSay();
  const [refused, setRefused] = useState<Refused | null>(null);
  const copy = async (name: string, link: string, onCopied?: () => void) => {
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      setRefused({ name, link });
      return;
    }
    setRefused(null);
    say(`${name} copied.`);
    onCopied?.();
  };
  return { copy: (name, link, onCopied) => void copy(name, link, onCopied), byHand: refused && <ByHand refused={refused} /> };
}

function ByHand({ refused }: { refused: Refused }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  // Each time that copying is refused, the link is selected again.
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [refused]);
  return (
    <div className="field">
      <label htmlFor={id}>{refused.name}</label>
      <input id={id} ref={field} readOnly value={refused.link} aria-describedby={`${id}-hint`} onFocus={(event) => event.target.select()} />
      <p id={`${id}-hint`} className="hint" role="alert">
        The browser does not allow copying. The link is selected: press Ctrl+C, or Cmd+C on a Mac.
      </p>
    </div>
  );
}
