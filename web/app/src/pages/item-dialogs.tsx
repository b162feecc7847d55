// The actions on an item other than editing its texts, each in a dialog of its own.
import { useState, type MouseEvent } from 'react';
import { useApolloClient } from '@apollo/client/react';
import {
  DeleteContentDocument,
  ItemDocument,
  RemoveFromLibraryDocument,
  type ContentRole,
  type FaultsFragment,
  type ItemFragment,
} from '../generated/operations.ts';
import { isOnlyManager, onlyManager, removalWill } from '../data/access.ts';
import { Confirm } from '../ui/confirm.tsx';
import { useSubmit } from '../ui/forms.tsx';
import { elsewhere } from '../ui/members.tsx';
import { useSay } from '../ui/notices.tsx';
import { useMe } from '../ui/session.tsx';
import { Title } from '../ui/title.tsx';
import { visibilityName } from '../ui/words.ts';
import { useRoleNow } from './share.tsx';

interface ItemDialogProps {
  item: ItemFragment;
  onClose: () => void;
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
      <p className="about">
        <Title of={item.title} />
      </p>
      <Overtaken changed={changed} refused={refused} onSeen={acknowledge} />
      <p>It is removed from every library. This cannot be undone.</p>
    </Confirm>
  );
}

type NewValue = [name: string, value: string | null];

// changesOf returns the values of an item that differ from an earlier version, with their names.
function changesOf(before: ItemFragment, now: ItemFragment): NewValue[] {
  const of = ({ title, link, description, visibility, tenant }: ItemFragment): Record<string, string | null> =>
    ({ title, link, description, visibility: visibilityName(visibility, tenant) });
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
// and says beforehand who loses access. onDone(role) gets the role that was removed, null for none, and undefined if the reader may
// not know. If it is not the role of when the question was asked, nothing is removed.
export function RemoveItem({ item, library, onClose, onDone }: ItemDialogProps & { library: ItemLibrary;
  onDone: (role: ContentRole | null | undefined) => void }) {
  const me = useMe();
  const say = useSay();
  const roleNow = useRoleNow(item.id);
  const [shown] = useState(() => item.members.edges.find(({ node }) => node.id === library.id)?.role);
  const submission = useSubmit(RemoveFromLibraryDocument);
  // Managers see all members.
  const obstacle = item.viewerCanManage && isOnlyManager(item.members, library.id)
    ? onlyManager(library, me?.id, 'first, in Share') : undefined;
  const remove = async () => {
    const payload = await submission.run(async (post) => {
      const role = await roleNow(library.id);
      if (role && shown && role !== shown) return { role, other: true, userErrors: [] };
      return { role, other: false, userErrors: (await post({ principalId: library.id, contentId: item.id })).userErrors };
    });
    if (!payload) return;
    if (!payload.role || !payload.other) return onDone(payload.role);
    onClose();
    say(elsewhere({ displayName: library.mine ? 'you' : library.displayName }, payload.role));
  };
  return (
    <Confirm title={library.mine ? 'Remove from your library?' : `Remove from ${library.displayName}?`} verb="Remove"
      submission={submission} onConfirm={remove} onClose={onClose} obstacle={obstacle}>
      <p className="about">
        <Title of={item.title} />
      </p>
      <p>{removalWill({ ...item, viewerId: me?.id ?? null }, library)}</p>
    </Confirm>
  );
}
