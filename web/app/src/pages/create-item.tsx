// Creating an item, in the reader's own library or for a group as well.
import { useRef, useState, type ChangeEvent } from 'react';
import { useQuery } from '@apollo/client/react';
import { createdBefore } from '../data/faults.ts';
import { withScheme } from '../data/hosts.ts';
import { CreateContentDocument, GroupNameDocument, type ContentKind, type EntryFragment, type GroupNameQuery,
  type LibraryVisibility } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Choice, Form, TextField, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { Failed } from '../ui/states.tsx';
import { kindName, named, visibilityName } from '../ui/words.ts';

const empty = { title: '', link: '', description: '', body: '' };

export type CreatedItem = EntryFragment;
export type GroupName = NonNullable<GroupNameQuery['group']>;

interface CreateItemProps {
  tenant: string;
  groupId: string | null;
  onClose: () => void;
  onDone: (item: CreatedItem, group: GroupName | null) => void;
}

// CreateItem creates an item. groupId is the group whose page the reader came from.
// If it is null, the item is only put into the reader's own library.
export function CreateItem({ tenant, groupId, onClose, onDone }: CreateItemProps) {
  const submission = useSubmit(CreateContentDocument, ['title', 'description', 'link', 'body', 'visibility', 'members'],
    { before: itemBefore });
  const where = useGroup(groupId);
  const { group } = where;
  const [kind, setKind] = useState<ContentKind>('LINK');
  const [text, setText] = useState(empty);
  const [visibility, setVisibility] = useState<LibraryVisibility>('PRIVATE');
  const [chosen, setChosen] = useState<boolean | null>(null);
  // Members of the group share with it by default; others have to choose to.
  const shared = group ? (chosen ?? Boolean(group.viewerRole)) : false;
  const edit = (name: keyof typeof empty) => (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    setText({ ...text, [name]: event.target.value });

  const save = async () => {
    if (group === undefined) return;
    const { title, link, description, body } = text;
    const payload = await submission.send({
      kind,
      title,
      visibility,
      ...(kind === 'LINK' ? { link: withScheme(link) } : body && { body }),
      ...(description && { description }),
      ...(group && shared && { members: [{ principalId: group.id, role: 'VIEWER' as const }] }),
    });
    if (payload?.content) onDone(payload.content, shared ? group : null);
  };

  return (
    <Dialog title="New item" onClose={onClose} unsaved={Object.values(text).some((one) => one.trim() !== '')}>
      <Form onSubmit={save} submission={submission}
        actions={<Actions submission={submission} verb="Create" held={group === undefined} />}>
        <Where {...where} shared={shared} onChange={setChosen} faults={submission.faults.members} />
        <Choice
          label="Kind"
          name="kind"
          value={kind}
          onChange={setKind}
          compact
          options={[
            { value: 'LINK', label: kindName.LINK, meaning: 'A link to a web page.' },
            { value: 'NOTE', label: kindName.NOTE, meaning: 'A text that you write here.' },
          ]}
        />
        <TextField label="Title" value={text.title} onChange={edit('title')} faults={submission.faults.title} autoFocus />
        {kind === 'LINK' && (
          <TextField label="Link" inputMode="url" placeholder="https://" value={text.link} onChange={edit('link')}
            faults={submission.faults.link} />
        )}
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={tenant} what="item"
          faults={submission.faults.visibility} compact />
        {kind === 'NOTE' && <TextField label="Text" hint="Markdown: # heading, **bold**, - list, [link](https://...)." rows={
          6} value={text.body} onChange={edit('body')} faults={submission.faults.body} />}
        <TextField label="Description" rows={2} value={text.description} onChange={edit('description')}
          faults={submission.faults.description} />
      </Form>
    </Dialog>
  );
}

// itemBefore explains that an item was created before the form was altered, and who sees it.
export const itemBefore = ({ content }: { content: EntryFragment | null }) => content && createdBefore(
  `${named(content.title)} (${visibilityName(content.visibility, content.tenant)})`, { name: 'item', id: content.id });

interface Home {
  // undefined until the group was read; null: the item is only put into the reader's own library.
  group: GroupName | null | undefined;
  error: unknown;
  retry: () => Promise<unknown>;
  ownOnly: () => void;
}

// useGroup reads a group once: a choice that is shown does not change with its name, or with the reader's role in it.
function useGroup(id: string | null): Home {
  const [asked, ask] = useState(id);
  const { data, error, refetch } = useQuery(GroupNameDocument, { variables: { id: asked ?? '' }, skip: asked === null });
  const first = useRef<GroupName | null>(undefined);
  if (first.current === undefined) first.current = data?.group;
  return { group: asked === null ? null : first.current, error, retry: () => refetch(), ownOnly: () => ask(null) };
}

interface WhereProps extends Home {
  shared: boolean;
  onChange: (shared: boolean) => void;
  faults: string[] | undefined;
}

// Where shows in which libraries the item will be.
function Where({ group, error, retry, ownOnly, shared, onChange, faults }: WhereProps) {
  if (group === undefined && error) {
    return (
      <Failed error={error} onRetry={retry} heading="Could not load the group">
        <button type="button" className="button" onClick={ownOnly}>
          Only my library
        </button>
      </Failed>
    );
  }
  if (group === undefined) return <p role="status">Loading...</p>;
  if (!group) return <p className="hint">The item will be in your own library.</p>;
  return (
    <Choice
      label="Where"
      name="where"
      value={shared ? 'group' : 'own'}
      onChange={(value) => onChange(value === 'group')}
      options={[
        { value: 'own', label: 'Only my library' },
        { value: 'group', label: `My library and ${group.displayName}`, meaning: 'Shared with the group: its members can read it.' },
      ]}
      faults={faults}
    />
  );
}
