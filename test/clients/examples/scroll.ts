// scroll.ts
// Infinite scroll: more entries are loaded before the reader sees the end of the list.

// loadBeforeEnd loads more whenever `end`, an element after the last entry, is nearly in view. After
// a failure it waits until the reader leaves the end and comes back. It returns a function that stops
// it.
export function loadBeforeEnd(
  end: Element,
  view: { load(side: 'next'): Promise<void> },
  hasMore: () => boolean | undefined,
  onError: (error: unknown) => void,
): () => void {
  let isLoading = false;
  const observer = new IntersectionObserver(
    async (seen) => {
      if (isLoading || !seen.at(-1)?.isIntersecting || !hasMore()) return;
      isLoading = true;
      try {
        await view.load('next');
        // It reports changes only: ask again, for an end that is still in view.
        observer.unobserve(end);
        observer.observe(end);
      } catch (error) {
        onError(error);
      } finally {
        isLoading = false;
      }
    },
    { rootMargin: '600px' },
  );
  observer.observe(end);
  return () => observer.disconnect();
}
