// Who sees an item: its visibility, its members and its link, in one dialog. It says who can see the
// item now, and what a change will do before it is made.
import { useEffect, useRef, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { managingWill, onlyManager, removalWill, seesAnyway, sharingDid, sharingWill, visibilityWill, whoSees,
  type Access } from '../data/access.ts';
import { abortedBy } from '../data/connections.ts';
import type { Faults } from '../data/faults.ts';
import { addressOf } from '../data/routes.ts';
import {
  ItemDocument,
  MoreItemMembersDocument,
  SetContentMembersDocument,
  ShareContentDocument,
  UpdateContentDocument,
  type ContentRole,
  type ItemFragment,
  type ItemMembersFragment,
  type LibraryVisibility,
  type ShareContentInput,
  type ShareContentMutation,
} from '../generated/operations.ts';
import { useCopyLink } from '../ui/copy-link.tsx';
import { Dialog, useLeave } from '../ui/dialog.tsx';
import { Choice, Form, Submit, useSubmit, VisibilityChoice, type FormState, type Submission } from '../ui/forms.tsx';
import { VisibilityIcon } from '../ui/icons.tsx';
import { Members } from '../ui/members.tsx';
import { Panel } from '../ui/panel.tsx';
import { PeoplePicker, usePeople, type Person } from '../ui/people-picker.tsx';
import { useMe, useSession } from '../ui/session.tsx';
import { Title } from '../ui/title.tsx';
import { roleMeaning, roleName, visibilityName } from '../ui/words.ts';
import { FieldConflict, useMergedForm, type SavedItem } from './edit-item.tsx';

const roles: ContentRole[] = ['VIEWER', 'EDITOR', 'MANAGER'];

// useAccess returns who can see an item, as far as the viewer knows.
export function useAccess(item: ItemFragment): Access {
  const me = useMe();
  const { visibility, tenant, members, viewerCanManage } = item;
  // Those who manage an item see all of its members, others perhaps not.
  const further = !viewerCanManage ? 'maybe' : members.pageInfo.hasNextPage ? 'some' : 'none';
  return { visibility, tenant, members: members.edges.map(({ node, role }) => ({ ...node, role })), further, viewerId: me?.id ?? null };
}

// WhoSees says in one sentence who can see an item.
export function WhoSees({ item }: { item: ItemFragment }) {
  const access = useAccess(item);
  return (
    <p className="who-sees">
      <VisibilityIcon of={item.visibility} /> <span>{whoSees(access)}</span>
    </p>
  );
}

interface ShareItemProps {
  item: ItemFragment;
  // After a lost answer, nobody knows who sees the item until it was read.
  unsure: boolean;
  onClose: () => void;
  onShared: (text: string) => void;
  onVisibility: (saved: SavedItem, before: LibraryVisibility) => void;
}

// ShareItem is the dialog. A viewer who may not share or manage the item only reads it.
export function ShareItem({ item, unsure, onClose, onShared, onVisibility }: ShareItemProps) {
  const { claims } = useSession();
  const share = useSubmit(ShareContentDocument, ['principalIds', 'role']);
  const people = usePeople(share, 'principalIds');
  const update = useSubmit(UpdateContentDocument, ['visibility']);
  const merged = useMergedForm<{ visibility: LibraryVisibility }>(item, update, ({ visibility }) => ({ visibility }));
  const { changes, conflicts } = merged.form;
  const unsaved = people.people.length > 0 || changes.visibility !== undefined || conflicts.length > 0;
  // Saving one half closes the dialog, unless the other half has something that is not saved. Then focus moves to first, a
  // field of the half that was saved, because the button that was pressed is gone.
  const [saved, setSaved] = useState<{ first: string } | null>(null);
  useEffect(() => {
    if (saved && !unsaved) onClose();
    else if (saved && document.activeElement === document.body) document.querySelector<HTMLElement>(`.share ${saved.first}`)?.focus();
  }, [saved]);
  const shared = (added: Person[], text: string) => {
    onShared(text);
    people.drop(added);
    setSaved({ first: '[role="combobox"]' });
  };
  const visible = (payload: SavedItem, before: LibraryVisibility) => {
    onVisibility(payload, before);
    merged.form.take('visibility');
    setSaved({ first: '[name^="visibility"]:checked' });
  };
  return (
    <Dialog title="Share" onClose={onClose} unsaved={unsaved}>
      <div className="dialog-text share">
        <p className="about">
          <Title of={item.title} />
        </p>
        {!unsure && <WhoSees item={item} />}
        {item.viewerCanShare && <AddPeople item={item} tenant={claims?.tenant ?? ''} share={share} people={people} onShared={shared} />}
        <Panel what="the members" of={item.members}>
          <ItemMembers item={item} />
        </Panel>
        {item.viewerCanManage && <Visibility item={item} merged={merged} submission={update} onDone={visible} />}
        <End item={item} />
      </div>
    </Dialog>
  );
}

interface AddPeopleProps {
  item: ItemFragment;
  tenant: string;
  share: Submission<ShareContentInput, NonNullable<ShareContentMutation['shareContent']>, 'principalIds' | 'role'>;
  people: ReturnType<typeof usePeople>;
  onShared: (people: Person[], text: string) => void;
}

// AddPeople shares the item with the people that are chosen. Once there are some, it asks for their
// role.
function AddPeople({ item, tenant, share, people: { people, someone, picker }, onShared }: AddPeopleProps) {
  const [role, setRole] = useState<ContentRole>('VIEWER');
  const access = useAccess(item);
  const refused = !item.viewerCanManage && people.some(({ id }) => !seesAnyway(access, id));
  const will = refused ? 'Only managers of this item can share it with people of other organisations.' : sharingWill(access, people, role);
  const send = async () => {
    if (!someone()) return;
    const done = await share.send({ contentId: item.id, principalIds: people.map(({ id }) => id), role });
    // access is that of before, which tells who is new.
    if (done) onShared(people, sharingDid(access, people, role));
  };
  return (
    <Form onSubmit={send} submission={share} actions={people.length > 0 && <Submit busy={share.busy}>Share</Submit>}>
      <PeoplePicker tenant={tenant} autoFocus {...picker} />
      {people.length > 0 && item.viewerCanManage && (
        <Choice
          label="Role"
          name="role"
          value={role}
          onChange={setRole}
          options={roles.map((value) => ({ value, label: roleName[value], meaning: roleMeaning(value, item.kind) }))}
          faults={share.faults.role}
          compact
        />
      )}
      {people.length > 0 && !item.viewerCanManage && <p className="hint">Only managers can give other roles than Viewer.</p>}
      <Preview text={people.length > 0 ? will : ''} />
    </Form>
  );
}

// Preview says what a change will do. It brings itself and the button below it into view.
function Preview({ text }: { text: string }) {
  const shown = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (text) shown.current?.closest('form')?.querySelector('.form-end')?.scrollIntoView({ block: 'nearest' });
  }, [text]);
  return (
    <p className="preview-text" role="status" ref={shown}>
      {text}
    </p>
  );
}

// useRoleNow returns a function that reads the role that somebody has on an item, null for none. Those who do not manage the item
// may not see all members, and get undefined, as after an error.
export function useRoleNow(id: string) {
  const client = useApolloClient();
  const read = async (principalId: string) => {
    const { content } = (await client.query({ query: ItemDocument, variables: { id }, fetchPolicy: 'network-only' })).data ?? {};
    if (!content?.viewerCanManage) return undefined;
    const edgeIn = ({ edges }: ItemMembersFragment) => edges.find(({ node }) => node.id === principalId);
    let page: ItemMembersFragment | undefined = content.members;
    while (page && !edgeIn(page) && page.pageInfo.hasNextPage) {
      page = (await client.query({ query: MoreItemMembersDocument, variables: { id, after: page.pageInfo.endCursor },
        fetchPolicy: 'no-cache' })).data?.content?.members;
    }
    return page && (edgeIn(page)?.role ?? null);
  };
  return (principalId: string) => read(principalId).catch(() => undefined);
}

function ItemMembers({ item }: { item: ItemFragment }) {
  const client = useApolloClient();
  const me = useMe();
  const access = useAccess(item);
  const submission = useSubmit(SetContentMembersDocument);
  const change = (principalId: string, role: ContentRole | null) => ({ contentId: item.id, members: [{ principalId, role }] });
  const roleNow = useRoleNow(item.id);
  const more = (signal?: AbortSignal) => client.query({ query: MoreItemMembersDocument,
    variables: { id: item.id, after: item.members.pageInfo.endCursor }, fetchPolicy: 'network-only', context: abortedBy(signal) });
  return (
    <Members
      heading="Shared with"
      none="No members that you can see."
      connection={item.members}
      roles={roles}
      editable={item.viewerCanManage}
      onSet={(id, role) => submission.send(change(id, role))}
      onUndo={(id, role) => submission.undo(change(id, role))}
      roleNow={roleNow}
      onMore={more}
      submission={submission}
      removal={(member) => removalWill(access, member)}
      promotion={(member) => managingWill([member], 'item')}
      {...(item.viewerCanManage && { obstacle: (node) => onlyManager(node, me?.id, 'first') })}
    />
  );
}

interface VisibilityProps {
  item: ItemFragment;
  merged: ReturnType<typeof useMergedForm<{ visibility: LibraryVisibility }>>;
  submission: FormState & { faults: Faults<'visibility'> };
  onDone: (saved: SavedItem, before: LibraryVisibility) => void;
}

// Visibility changes the visibility, after it has said what that does.
function Visibility({ item, merged: { form, save }, submission, onDone }: VisibilityProps) {
  const { shown, changes, conflicts, edit, keep, take } = form;
  const access = useAccess(item);
  const change = async () => {
    const before = item.visibility;
    const payload = await save();
    if (payload && !payload.conflicts) onDone(payload, before);
  };
  const changed = changes.visibility !== undefined || conflicts.length > 0;
  return (
    <Form onSubmit={change} submission={submission} actions={changed && <Submit busy={submission.busy}>Change</Submit>}>
      <VisibilityChoice value={shown.visibility} onChange={(value) => !submission.busy && edit('visibility', value)}
        tenant={item.tenant} what="item" faults={submission.faults.visibility} />
      <Preview text={changes.visibility === undefined ? '' : visibilityWill(access, changes.visibility)} />
      {conflicts.length > 0 && <FieldConflict label="Visibility" theirs={visibilityName(item.visibility, item.tenant)} onKeep={() =>
        keep('visibility')} onTake={() => take('visibility')} />}
    </Form>
  );
}

// End has the link of the item, and closes the dialog.
function End({ item }: { item: ItemFragment }) {
  const leave = useLeave();
  const { copy, byHand } = useCopyLink();
  return (
    <div className="share-end">
      {byHand}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={() => copy('Link', location.origin + addressOf({ name: 'item', id: item.id }))}>
          Copy link
        </button>
        <button type="button" className="button" onClick={leave}>
          Done
        </button>
      </div>
    </div>
  );
}
