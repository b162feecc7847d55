// The newest end of a library: whether it is out of view, and scrolling to it.
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { LiveLibrary } from 'carrel-client';
import type { LibraryEdge, Listed } from '../data/entries.ts';
import type { LibraryPlace } from '../data/routes.ts';
import { useNavigation } from '../ui/navigation.tsx';

// useAway reports whether the newest end of a list is out of view by at least half
// the height of the window.
export function useAway(listed: Listed | undefined, oldestFirst: boolean): boolean {
  const [away, setAway] = useState(false);
  const unread = Boolean(oldestFirst ? listed?.hasNext : listed?.hasPrevious);
  useEffect(() => {
    const look = () => {
      const { scrollHeight } = document.documentElement;
      const distance = oldestFirst ? scrollHeight - innerHeight - scrollY : scrollY;
      setAway(unread || distance > innerHeight / 2);
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look, { passive: true });
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [listed, unread, oldestFirst]);
  return Boolean(listed) && away;
}

interface Jumping {
  place: LibraryPlace;
  library: LiveLibrary<LibraryEdge>;
  listed: Listed | undefined;
  list: RefObject<HTMLElement | null>;
  onArrived: () => void;
  onFailed: (fault: unknown) => void;
}

// useJump returns a function that scrolls to the newest end of a list and focuses the item there.
// If the end is not loaded, it is read first.
export function useJump({ place, library, listed, list, onArrived, onFailed }: Jumping): () => Promise<void> {
  const { go } = useNavigation();
  const waiting = useRef(false);
  const oldestFirst = place.order === 'oldest';
  const held = listed !== undefined && !(oldestFirst ? listed.hasNext : listed.hasPrevious);

  const arrive = () => {
    waiting.current = false;
    if (!oldestFirst) go({ ...place, at: null }, { replace: true });
    onArrived();
    scrollTo({ top: oldestFirst ? document.documentElement.scrollHeight : 0, behavior: 'instant' });
    const links = list.current?.querySelectorAll<HTMLElement>('[data-entry] a');
    links?.[oldestFirst ? links.length - 1 : 0]?.focus({ preventScroll: true });
  };
  // The data that was read is rendered first.
  useLayoutEffect(() => {
    if (waiting.current && held) arrive();
  });

  return async () => {
    if (held) {
      arrive();
      return;
    }
    waiting.current = true;
    try {
      await library.reload(oldestFirst ? 'end' : 'start');
    } catch (fault) {
      waiting.current = false;
      onFailed(fault);
    }
  };
}
