// Chooses users and groups: those of the viewer's tenant by the beginning of a name,
// others by their full id. It follows the combobox pattern of WAI-ARIA: focus stays
// in the field, and the arrow keys move in the list.
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { FindPrincipalsDocument, PrincipalDocument, type PrincipalQuery } from '../generated/operations.ts';
import { explain, faultsByIndex, type Faults as FaultsOf, type UserFault } from '../data/faults.ts';
import { principalId } from '../data/routes.ts';
import { isOnline } from '../data/network.ts';
import { Close } from './icons.tsx';
import { Faults } from './forms.tsx';
import { useOnline } from './notices.tsx';
import { foundOf, handleOf } from './words.ts';
import { Monogram, useRetryWhenOnline } from './states.tsx';

const typingPause = 150;
const atOnce = 8;
const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
const looking = 'Searching...';
const label = 'People and groups';

// Person is a user or a group that can be chosen.
export interface Person {
  id: string;
  displayName: string;
}

// Choosable is an option of the list. If isTypedId is set, it is an id that was typed, whose
// principal is looked up when it is chosen.
interface Choosable extends Person {
  isTypedId?: boolean;
}

type Change = (all: Person[]) => Person[];

interface PickerProps {
  tenant: string;
  chosen: Person[];
  onChange: (change: Change) => void;
  faults?: string[] | undefined;
  faultsOf: Map<number, string>;
  autoFocus?: boolean;
}

interface PeopleSubmission<List extends string> {
  userErrors: readonly UserFault[];
  faults: FaultsOf<List>;
  clear(): void;
}

interface People {
  people: Person[];
  someone: () => boolean;
  drop: (gone: Person[]) => void;
  picker: Pick<PickerProps, 'chosen' | 'onChange' | 'faults' | 'faultsOf'>;
}

// usePeople returns the chosen people of a form, and the properties of its picker. someone()
// reports whether anybody is chosen, and shows an error if nobody is. drop(gone) removes some of
// them. list is the name of the input's list in which they are sent.
export function usePeople<List extends string>(submission: PeopleSubmission<List>, list: List): People {
  const [people, setPeople] = useState<Person[]>([]);
  const [nobody, setNobody] = useState(false);
  const faultsOf = faultsByIndex(submission.userErrors, list);
  // An error of one person is shown with that person, any other with the field.
  const ofField = faultsOf.size > 0 ? [] : submission.faults[list];
  const onChange = (change: Change) => {
    setPeople(change);
    setNobody(false);
    submission.clear();
  };
  const someone = () => {
    setNobody(people.length === 0);
    return people.length > 0;
  };
  const drop = (gone: Person[]) => onChange((all) => all.filter((one) => !gone.includes(one)));
  return { people, someone, drop, picker: { chosen: people, onChange, faults: nobody ? ['Choose at least one person or group.']
    : ofField, faultsOf } };
}

// PeoplePicker calls onChange with a function that changes the chosen people, because others may
// have been chosen when an answer arrives.
export function PeoplePicker({ tenant, chosen, onChange, faults = [], faultsOf, autoFocus = false }: PickerProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const byId = useLookUp(text);
  const found = useOptions(tenant, text, chosen);
  const options = byId.looking ? [] : found.options;
  const waiting = byId.looking || found.waiting;
  const state = byId.looking ? looking : found.state;
  const shown = open && text.trim() !== '';
  const activeOption = useRef<HTMLLIElement>(null);
  useEffect(() => {
    activeOption.current?.scrollIntoView({ block: 'nearest' });
  }, [active, shown]);
  const wrong = [...faults, ...(byId.fault ? [byId.fault] : [])];

  const add = async (option: Choosable) => {
    const one = option.isTypedId ? await byId.find(option.id) : option;
    if (!one) return;
    onChange((all) => (all.some(({ id }) => id === one.id) ? all : [...all, one]));
    setText('');
    setOpen(false);
  };
  const remove = (gone: string) => {
    onChange((all) => all.filter((other) => other.id !== gone));
    input.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key];
    const option = options[active];
    if (step && options.length > 0) {
      event.preventDefault();
      if (shown) setActive((active + step + options.length) % options.length);
      setOpen(true);
    } else if (event.key === 'Enter' && shown) {
      event.preventDefault();
      // The list may still show results for a former text.
      if (option && !waiting) add(option);
    } else if (event.key === 'Escape' && shown) {
      // The first Escape closes the list, the second one the dialog.
      event.preventDefault();
      setOpen(false);
    } else if (event.key === 'Backspace' && text === '' && chosen.length > 0) {
      onChange((all) => all.slice(0, -1));
    }
  };

  return (
    <div className="field picker">
      <label htmlFor={id}>{label}</label>
      <div className="picker-box">
        {chosen.map((principal, i) => (
          <span key={principal.id} className={faultsOf.has(i) ? 'chip chip-wrong' : 'chip'}>
            <Monogram id={principal.id} name={principal.displayName} />
            {principal.displayName}
            <button type="button" aria-label={`Remove ${principal.displayName}`} onClick={() => remove(principal.id)}>
              <Close />
            </button>
          </span>
        ))}
        <input
          id={id}
          ref={input}
          role="combobox"
          data-autofocus={autoFocus || undefined}
          aria-expanded={shown}
          aria-controls={`${id}-list`}
          aria-activedescendant={shown && options[active] ? `${id}-${active}` : undefined}
          aria-autocomplete="list"
          aria-describedby={`${id}-hint${wrong.length > 0 ? ` ${id}-fault` : ''}`}
          aria-invalid={wrong.length > 0 || faultsOf.size > 0}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setOpen(true);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => setOpen(false)}
        />
      </div>
      <ul id={`${id}-list`} role="listbox" aria-label={label} aria-busy={waiting} className="picker-list" hidden={!shown}>
        {shown &&
          options.map((option, i) => (
            <li
              key={option.id}
              id={`${id}-${i}`}
              ref={i === active ? activeOption : undefined}
              role="option"
              aria-selected={i === active}
              // Focus stays in the field: losing it would close the list before the click.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => add(option)}
            >
              <Monogram id={option.id} name={option.displayName} />
              <span className="picker-found">
                <bdi>{option.displayName}</bdi>
                <small>{option.isTypedId ? 'by this id' : handleOf(option.id, tenant)}</small>
              </span>
            </li>
          ))}
        {shown && options.length === 0 && <li className="picker-none">{state}</li>}
      </ul>
      <span className="hidden" role="status">
        {shown ? (options.length > 0 && !waiting ? foundOf(options.length, found.more) : state) : ''}
      </span>
      <p id={`${id}-hint`} className="hint">
        Search by name in {tenant}. Add people of other organisations by their id, such as <code>u:acme:zed</code>.
      </p>
      <Faults id={`${id}-fault`} texts={wrong} />
      {[...faultsOf].map(([i, fault]) => (
        <p key={i} className="fault">
          {chosen[i]?.displayName}: {fault}
        </p>
      ))}
    </div>
  );
}

// useOptions returns the people and groups that match a text: those of the tenant whose name
// starts with it, and the one with this id.
function useOptions(tenant: string, text: string, chosen: Person[]) {
  const online = useOnline();
  const prefix = useDebounced(text.trim());
  const { data, previousData, error, loading, refetch } = useQuery(FindPrincipalsDocument, {
    variables: { tenant, prefix, first: atOnce + chosen.length },
    skip: prefix === '' || principalId.test(prefix),
    fetchPolicy: 'network-only',
  });
  useRetryWhenOnline(() => (error ? refetch() : Promise.resolve()));
  const taken = new Set(chosen.map((principal) => principal.id));
  const typed = text.trim().toLowerCase();
  const options: Choosable[] = principalId.test(typed)
    ? [{ id: typed, displayName: typed, isTypedId: true }]
    : ((data ?? previousData)?.principals.edges ?? []).map(({ node }) => node);
  const left = options.filter((option) => !taken.has(option.id)).slice(0, atOnce);
  const waiting = !principalId.test(typed) && (loading || prefix !== text.trim());
  // A page that was cut short may be empty while more follows.
  const more = data?.principals.pageInfo.hasNextPage ?? false;
  const none = more
    ? 'No matches so far. Type more of the name.'
    : `No matches in ${tenant}. For people of other organisations, enter the whole id.`;
  const state = error ? explain(error, { online }).text : waiting ? looking : none;
  return { options: error ? [] : left, state, waiting, more };
}

// useDebounced returns a text with a delay: it follows only once the reader has paused typing.
export function useDebounced(text: string, pause = typingPause): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), pause);
    return () => clearTimeout(timer);
  }, [text, pause]);
  return debounced;
}

// useLookUp looks up the id in the field. Results and errors for a former text are ignored.
function useLookUp(text: string) {
  const client = useApolloClient();
  const [state, setState] = useState({ text: '', looking: false, fault: '' });
  const now = useRef(text);
  now.current = text;
  const find = async (id: string): Promise<PrincipalQuery['principal']> => {
    const end = (fault: string) => setState((last) => (last.text === text ? { text, looking: false, fault } : last));
    setState({ text, looking: true, fault: '' });
    try {
      const { data } = await client.query({ query: PrincipalDocument, variables: { id }, fetchPolicy: 'network-only' });
      const principal = data?.principal ?? null;
      end(principal ? '' : 'There is no user or group with this id that you can see.');
      return now.current === text ? principal : null;
    } catch (error) {
      end(explain(error, { online: isOnline() }).text);
      return null;
    }
  };
  const ours = state.text === text;
  return { find, looking: ours && state.looking, fault: ours ? state.fault : '' };
}
