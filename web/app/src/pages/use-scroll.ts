// Scrolling in a list that grows at both ends: the entries in view keep their position, and the
// address contains it.
import { useCallback, useEffect, useLayoutEffect, useRef, type RefObject } from 'react';

type List = RefObject<HTMLElement | null>;

const settledAfter = 150;

// useStillness keeps the entries in view at their position when others are added or removed
// above them. At the very beginning of a library the view moves: there the reader wants to see
// what is new.
export function useStillness(list: List, atBeginning: boolean) {
  const seen = useRef<{ id: string; onPage: number }[]>([]);
  const held = useRef(!atBeginning);

  const look = useCallback(() => {
    seen.current = entriesOf(list.current)
      .map((element) => ({ id: element.dataset.entry ?? '', box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.bottom > 0 && box.top < innerHeight)
      .map(({ id, box }) => ({ id, onPage: box.top + scrollY }));
  }, [list]);

  useEffect(() => {
    const onScroll = () => look();
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('resize', onScroll, { passive: true });
    return () => {
      removeEventListener('scroll', onScroll);
      removeEventListener('resize', onScroll);
    };
  }, [look]);

  useLayoutEffect(() => {
    if (held.current || scrollY > 0) {
      const still = seen.current.find(({ id }) => elementOf(list.current, id));
      const element = still && elementOf(list.current, still.id);
      if (element) {
        // On the page, not in the window: scrolling moves nothing on the page.
        const moved = element.getBoundingClientRect().top + scrollY - still.onPage;
        if (Math.abs(moved) > 0.5) scrollBy({ top: moved, behavior: 'instant' });
      }
    }
    held.current = !atBeginning;
    look();
  });
}

// useFirstInView reports, once the reader stops scrolling, which entry is the first in view.
export function useFirstInView(list: List, onSettled: (id: string) => void) {
  const latest = useRef(onSettled);
  latest.current = onSettled;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onScroll = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const first = entriesOf(list.current).find((element) => element.getBoundingClientRect().bottom > coveredAbove(element));
        if (first?.dataset.entry) latest.current(first.dataset.entry);
      }, settledAfter);
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      clearTimeout(timer);
      removeEventListener('scroll', onScroll);
    };
  }, [list]);
}

// useNearing calls back while an end of the list is near the view, again each
// time that something about the end has changed.
export function useNearing(end: RefObject<HTMLElement | null>, onNear: () => void, changes: string) {
  const latest = useRef(onNear);
  latest.current = onNear;
  useEffect(() => {
    const element = end.current;
    if (!element) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) latest.current();
      },
      { rootMargin: '800px 0px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [end, changes]);
}

// coveredAbove returns the height at the top of the window that headings cover:
// the style sheet keeps entries out of it when they are scrolled to.
function coveredAbove(element: Element): number {
  return Number.parseFloat(getComputedStyle(element).scrollMarginTop) || 0;
}

// reveal focuses an entry, and scrolls no further than is needed to see it whole.
export function reveal(element: HTMLElement) {
  element.querySelector('a')?.focus({ preventScroll: true });
  element.scrollIntoView({ block: 'nearest' });
}

// firstInView returns the first of some elements that no heading covers.
export function firstInView(elements: HTMLElement[]): HTMLElement | undefined {
  return elements.find((element) => element.getBoundingClientRect().top >= coveredAbove(element) - 1);
}

function entriesOf(list: HTMLElement | null): HTMLElement[] {
  return list ? [...list.querySelectorAll<HTMLElement>('[data-entry]')] : [];
}

export function elementOf(list: HTMLElement | null, id: string): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(id)}"]`) ?? null;
}
