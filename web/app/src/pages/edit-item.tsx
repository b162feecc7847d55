// Editing the title, link and description of an item, even while others edit them or after the
// item was deleted.
import { useEffect, useRef, useState, type MouseEvent } from 'react';
import { useApolloClient } from '@apollo/client/react';
import {
  CreateContentDocument,
  ItemDocument,
  UpdateContentDocument,
  type CreateContentInput,
  type EntryFragment,
  type ItemFragment,
  type LibraryVisibility,
  type UpdateContentInput,
  type UpdateContentMutation,
} from '../generated/operations.ts';
import { withScheme } from '../data/hosts.ts';
import { keepMine, merge, saveMerged, sinceSent, takeTheirs, type, type Edits, type Merged, type Saved } from '../data/merge.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Form, TextField, useSubmit, type Submission, type TextFieldProps } from '../ui/forms.tsx';
import { useSay } from '../ui/notices.tsx';
import { itemBefore } from './create-item.tsx';

const fields = ['title', 'link', 'description'] as const;

interface Texts {
  title: string;
  description: string;
  link?: string;
}

interface EditItemProps {
  item: ItemFragment;
  gone: boolean;
  onClose: () => void;
  onDone: (saved: SavedItem) => void;
  onCreated: (item: EntryFragment) => void;
}

export type SavedItem = Saved<UpdatedItem>;
type UpdatedItem = NonNullable<UpdateContentMutation['updateContent']>;

// EditItem changes the title, link and description of an item. item is the item as it is stored
// now. gone reports that it was deleted, or that the reader may not see it any more: then it is
// the item as it was last seen, and the typed text can become a new item.
export function EditItem({ item, gone, onClose, onDone, onCreated }: EditItemProps) {
  const update = useSubmit(UpdateContentDocument, fields);
  const create = useSubmit(CreateContentDocument, fields, { before: itemBefore });
  const { form, save } = useMergedForm(item, update, textOf, sentText);
  const { shown, changes, conflicts, edit, keep, take } = form;
  const typed = Object.keys(changes).length > 0 || conflicts.length > 0;
  const lost = gone ? goneText : item.viewerCanEdit ? '' : forbiddenText;
  const submission = lost ? create : update;
  useCloseWhen(lost !== '' && !typed, onClose, lost);

  const saveChanges = async () => {
    const payload = await save();
    if (payload && !payload.conflicts) onDone(payload);
  };
  const createNew = async () => {
    const payload = await create.send({ ...newItem(item, shown), visibility: 'PRIVATE' });
    if (payload?.content) onCreated(payload.content);
  };
  const field = (name: keyof Texts, label: string, more: Partial<TextFieldProps>) => (
    <>
      <TextField label={label} value={shown[name]} onChange={(event) => edit(name, event.target.value)}
        faults={submission.faults[name]} {...more} />
      {!lost && conflicts.includes(name) && <FieldConflict label={label} theirs={textOf(item)[name]} onKeep={() =>
        keep(name)} onTake={() => take(name)} />}
    </>
  );
  return (
    <Dialog title={lost ? 'Your text is still here' : 'Edit'} onClose={onClose} unsaved={typed}>
      <Form onSubmit={lost ? createNew : saveChanges} submission={submission}
        actions={<Actions submission={submission} verb={lost ? 'Create as new item' : 'Save'} />}>
        <Lost text={lost} />
        <Overtaken fields={lost ? [] : form.theirs} />
        {field('title', 'Title', { autoFocus: true })}
        {item.kind === 'LINK' && field('link', 'Link', { inputMode: 'url' })}
        {field('description', 'Description', { rows: 5 })}
        {lost && <CopyText texts={[shown.title, shown.link, shown.description]} />}
      </Form>
    </Dialog>
  );
}

export const goneText = 'This item was deleted, or you no longer have access to it.';
const forbiddenText = 'You may no longer edit this item.';

// useCloseWhen closes a dialog when ended becomes true, and shows text.
export function useCloseWhen(ended: boolean, onClose: () => void, text: string) {
  const say = useSay();
  useEffect(() => {
    if (!ended) return;
    onClose();
    say(text);
  }, [ended]);
}

function textOf({ kind, title, link, description }: ItemFragment): Texts {
  return { title, description: description ?? '', ...(kind === 'LINK' && { link: link ?? '' }) };
}

// sentText converts typed texts to an input, in which an empty description is null and a link has a
// scheme.
function sentText(changes: Partial<Texts>): Partial<UpdateContentInput> {
  const { description, link } = changes;
  return { ...changes, ...(description === '' && { description: null }), ...(link !== undefined && { link: withScheme(link) }) };
}

// EditableValues are the values of an item that forms may change.
type EditableValues = Partial<Texts & { visibility: LibraryVisibility }>;

interface MergedForm<Values> extends Merged<Values> {
  theirs: (keyof Values)[];
  edit: <Field extends keyof Values>(name: Field, value: Values[Field]) => void;
  keep: (name: keyof Values) => void;
  take: (name: keyof Values) => void;
}

// useMergedForm holds what a reader types into a form about an item, merged with the present item.
// valuesOf(item) returns the values of the form's fields for an item, and sent(changes) converts
// changed values to the input. save() sends the changes, and returns the payload, or null if
// something is wrong.
export function useMergedForm<Values extends EditableValues>(
  item: ItemFragment,
  submission: Pick<Submission<UpdateContentInput, UpdatedItem>, 'run'>,
  valuesOf: (item: ItemFragment) => Values,
  sent: (changes: Partial<Values>) => Partial<UpdateContentInput> = (changes) => changes,
): { save: () => Promise<SavedItem | null>; form: MergedForm<Values> } {
  const client = useApolloClient();
  const [opened] = useState(item);
  const [edits, setEdits] = useState<Edits<Values>>({});
  const [asked, setAsked] = useState(0);
  const sentBefore = useRef<Partial<Values>[]>([]);
  const mergedWith = (values: Values) => merge(sinceSent(edits, values, sentBefore.current), values);
  const stored = valuesOf(item);
  const merged = mergedWith(stored);
  const before = valuesOf(opened);

  const reread = async () => (await client.query({ query: ItemDocument, variables: { id: item.id }, fetchPolicy: 'network-only' }))
    .data?.content ?? null;
  const mergeWith = (current: ItemFragment) => {
    const { changes, conflicts } = mergedWith(valuesOf(current));
    if (conflicts.length === 0) sentBefore.current.push(changes);
    return { changes: sent(changes), conflicts };
  };
  const save = async () => {
    const payload = await submission.run<SavedItem>((send) => saveMerged({ item, mergeWith, send, reread }));
    setAsked((presses) => (payload?.conflicts ? presses + 1 : 0));
    return payload;
  };
  // A choice that has to be made before saving takes focus each time that the reader saves.
  const waiting = merged.conflicts.length > 0 ? asked : 0;
  useEffect(() => {
    if (waiting === 0) return;
    const group = document.querySelector<HTMLElement>('dialog .conflict');
    group?.querySelector('button')?.focus({ preventScroll: true });
    group?.scrollIntoView({ block: 'center' });
  }, [waiting]);

  return {
    save,
    form: {
      ...merged,
      // Fields that others have changed since the form was opened, and the reader has not.
      theirs: (Object.keys(stored) as (keyof Values)[]).filter((name) => stored[name] !== before[name] &&
        merged.shown[name] === stored[name]),
      edit: (name, value) => setEdits((all) => type(all, stored, name, value)),
      keep: (name) => setEdits((all) => keepMine(all, stored, name)),
      take: (name) => setEdits((all) => takeTheirs(all, name)),
    },
  };
}

// Overtaken lists the fields that show what somebody else has just written.
function Overtaken({ fields: names }: { fields: (keyof Texts)[] }) {
  return (
    <div role="status" className="overtaken-status">
      {names.length > 0 && <p className="overtaken">Somebody else has changed the {
        names.join(' and the ')} meanwhile. The form shows the new version.</p>}
    </div>
  );
}

interface FieldConflictProps {
  label: string;
  theirs: string | undefined;
  onKeep: () => void;
  onTake: () => void;
}

// FieldConflict lets the reader choose between two versions of one field. The reader's own stays
// in the field above, where it can still be edited.
export function FieldConflict({ label, theirs, onKeep, onTake }: FieldConflictProps) {
  const choose = (act: () => void) => (event: MouseEvent) => {
    const form = event.currentTarget.closest('form');
    act();
    form?.querySelector<HTMLElement>('[type="submit"]')?.focus();
  };
  const name = label.toLowerCase();
  return (
    <div className="overtaken conflict" role="group" aria-label={`Two versions: ${label}`}>
      <div role="alert">
        <p>
          <b>Somebody else has changed the {name} too.</b> Your version is above. Their version:
        </p>
        <blockquote>{theirs || '(empty)'}</blockquote>
      </div>
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={choose(onKeep)}>
          Keep my {name}
        </button>
        <button type="button" className="button" onClick={choose(onTake)}>
          Use their {name}
        </button>
      </div>
    </div>
  );
}

// Lost says that an item can no longer be saved.
function Lost({ text }: { text: string }) {
  return (
    <div role="alert">
      {text && (
        <p className="overtaken">
          <span>
            <b>{text}</b> Your changes were not saved. Copy your text, or create a new private item with it in your library.
          </span>
        </p>
      )}
    </div>
  );
}

// newItem returns the input that creates an item of the same kind with other texts.
function newItem({ kind }: ItemFragment, { title, link, description }: Texts): CreateContentInput {
  return { kind, title, ...(kind === 'LINK' && { link: withScheme(link ?? '') }), ...(description && { description }) };
}

// CopyText copies typed texts that cannot be saved.
export function CopyText({ texts }: { texts: (string | undefined)[] }) {
  const [message, setMessage] = useState('');
  if (!navigator.clipboard) return null;
  const all = texts.filter(Boolean).join('\n\n');
  const copy = () =>
    navigator.clipboard.writeText(all).then(
      () => setMessage('Copied.'),
      () => setMessage('Your browser did not allow copying. Select the text and copy it.'),
    );
  return (
    <p className="copy-text">
      <button type="button" className="button" onClick={copy}>
        Copy text
      </button>
      <span role="status">{message}</span>
    </p>
  );
}
