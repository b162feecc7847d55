// The items that a search in a library has found, and how far the search is.
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, type Ref, type RefObject } from 'react';
import type { View } from '../data/entries.ts';
import { isBadInput } from '../data/faults.ts';
import { longestText, mostWords, noFilter } from '../data/filter.ts';
import { progressOf } from '../data/search.ts';
import type { LibraryPlace } from '../data/routes.ts';
import { useNavigation } from '../ui/navigation.tsx';
import { Empty, Failed } from '../ui/states.tsx';
import { matchesOf } from '../ui/words.ts';
import { Entries } from './entries.tsx';
import type { Owner } from './library-head.tsx';
import { useListed, useRowsReadAgain, type Live } from './use-library.ts';
import { useSearch, type Search } from './use-search.ts';

// FoundHandle has the functions of the search results that other components call.
export interface FoundHandle {
  changed(gone?: string): void;
}

interface FoundEntriesProps {
  ref: Ref<FoundHandle>;
  field: FieldRef;
  view: View;
  place: LibraryPlace;
  principal: Owner;
  onLive: (live: Live) => void;
}

// FieldRef is the search field. It gets focus when a focused button disappears.
type FieldRef = RefObject<HTMLInputElement | null>;

const none = new Set<string>();

export function FoundEntries({ ref, field, view, place, principal, onLive }: FoundEntriesProps) {
  const search = useSearch(view, place.filter);
  const { found, state, error, again, goOn } = search;
  const section = useRef<HTMLElement>(null);
  const listed = useListed({ entries: found.edges, hasPrevious: false, hasNext: found.more });
  const number = listed.entries.length;
  useRowsReadAgain(section);
  useEffect(() => onLive(search.live), [onLive, search.live]);
  useImperativeHandle(ref, () => ({ changed: search.changed }));

  return (
    <section className="found" aria-label="Search results" ref={section}>
      <Progress search={search} number={number} principal={principal} field={field} />
      {state !== 'failed' && search.outdated && (
        <p className="outdated" role="status">
          The library has changed since this search.
          <TransientButton field={field} onClick={again}>
            Search again
          </TransientButton>
        </p>
      )}
      {number > 0 && (
        <Entries
          // A search has no position in its address: it starts at the beginning.
          place={{ ...place, at: null }}
          fixed
          listed={listed}
          ends={{ previous: 'done', next: state === 'enough' ? 'idle' : state === 'searching' ? 'loading' : 'done' }}
          extend={goOn}
          fresh={none}
          onHighlightEnd={() => {}}
          busy={state === 'searching'}
        />
      )}
      {state === 'failed' && (isBadInput(error) ? <TooLong />
        : <Failed error={error} onRetry={async () => goOn()} heading="The search was interrupted" />)}
      {state === 'done' && number === 0 && <NoMatches place={place} field={field} />}
    </section>
  );
}

interface ProgressProps {
  search: Search;
  number: number;
  principal: Owner;
  field: FieldRef;
}

// Progress says how much was found, and how much of a large library was searched.
function Progress({ search, number, principal, field }: ProgressProps) {
  const { found, state, goOn, stop } = search;
  const part = progressOf(found, principal.library.count.value);
  const searching = state === 'searching';
  return (
    <div className="found-progress">
      <p role="status">
        {searching ? 'Searching... ' : ''}
        {matchesOf(number, found.more)}
      </p>
      {searching && <progress aria-label="Part of the library that was searched" value={part ?? undefined} max={1} />}
      {((searching && found.cut > 0) || state === 'stopped') && (
        <TransientButton field={field} onClick={searching ? stop : goOn}>
          {searching ? 'Stop' : 'Continue the search'}
        </TransientButton>
      )}
    </div>
  );
}

// TransientButton is a button that disappears by itself. If it has focus at that moment, focus
// moves to the search field.
function TransientButton({ field, onClick, children }: { field: FieldRef; onClick: () => void; children: string }) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const element = button.current;
    return () => {
      if (element && document.activeElement === element) field.current?.focus({ preventScroll: true });
    };
  }, [field]);
  return (
    <button ref={button} type="button" className="button" onClick={onClick}>
      {children}
    </button>
  );
}

// TooLong is shown instead of results if the gateway refuses a search: readFilter has checked
// everything but the number of words.
function TooLong() {
  return (
    <div role="alert">
      <Empty heading="The search is too long">
        <p>
          A search has at most {mostWords} words and {longestText} characters.
        </p>
      </Empty>
    </div>
  );
}

function NoMatches({ place, field }: { place: LibraryPlace; field: FieldRef }) {
  const { go } = useNavigation();
  return (
    <Empty heading="No matches">
      <p>Each word must match the beginning of a word in the title or description. Items that you cannot see are not found.</p>
      <TransientButton field={field} onClick={() => go({ ...place, filter: noFilter })}>
        Clear the search
      </TransientButton>
    </Empty>
  );
}
