// The search field of a library, and its filters.
import { useEffect, useState, type RefObject } from 'react';
import { useQuery } from '@apollo/client/react';
import { allKinds, allRoles, allVisibilities, isNarrow, longestText, noFilter, toggle, type Filter } from '../data/filter.ts';
import type { LibraryPlace } from '../data/routes.ts';
import { PrincipalDocument, type ContentRole } from '../generated/operations.ts';
import { Close, Search, VisibilityIcon } from '../ui/icons.tsx';
import { useNavigation } from '../ui/navigation.tsx';
import { useDebounced } from '../ui/people-picker.tsx';
import { useMe } from '../ui/session.tsx';
import { kindsName, roleName, visibilityName } from '../ui/words.ts';
import type { Owner } from './library-head.tsx';

interface LibrarySearchProps {
  field: RefObject<HTMLInputElement | null>;
  place: LibraryPlace;
  principal: Owner;
}

// LibrarySearch writes the search into the address.
export function LibrarySearch({ field, place, principal }: LibrarySearchProps) {
  const { go } = useNavigation();
  const me = useMe();
  const { filter } = place;
  const [text, setText] = useState(filter.text);
  const debounced = useDebounced(text.trim());
  const change = (next: Partial<Filter>) => go({ ...place, at: null, filter: { ...filter, text: text.trim(), ...next } },
    { replace: isNarrow(filter) });

  // clear changes a filter by a button that disappears with it.
  const clear = (next: Partial<Filter>) => {
    change(next);
    field.current?.focus({ preventScroll: true });
  };

  // The field follows the address if that changes by itself: by a link, or by going back.
  const [known, setKnown] = useState(filter.text);
  if (known !== filter.text) {
    setKnown(filter.text);
    if (text.trim() !== filter.text) setText(filter.text);
  }
  useEffect(() => {
    if (debounced === filter.text || debounced !== text.trim()) return;
    setKnown(debounced);
    change({ text: debounced });
    // Only once the reader has stopped typing. If the field was cleared and has the same text again
    // before that, debounced has not changed, but text has.
  }, [debounced, text]);

  const { bucket } = principal.library;
  const possible = bucket === 'PUBLIC' ? [] : allVisibilities.filter((visibility) => visibility !== 'PRIVATE' ||
    bucket === 'PRIVATE' || place.shared);
  // The items of a whole library may be of several organisations.
  const tenant = bucket === 'LOGGEDIN' && !place.shared ? principal.tenant : '';
  // A filter from the address can be switched off, even if it matches nothing here.
  const visibilities = allVisibilities.filter((visibility) => possible.includes(visibility) || filter.visibilities.includes(visibility));
  const creator = filter.createdBy;
  // Only what narrows the search is shown until the filters are unfolded.
  const [unfolded, unfold] = useState(false);
  const kinds = allKinds.filter((kind) => unfolded || filter.kinds.includes(kind));
  const roles = allRoles.filter((role) => unfolded || filter.roles.includes(role));
  const mineOnly = creator !== null && creator === me?.id;
  const active = filter.kinds.length + filter.visibilities.length + filter.roles.length + (creator ? 1 : 0) + (place.shared ? 1 : 0);
  const mayInclude = me !== null && me !== undefined && bucket !== 'PRIVATE';
  // The role is that of the library's owner, which is not the reader's in the library of a group.
  const owner = principal.__typename === 'Group' ? 'the group' : principal.displayName;
  const roleFilter = (role: ContentRole) => (me?.id === principal.id ? `Role: ${roleName[role].toLowerCase()}`
    : `Shared with ${owner} as ${roleName[role].toLowerCase()}`);
  const creatorName = useName(creator && !mineOnly ? creator : null);
  return (
    <form
      role="search"
      className="library-search"
      aria-label="Search in this library"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== filter.text) change({});
      }}
    >
      <div className="library-search-line">
        <div className="search-box">
          <Search />
          <input
            ref={field}
            type="search"
            data-search
            aria-label="Search in this library"
            placeholder="Search titles and descriptions"
            value={text}
            maxLength={longestText}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <button type="button" className="button" aria-expanded={unfolded} aria-controls="filters" onClick={() => unfold(!unfolded)}>
          {active > 0 ? `Filters (${active})` : 'Filters'}
        </button>
      </div>
      <div className="chips" id="filters" role="group" aria-label="Filters" hidden={!unfolded && active === 0 && !isNarrow(filter)}>
        {kinds.map((kind) => (
          <Chip key={kind} label={kindsName[kind]} on={filter.kinds.includes(kind)}
            onToggle={() => change({ kinds: toggle(filter.kinds, kind) })} />
        ))}
        {visibilities
          .filter((visibility) => unfolded || filter.visibilities.includes(visibility))
          .map((visibility) => (
            <Chip
              key={visibility}
              label={visibilityName(visibility, tenant)}
              icon={<VisibilityIcon of={visibility} />}
              on={filter.visibilities.includes(visibility)}
              onToggle={() => (possible.includes(visibility) ? change : clear)({ visibilities: toggle(filter.visibilities, visibility) })}
            />
          ))}
        {roles.map((role) => (
          <Chip
            key={role}
            label={roleFilter(role)}
            title={`Items on which ${principal.displayName} has the role ${roleName[role].toLowerCase()}`}
            on={filter.roles.includes(role)}
            onToggle={() => change({ roles: toggle(filter.roles, role) })}
          />
        ))}
        {me && (unfolded || mineOnly) && <Chip label="Created by me" on={mineOnly} onToggle={() =>
          change({ createdBy: mineOnly ? null : me.id })} />}
        {creator && !mineOnly && <Chip label={`Created by ${creatorName}`} on onToggle={() => clear({ createdBy: null })} />}
        {mayInclude && (unfolded || place.shared) && <Chip label="Private items shared with me" on={place.shared} onToggle={() =>
          go({ ...place, at: null, shared: !place.shared }, { replace: true })} />}
        {isNarrow(filter) && (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => {
              setText('');
              clear(noFilter);
            }}
          >
            <Close /> Clear
          </button>
        )}
      </div>
    </form>
  );
}

// useName returns the name of a user, and the end of the id until it is known.
function useName(id: string | null): string {
  const { data } = useQuery(PrincipalDocument, { variables: { id: id ?? '' }, skip: id === null });
  return data?.principal?.displayName ?? id?.split(':')[2] ?? '';
}

interface ChipProps {
  label: string;
  title?: string;
  icon?: React.ReactNode;
  on: boolean;
  onToggle: () => void;
}

function Chip({ label, title, icon, on, onToggle }: ChipProps) {
  return (
    <button type="button" className="chip" aria-pressed={on} title={title} onClick={onToggle}>
      {icon}
      {label}
    </button>
  );
}
