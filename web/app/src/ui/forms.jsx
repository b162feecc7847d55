// Fields with what is wrong with them beside them, and the way of a form to the
// gateway and back.
import { useEffect, useId, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { newKey } from '../data/client.js';
import { explain, faultsByField } from '../data/faults.js';
import { useOnline } from './notices.jsx';
import { VisibilityIcon } from './icons.jsx';
import { visibilityMeaning, visibilityName } from './words.js';

const idle = { busy: false, faults: {}, userErrors: [], error: null };

// useSubmit sends a mutation. send(input) answers with the payload, or with
// null where something is wrong; what is wrong is in the state. A form that is
// sent again after its answer was lost carries the same idempotency key, so
// that nothing is done twice.
export function useSubmit(document, fields = []) {
  const client = useApolloClient();
  const online = useOnline();
  const [state, setState] = useState(idle);
  const sent = useRef({ text: '', key: '' });

  const send = async (input) => {
    const text = JSON.stringify(input);
    if (sent.current.text !== text) sent.current = { text, key: newKey() };
    setState({ ...idle, busy: true });
    try {
      const variables = { input: { ...input, idempotencyKey: sent.current.key } };
      const { data } = await client.mutate({ mutation: document, variables });
      const [payload] = Object.values(data);
      const { userErrors } = payload;
      setState({ ...idle, userErrors, faults: faultsByField(userErrors, fields) });
      if (userErrors.length > 0) return null;
      sent.current = { text: '', key: '' };
      return payload;
    } catch (error) {
      setState({ ...idle, error: explain(error, { online }) });
      return null;
    }
  };
  return { ...state, send, clear: () => setState(idle) };
}

// Form sends with Enter, and leads to the first field that is at fault.
export function Form({ onSubmit, submission, actions, children }) {
  const form = useRef(null);
  const { faults, error } = submission;
  useEffect(() => {
    form.current.querySelector('[aria-invalid="true"]')?.focus();
  }, [faults]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!submission.busy) onSubmit();
      }}
    >
      {children}
      <div role="alert" className="form-faults">
        {(faults.form ?? []).map((text) => (
          <p key={text}>{text}</p>
        ))}
        {error && <p>{error.text}</p>}
      </div>
      <div className="dialog-actions">{actions}</div>
    </form>
  );
}

export function TextField({ label, hint, faults = [], rows = 0, autoFocus = false, ...rest }) {
  const id = useId();
  const field = useRef(null);
  useEffect(() => {
    if (autoFocus) field.current.focus();
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
        {...rest}
      />
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      <Faults id={`${id}-fault`} texts={faults} />
    </div>
  );
}

export function Faults({ id, texts = [] }) {
  if (texts.length === 0) return null;
  return (
    <div id={id} className="fault">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}

// Choice is a group of radio buttons, each with its meaning.
export function Choice({ label, name, value, onChange, options, faults = [] }) {
  const id = useId();
  return (
    <fieldset className="choice" aria-describedby={faults.length > 0 ? `${id}-fault` : undefined}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="choice-option">
          <input type="radio" name={`${name}-${id}`} value={option.value} checked={option.value === value} onChange={() => onChange(option.value)} />
          <span>
            <b>
              {option.drawing}
              {option.label}
            </b>
            {option.meaning && <small>{option.meaning}</small>}
          </span>
        </label>
      ))}
      <Faults id={`${id}-fault`} texts={faults} />
    </fieldset>
  );
}

export function VisibilityChoice({ value, onChange, tenant, what, faults }) {
  const options = ['PUBLIC', 'LOGGEDIN', 'PRIVATE'].map((visibility) => ({
    value: visibility,
    label: visibilityName(visibility, tenant),
    meaning: visibilityMeaning(visibility, tenant, what),
    drawing: <VisibilityIcon of={visibility} />,
  }));
  return <Choice label="Who may see it" name="visibility" value={value} onChange={onChange} options={options} faults={faults} />;
}

export function Submit({ busy, children, danger = false }) {
  return (
    <button type="submit" className={danger ? 'button button-danger' : 'button button-main'} aria-disabled={busy}>
      {busy ? 'One moment…' : children}
    </button>
  );
}
