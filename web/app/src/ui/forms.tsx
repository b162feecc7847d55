// Fields with their errors next to them, and the submission of a form to the gateway.
import { createContext, Fragment, use, useEffect, useId, useRef, useState, type ChangeEventHandler,
  type InputHTMLAttributes, type ReactNode } from 'react';
import type { TypedDocumentNode } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import { directionOf } from '../data/direction.ts';
import { explain, faultsByField, inDoubt, madeBefore, sentence, type Explanation, type Faults as FaultsOf } from '../data/faults.ts';
import { MadeBefore, outbox } from '../data/outbox.ts';
import type { FaultsFragment, LibraryVisibility } from '../generated/operations.ts';
import { useLeave, useSending } from './dialog.tsx';
import { To } from './navigation.tsx';
import { useOnline } from './notices.tsx';
import { useSession } from './session.tsx';
import { SignInAgain } from './states.tsx';
import { VisibilityIcon } from './icons.tsx';
import { visibilityMeaning, visibilityName, type Thing } from './words.ts';

// Payload is the common part of the payloads of all mutations.
interface Payload {
  userErrors: readonly FaultsFragment[];
}

// FormState is the state of a form's submission. unclear: an answer was lost, so a change may have been made.
export interface FormState {
  busy: boolean;
  faults: FaultsOf;
  error?: Explanation | null;
  unclear?: boolean;
}

interface SubmissionState<Field extends string> extends FormState {
  faults: FaultsOf<Field>;
  userErrors: readonly FaultsFragment[];
  error: Explanation | null;
}

type Post<Input, Reply> = (input: Input) => Promise<Reply>;

// Submission is what useSubmit returns. clear() removes its errors.
export interface Submission<Input, Reply, Field extends string = never> extends SubmissionState<Field> {
  run<Outcome extends Payload>(work: (post: Post<Input, Reply>) => Promise<Outcome>): Promise<Outcome | null>;
  send(input: Input): Promise<Reply | null>;
  undo(input: Input): Promise<true | string | null>;
  clear(): void;
}

const idle = { busy: false, faults: {}, userErrors: [], error: null };

interface Options<Reply> {
  keyed?: boolean;
  before?: (reply: Reply) => Explanation | null | undefined;
}

// useSubmit sends a mutation. send(input) returns the payload, or null after an error, which is in
// the state. run(work) does the same for work(post), which may send more than once. A form that is
// sent again after its answer was lost makes nothing twice (see Outbox); before(reply) explains what it had made, for a form that
// was altered meanwhile. What a lost change was about is read again at once, and when the form is closed.
// undo(input) sends what takes back an action, for its notice: it returns true, why that failed, or null if the answer was lost.
// keyed is false for inputs that have no idempotency key.
export function useSubmit<Input extends object, Reply extends Payload, Field extends string = never>(
  document: TypedDocumentNode<Record<string, Reply | null>, { input: Input }>,
  fields: readonly Field[] = [],
  { keyed = true, before }: Options<Reply> = {},
): Submission<Input, Reply, Field> {
  const client = useApolloClient();
  const online = useOnline();
  const [state, setState] = useState<SubmissionState<Field>>(idle);
  const [sent] = useState(() => outbox<Input, Reply>());
  const lost = useLost(sent);

  const mutate = async (input: Input, idempotencyKey: string) => {
    const { data } = await client.mutate({ mutation: document, variables: { input: keyed ? { ...input, idempotencyKey } : input } });
    const [payload] = Object.values(data ?? {});
    if (!payload) throw new Error('The answer has no payload.');
    // What the page shows of the thing or the reader's role is outdated.
    if (payload.userErrors.some(({ code }) => code === 'FORBIDDEN' || code === 'NOT_FOUND'))
      client.refetchQueries({ include: 'active' }).catch(() => {});
    return payload;
  };
  const post = (input: Input) => lost.watch(() => sent.post(input, mutate));
  const why = (error: unknown, count: number): Explanation => {
    if (error instanceof MadeBefore) return (error.reply && before?.(error.reply)) ?? madeBefore;
    return sent.lost().length > count ? inDoubt(explain(error, { online })) : explain(error, { online });
  };
  const run = async <Outcome extends Payload>(work: (post: Post<Input, Reply>) => Promise<Outcome>) => {
    const { length } = sent.lost();
    setState({ ...idle, busy: true });
    try {
      const payload = await work(post);
      const { userErrors } = payload;
      setState({ ...idle, userErrors, faults: faultsByField(userErrors, fields) });
      return userErrors.length > 0 ? null : payload;
    } catch (error) {
      setState({ ...idle, error: why(error, length) });
      return null;
    }
  };
  const undo = async (input: Input) => {
    const { length } = sent.lost();
    try {
      const { userErrors } = await post(input);
      return userErrors.length === 0 || userErrors.map(({ message }) => sentence(message)).join(' ');
    } catch (error) {
      return sent.lost().length > length ? null : why(error, length).text;
    }
  };
  const send = (input: Input) => run((post) => post(input));
  const clear = () => (setState(idle), lost.readAgain());
  return { ...state, error: useCurrent(state.error), unclear: lost.unclear, run, send, undo, clear };
}

// OnLost is what a page does when nobody knows whether a change was made.
export const OnLost = createContext(() => {});

// useLost reads again what the page shows if the answer to a change was lost, and once more when the form is closed. watch(post)
// sends a change.
function useLost(sent: { lost(): readonly unknown[] }) {
  const client = useApolloClient();
  const onLost = use(OnLost);
  const [unclear, setUnclear] = useState(false);
  const readAgain = () => {
    if (sent.lost().length === 0) return;
    client.refetchQueries({ include: 'active' }).catch(() => {});
    onLost();
  };
  useEffect(() => readAgain, [onLost]);
  const watch = async <Reply,>(post: () => Promise<Reply>) => {
    try {
      return await post();
    } catch (error) {
      if (error instanceof MadeBefore) client.refetchQueries({ include: 'active' }).catch(() => {});
      readAgain();
      throw error;
    } finally {
      setUnclear(sent.lost().length > 0);
    }
  };
  return { unclear, readAgain, watch };
}

// useCurrent returns an error until the client knows that its cause is over: the network is
// back, or an expired token was replaced.
export function useCurrent(error: Explanation | null): Explanation | null {
  const online = useOnline();
  const { expired } = useSession();
  if (error?.kind === 'offline' && online) return null;
  if (error?.kind === 'signedOut' && !expired) return null;
  return error;
}

interface FormProps {
  onSubmit: () => void;
  submission: FormState;
  actions: ReactNode;
  children: ReactNode;
}

// Form submits with Enter, and moves focus to the first field with an error.
export function Form({ onSubmit, submission, actions, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [wrong, setWrong] = useState<WrongField[]>([]);
  const { busy, faults, error, unclear = false } = submission;
  useSending(busy, unclear);
  useEffect(() => {
    const fields = [...(form.current?.querySelectorAll<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>(
      '[aria-invalid="true"]') ?? [])];
    setWrong(fields.map((field) => ({ field, name: field.labels?.[0]?.textContent ?? '' })));
    fields[0]?.focus();
  }, [faults]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit();
      }}
    >
      {children}
      <div className="form-end">
        <div role="alert" className="form-faults">
          {wrong.length > 1 && <WrongFields fields={wrong} />}
          {(faults.form ?? []).map((text) => (
            <p key={text}>{text}</p>
          ))}
          {error && (
            <p>
              {error.text} {error.place && <To place={error.place}>Open it</To>}
            </p>
          )}
          {error?.kind === 'signedOut' && <SignInAgain />}
        </div>
        <div className="dialog-actions">{actions}</div>
      </div>
    </form>
  );
}

interface WrongField {
  field: HTMLElement;
  name: string;
}

// WrongFields names the fields with errors next to the button: the first one has focus, the
// others may be out of view.
function WrongFields({ fields }: { fields: WrongField[] }) {
  return (
    <p>
      Check{' '}
      {fields.map(({ field, name }, i) => (
        <Fragment key={name}>
          {i > 0 && (i === fields.length - 1 ? ' and ' : ', ')}
          <button type="button" className="text-button" onClick={() => field.focus()}>
            {name}
          </button>
        </Fragment>
      ))}
      .
    </p>
  );
}

interface ActionsProps {
  submission: FormState;
  verb: string;
  danger?: boolean;
  held?: boolean;
}

// Actions are the buttons below a form in a dialog. If the action cannot be undone, focus
// starts on Cancel. held: it cannot be done yet.
export function Actions({ submission, verb, danger = false, held = false }: ActionsProps) {
  const leave = useLeave();
  return (
    <>
      <button type="button" className="button" data-autofocus={danger || undefined} onClick={leave}>
        Cancel
      </button>
      <Submit busy={submission.busy} danger={danger} held={held}>
        {verb}
      </Submit>
    </>
  );
}

export interface TextFieldProps extends Pick<InputHTMLAttributes<HTMLElement>,
  'type' | 'inputMode' | 'readOnly' | 'placeholder' | 'autoCapitalize' | 'spellCheck'> {
  label: string;
  hint?: string;
  faults?: string[] | undefined;
  rows?: number;
  // suggestions are offered while a person types.
  suggestions?: readonly string[];
  autoFocus?: boolean;
  value: string | undefined;
  onChange: ChangeEventHandler<HTMLInputElement | HTMLTextAreaElement>;
}

export function TextField({ label, hint, faults = [], rows = 0, suggestions, autoFocus = false, ...rest }: TextFieldProps) {
  const id = useId();
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  useEffect(() => {
    if (autoFocus) field.current?.focus();
  }, [autoFocus]);
  const Control = rows > 0 ? 'textarea' : 'input';
  const described = [hint && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Control
        id={id}
        ref={field}
        rows={rows || undefined}
        aria-describedby={described || undefined}
        aria-invalid={faults.length > 0}
        autoComplete="off"
        dir={directionOf(rest.value ?? '')}
        {...(suggestions && { list: `${id}-list` })}
        {...rest}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      <Faults id={`${id}-fault`} texts={faults} />
    </div>
  );
}

interface SelectFieldProps {
  label: string;
  faults?: string[] | undefined;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}

// SelectField is a choice from a list, which may be long; children are its options.
export function SelectField({ label, faults = [], value, onChange, children }: SelectFieldProps) {
  const id = useId();
  const wrong = faults.length > 0;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} aria-describedby={wrong ? `${id}-fault` : undefined} aria-invalid={wrong}
        onChange={(event) => onChange(event.target.value)}>
        {children}
      </select>
      <Faults id={`${id}-fault`} texts={faults} />
    </div>
  );
}

interface ActionFaultsProps {
  // null: the errors are shown elsewhere.
  submission: FormState | null;
  id?: string;
  className?: string;
}

// ActionFaults shows why the action of a button outside a form failed.
export function ActionFaults({ submission, id, className }: ActionFaultsProps) {
  const texts = submission ? [...Object.values(submission.faults).flat(), submission.error?.text].filter(Boolean) : [];
  return (
    <div role="alert" id={id} className={className}>
      {texts.map((text) => (
        <p key={text} className="fault">
          {text}
        </p>
      ))}
      {submission?.error?.kind === 'signedOut' && <SignInAgain />}
    </div>
  );
}

export function Faults({ id, texts = [] }: { id: string; texts?: string[] | undefined }) {
  if (texts.length === 0) return null;
  return (
    <div id={id} className="fault">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

interface Option<Value extends string> {
  value: Value;
  label: string;
  meaning?: string;
  drawing?: ReactNode;
}

interface ChoiceProps<Value extends string> {
  label: string;
  name: string;
  value: Value;
  onChange: (value: Value) => void;
  options: Option<Value>[];
  faults?: string[] | undefined;
  autoFocus?: boolean | undefined;
  // compact: the options are in a row, and only the chosen one is described.
  compact?: boolean | undefined;
}

// Choice is a group of radio buttons, each with a description.
export function Choice<Value extends string>({ label, name, value, onChange, options, faults = [], autoFocus = false,
  compact = false }: ChoiceProps<Value>) {
  const id = useId();
  return (
    <fieldset className={compact ? 'choice choice-compact' : 'choice'} aria-describedby={faults.length > 0 ? `${id}-fault` : undefined}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="choice-option">
          <input type="radio" name={`${name}-${id}`} value={option.value} checked={option.value === value}
            data-autofocus={(autoFocus && option.value === value) || undefined} onChange={() => onChange(option.value)} />
          <span>
            <b>
              {option.drawing}
              {option.label}
            </b>
            {option.meaning && !compact && <small>{option.meaning}</small>}
          </span>
        </label>
      ))}
      {compact && (
        <p className="hint" role="status">
          {options.find((option) => option.value === value)?.meaning}
        </p>
      )}
      <Faults id={`${id}-fault`} texts={faults} />
    </fieldset>
  );
}

interface VisibilityChoiceProps extends Pick<ChoiceProps<LibraryVisibility>, 'value' | 'onChange' | 'faults' | 'autoFocus' | 'compact'> {
  tenant: string;
  what: Thing;
}

const visibilities: LibraryVisibility[] = ['PUBLIC', 'LOGGEDIN', 'PRIVATE'];

export function VisibilityChoice({ value, onChange, tenant, what, faults, autoFocus, compact }: VisibilityChoiceProps) {
  const options = visibilities.map((visibility) => ({
    value: visibility,
    label: visibilityName(visibility, tenant, what),
    meaning: visibilityMeaning(visibility, tenant, what),
    drawing: <VisibilityIcon of={visibility} />,
  }));
  // What is in the library of a group has its own visibility.
  const label = what === 'group' ? 'Visibility of its name and members, not of its items' : 'Visibility';
  return <Choice label={label} name="visibility" value={value} onChange={onChange} options={options}
    faults={faults} autoFocus={autoFocus} compact={compact} />;
}

interface SubmitProps extends Pick<ActionsProps, 'danger' | 'held'> {
  busy?: boolean;
  children: ReactNode;
}

export function Submit({ busy = false, children, danger = false, held = false }: SubmitProps) {
  return (
    <button type="submit" className={danger ? 'button button-danger' : 'button button-main'} aria-disabled={busy || held}>
      {busy ? 'Please wait...' : children}
    </button>
  );
}
