// Scrolling in a list that grows at both ends: the entries in view keep their position, and the
// first of them is in the address.
import { useCallback, useEffect, useLayoutEffect, useRef, type RefObject } from 'react';

type List = RefObject<HTMLElement | null>;

// scrollEndDelay is how long after the last scroll event scrolling counts as ended, in
// milliseconds.
const scrollEndDelay = 150;

// useScrollAnchor keeps the entries in view at their position when others are added or removed
// above them. At the very beginning of a library it does not, so that new entries are seen.
export function useScrollAnchor(list: List, atBeginning: boolean) {
  const seen = useRef<{ id: string; onPage: number }[]>([]);
  const held = useRef(!atBeginning);

  const look = useCallback(() => {
    seen.current = inView(list.current).map(({ id, box }) => ({ id, onPage: box.top + scrollY }));
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
      // Positions are those on the page and not in the window, so scrolling does not change them.
      const moves = seen.current.flatMap(({ id, onPage }) => {
        const element = elementOf(list.current, id);
        return element ? [element.getBoundingClientRect().top + scrollY - onPage] : [];
      });
      // The first entry may itself have moved to a far place, where the reader does not follow it.
      const moved = moves.find((move, index) => Math.abs(move - (moves[index + 1] ?? move)) < innerHeight) ?? 0;
      if (Math.abs(moved) > 0.5) scrollBy({ top: moved, behavior: 'instant' });
    }
    held.current = !atBeginning;
    look();
  });
}

// useFirstInView reports, once the reader stops scrolling, which entry is the first in view.
export function useFirstInView(list: List, onScrollEnd: (id: string) => void) {
  const latest = useRef(onScrollEnd);
  latest.current = onScrollEnd;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onScroll = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const first = entriesOf(list.current).find((element) => element.getBoundingClientRect().bottom > coveredAbove(element));
        if (first?.dataset.entry) latest.current(first.dataset.entry);
      }, scrollEndDelay);
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      clearTimeout(timer);
      removeEventListener('scroll', onScroll);
    };
  }, [list]);
}

// useNearView calls onNear when an end of the list is near the view. While it stays there, onNear is
// called again whenever trigger changes.
export function useNearView(end: RefObject<HTMLElement | null>, onNear: () => void, trigger: string) {
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
  }, [end, trigger]);
}

// coveredAbove returns the height at the top of the window that headings cover.
// The style sheet sets it as the scroll margin of entries.
function coveredAbove(element: Element): number {
  return Number.parseFloat(getComputedStyle(element).scrollMarginTop) || 0;
}

// reveal focuses an entry, and scrolls only as far as necessary to show all of it.
export function reveal(element: HTMLElement) {
  element.querySelector('a')?.focus({ preventScroll: true });
  element.scrollIntoView({ block: 'nearest' });
}

// firstInView returns the first element that no heading covers.
export function firstInView(elements: HTMLElement[]): HTMLElement | undefined {
  return elements.find((element) => element.getBoundingClientRect().top >= coveredAbove(element) - 1);
}

// inView returns the ids of the entries that are in view, and where they are in the window.
export function inView(list: HTMLElement | null): { id: string; box: DOMRect }[] {
  return entriesOf(list)
    .map((element) => ({ id: element.dataset.entry ?? '', box: element.getBoundingClientRect() }))
    .filter(({ box }) => box.bottom > 0 && box.top < innerHeight);
}

function entriesOf(list: HTMLElement | null): HTMLElement[] {
  return list ? [...list.querySelectorAll<HTMLElement>('[data-entry]')] : [];
}

export function elementOf(list: HTMLElement | null, id: string): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(id)}"]`) ?? null;
}
