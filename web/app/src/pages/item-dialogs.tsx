// The actions on an item other than editing its texts, each in a dialog of its own.
import { useState, type MouseEvent } from 'react';
import { useApolloClient } from '@apollo/client/react';
import {
  DeleteContentDocument,
  ItemDocument,
  RemoveFromLibraryDocument,
  ShareContentDocument,
  UpdateContentDocument,
  type ContentRole,
  type FaultsFragment,
  type ItemFragment,
  type LibraryVisibility,
} from '../generated/operations.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Actions, Choice, Form, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { PeoplePicker, usePeople, type Person } from '../ui/people-picker.tsx';
import { roleMeaning, roleName, visibilityName } from '../ui/words.ts';
import { FieldConflict, useMergedForm, type SavedItem } from './edit-item.tsx';

interface ItemDialogProps {
  item: ItemFragment;
  onClose: () => void;
}

export function ChangeVisibility({ item, onClose, onDone }: ItemDialogProps & { onDone: (saved: SavedItem) => void }) {
  const submission = useSubmit(UpdateContentDocument, ['visibility']);
  const { form, save } = useMergedForm<{ visibility: LibraryVisibility }>(item, submission, ({ visibility }) => ({ visibility }));
  const { shown, conflicts, edit, keep, take } = form;
  const change = async () => {
    const payload = await save();
    if (payload && !payload.conflicts) onDone(payload);
  };
  return (
    <Dialog title="Visibility" onClose={onClose}>
      <Form onSubmit={change} submission={submission} actions={<Actions submission={submission} verb="Change" />}>
        <p className="about">{item.title}</p>
        <VisibilityChoice value={shown.visibility} onChange={(value) => edit('visibility', value)} tenant={item.tenant} what="item" faults={submission.faults.visibility} autoFocus />
        {conflicts.length > 0 && (
          <FieldConflict label="Visibility" theirs={visibilityName(item.visibility, item.tenant)} onKeep={() => keep('visibility')} onTake={() => take('visibility')} />
        )}
      </Form>
    </Dialog>
  );
}

const roles: ContentRole[] = ['VIEWER', 'EDITOR', 'MANAGER'];

export function ShareItem({ item, tenant, onClose, onDone }: ItemDialogProps & { tenant: string; onDone: (people: Person[]) => void }) {
  const submission = useSubmit(ShareContentDocument, ['principalIds', 'role']);
  const { people, someone, picker } = usePeople(submission, 'principalIds');
  const [role, setRole] = useState<ContentRole>('VIEWER');

  const share = async () => {
    if (!someone()) return;
    if (await submission.send({ contentId: item.id, principalIds: people.map(({ id }) => id), role })) onDone(people);
  };

  return (
    <Dialog title="Share" onClose={onClose} unsaved={people.length > 0}>
      <Form onSubmit={share} submission={submission} actions={<Actions submission={submission} verb="Share" />}>
        <p className="about">{item.title}</p>
        <PeoplePicker tenant={tenant} autoFocus {...picker} />
        {item.viewerCanManage ? (
          <Choice
            label="Role"
            name="role"
            value={role}
            onChange={setRole}
            options={roles.map((value) => ({ value, label: roleName[value], meaning: roleMeaning[value] }))}
            faults={submission.faults.role}
          />
        ) : (
          <p className="hint">They are added as viewers. Only managers can give other roles.</p>
        )}
      </Form>
    </Dialog>
  );
}

interface DeletionOutcome {
  conflict: boolean;
  userErrors: readonly FaultsFragment[];
}

// DeleteItem deletes the version that the reader has seen: if somebody has changed the item
// since, it shows the changes, and asks once more.
export function DeleteItem({ item, onClose, onDone }: ItemDialogProps & { onDone: () => void }) {
  const client = useApolloClient();
  const submission = useSubmit(DeleteContentDocument);
  const [seen, setSeen] = useState(item);
  const [refused, setRefused] = useState(false);
  // Until the answer arrives, the item may be deleted already.
  const changed = !submission.busy && item.version > seen.version ? changesOf(seen, item) : null;

  const remove = async () => {
    const payload = await submission.run<DeletionOutcome>(async (post) => {
      const { userErrors } = await post({ id: item.id, expectedVersion: seen.version });
      if (!userErrors.some(({ code }) => code === 'CONFLICT')) return { conflict: false, userErrors };
      await client.query({ query: ItemDocument, variables: { id: item.id }, fetchPolicy: 'network-only' });
      return { conflict: true, userErrors: [] };
    });
    setRefused(payload?.conflict ?? false);
    if (payload && !payload.conflict) onDone();
  };
  const acknowledge = (event: MouseEvent) => {
    event.currentTarget.closest('form')?.querySelector<HTMLElement>('[type="submit"]')?.focus();
    setSeen(item);
    setRefused(false);
  };
  return (
    <Confirm title="Delete for everyone?" verb="Delete" submission={submission} onConfirm={remove} onClose={onClose}>
      <p className="about">{item.title}</p>
      <Overtaken changed={changed} refused={refused} onSeen={acknowledge} />
      <p>It is removed from every library. This cannot be undone.</p>
    </Confirm>
  );
}

type NewValue = [name: string, value: string | null];

// changesOf returns the values of an item that differ from an earlier version, with their names.
function changesOf(before: ItemFragment, now: ItemFragment): NewValue[] {
  const of = ({ title, link, description, visibility, tenant }: ItemFragment): Record<string, string | null> => ({ title, link, description, visibility: visibilityName(visibility, tenant) });
  const [old, values] = [of(before), of(now)];
  return Object.entries(values).filter(([name, value]) => value !== old[name]);
}

// Overtaken shows what somebody else has changed meanwhile.
function Overtaken({ changed, refused, onSeen }: { changed: NewValue[] | null; refused: boolean; onSeen: (event: MouseEvent) => void }) {
  if (!changed) return null;
  return (
    <div className="overtaken" role="alert">
      <p>
        <b>{refused ? 'Not deleted: somebody else has changed this item.' : 'Somebody else has just changed this item.'}</b>
      </p>
      {changed.length > 0 && (
        <dl>
          {changed.map(([name, value]) => (
            <div key={name}>
              <dt>Their {name}</dt>
              <dd>{value || '(empty)'}</dd>
            </div>
          ))}
        </dl>
      )}
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={onSeen}>
          I have seen the changes
        </button>
      </div>
    </div>
  );
}

// ItemLibrary is the library in which an item is shown.
export interface ItemLibrary {
  id: string;
  displayName: string;
  mine: boolean;
}

// RemoveItem removes an item from a library, the reader's own or one that the reader manages,
// and says beforehand who loses access.
export function RemoveItem({ item, library, onClose, onDone }: ItemDialogProps & { library: ItemLibrary; onDone: () => void }) {
  const submission = useSubmit(RemoveFromLibraryDocument);
  const remove = async () => {
    if (await submission.send({ principalId: library.id, contentId: item.id })) onDone();
  };
  return (
    <Confirm title={library.mine ? 'Remove from your library?' : `Remove from ${library.displayName}?`} verb="Remove" submission={submission} onConfirm={remove} onClose={onClose}>
      <p className="about">{item.title}</p>
      <p>{removalMeaning(item, library)}</p>
    </Confirm>
  );
}

function removalMeaning({ visibility }: ItemFragment, { id, mine, displayName }: ItemLibrary): string {
  const open = visibility === 'PUBLIC';
  if (mine && open) return 'You lose your role on it. It is public, so you can still read it and add it again.';
  if (mine) return 'You lose your role on it. Unless you have access in another way, you can no longer open it, and only its managers can share it with you again.';
  const who = id.startsWith('g:') ? `The members of ${displayName}` : displayName;
  return open ? `${who} can still read it, because it is public.` : `${who} can no longer open it, unless they have access in another way.`;
}
