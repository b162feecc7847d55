// Whose library it is, how much of it is read, and in which order.
import { useQuery } from '@apollo/client/react';
import { LIBRARY_HEAD } from '../data/documents.js';
import { VisibilityIcon } from '../ui/icons.jsx';
import { To, useNavigation } from '../ui/navigation.jsx';
import { useMe, useSession } from '../ui/session.jsx';
import { countOf, kindOfPrincipal, reading, visibilityName } from '../ui/words.js';

// useHead is who owns the library, with what the viewer reads of it.
export function useHead(id) {
  return useQuery(LIBRARY_HEAD, { variables: { id }, fetchPolicy: 'cache-and-network', nextFetchPolicy: 'cache-first' });
}

const liveWords = {
  live: 'Changes of others appear here as they happen.',
  waiting: 'The connection for live changes is lost; trying again.',
  off: 'Changes of others appear when the page is loaded again.',
};

export function LibraryHead({ principal, place, live }) {
  const me = useMe();
  const isGroup = kindOfPrincipal(principal.id) === 'group';
  const mine = me?.id === principal.id;
  const { bucket, count } = principal.library;
  return (
    <header className="library-head">
      <p className="eyebrow">
        {isGroup ? 'Group' : 'Reader'}
        <span className="badge">
          <VisibilityIcon of={principal.visibility} /> {visibilityName(principal.visibility, principal.tenant)}
        </span>
      </p>
      <h1>{mine ? 'My library' : principal.displayName}</h1>
      <p className="library-about">
        {countOf(count)}; {reading(bucket, principal.tenant)}
        {live && (
          <span className={`live live-${live}`} title={liveWords[live]}>
            <span className="hidden">{liveWords[live]}</span>
            <span aria-hidden="true">{{ live: 'Live', waiting: 'Reconnecting', off: 'Not live' }[live]}</span>
          </span>
        )}
      </p>
      {isGroup && <LibraryTabs id={principal.id} />}
      <Looks place={place} bucket={bucket} />
    </header>
  );
}

export function LibraryTabs({ id }) {
  const { place } = useNavigation();
  const current = (name) => (place.name === name ? 'page' : undefined);
  return (
    <nav className="tabs" aria-label="Of this group">
      <To place={{ name: 'library', id }} aria-current={current('library')}>
        Library
      </To>
      <To place={{ name: 'members', id }} aria-current={current('members')}>
        Members
      </To>
    </nav>
  );
}

// Looks are the ways to look at a library. Each begins at its beginning: a
// place in one order is none in another.
function Looks({ place, bucket }) {
  const { signedIn } = useSession();
  const { go } = useNavigation();
  const look = (change) => go({ ...place, ...change, at: null }, { replace: true });
  return (
    <div className="looks">
      <fieldset className="segments">
        <legend className="hidden">Order</legend>
        {[
          [false, 'Newest first'],
          [true, 'Oldest first'],
        ].map(([oldestFirst, label]) => (
          <label key={label}>
            <input type="radio" name="order" checked={place.oldestFirst === oldestFirst} onChange={() => look({ oldestFirst })} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      {signedIn && bucket !== 'PRIVATE' && (
        <label className="check">
          <input type="checkbox" checked={place.shared} onChange={(event) => look({ shared: event.target.checked })} />
          <span>With private items that are shared with me</span>
        </label>
      )}
    </div>
  );
}
