// A whole item: in a library, or by itself.
import { useCallback, useEffect, useRef, useState, type RefObject } from 'react';
import type { DeepPartial } from '@apollo/client/utilities';
import { useApolloClient, useQuery } from '@apollo/client/react';
import {
  ItemDocument,
  SetContentMembersDocument,
  ShareContentDocument,
  UpdateContentDocument,
  type ContentRole,
  type EntryFragment,
  type ItemFragment,
  type ItemQuery,
  type LibraryVisibility,
} from '../generated/operations.ts';
import { seesAnyway } from '../data/access.ts';
import { shownAddress } from '../data/hosts.ts';
import { addressOf } from '../data/routes.ts';
import { forgetItem } from '../data/cache.ts';
import { administers } from '../data/tokens.ts';
import { useCopyLink } from '../ui/copy-link.tsx';
import { useOpening, type Opening } from '../ui/dialog.tsx';
import { ActionFaults, OnLost, useSubmit } from '../ui/forms.tsx';
import { Outward, VisibilityIcon } from '../ui/icons.tsx';
import { ExternalLink, Markdown } from '../ui/markdown.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useSay, type Undo } from '../ui/notices.tsx';
import { Panel } from '../ui/panel.tsx';
import { useReadAgain } from '../ui/read-again.ts';
import { useMe, useSession } from '../ui/session.tsx';
import { Empty, Failed, LeadOn, Loading, Outdated } from '../ui/states.tsx';
import { Title } from '../ui/title.tsx';
import { dateOf, kindName, named, roleName, visibilityName } from '../ui/words.ts';
import { EditItem } from './edit-item.tsx';
import { ChangeExpiry } from './expiry.tsx';
import { Note } from './note.tsx';
import type { SavedItem } from './edit-item.tsx';
import { DeleteItem, RemoveItem, type ItemLibrary } from './item-dialogs.tsx';
import { ShareItem, useRoleNow, WhoSees } from './share.tsx';

type DialogName = 'edit' | 'expiry' | 'share' | 'remove' | 'delete';

// ShownIn is the library in which an item is shown.
interface ShownIn {
  id: string;
  displayName: string;
  mayRemove: boolean;
}

interface ItemProps {
  id: string;
  heading: Heading;
  library?: ShownIn | null;
  onChanged: (gone?: string) => void;
  onGone: () => void;
  focusTitle?: boolean;
}

type Heading = 'h1' | 'h2';
type PartialItem = DeepPartial<ItemQuery>['content'];

// isEntry reports whether the part of an item that a list shows has been read, isWhole whether
// all of it has. Its members are read last.
function isEntry(item: PartialItem): item is EntryFragment {
  return item?.title !== undefined;
}

function isWhole(item: PartialItem): item is ItemFragment {
  return Boolean(item?.members);
}

// ItemPage is an item at an address of its own.
export function ItemPage({ id }: { id: string }) {
  const { go } = useNavigation();
  return (
    <article className="page page-item">
      <Item id={id} heading="h1" onGone={() => go({ name: 'home' })} onChanged={() => {}} />
    </article>
  );
}

// Item shows an item and its actions. library is the library in which it is shown, if any, with
// mayRemove; onChanged is called for changes that move entries, onGone when there is nothing
// to show any more.
export function Item({ id, heading, library = null, onChanged, onGone, focusTitle = false }: ItemProps) {
  const { data, previousData, error, refetch } = useQuery(ItemDocument, {
    variables: { id },
    fetchPolicy: 'cache-and-network',
    nextFetchPolicy: 'cache-first',
    returnPartialData: true,
  });
  // What was read before is still shown if it cannot be read again.
  const item = (data ?? previousData)?.content;
  const gone = item === null;
  const title = useRef<HTMLHeadingElement>(null);
  const shownTitle = item?.title;
  const lost = shownTitle === undefined && error && 'Could not load the item';
  useTitle(gone ? 'Not found' : lost || shownTitle);

  useEffect(() => {
    if (focusTitle && shownTitle !== undefined) title.current?.focus({ preventScroll: true });
    // Once for each item: a change of its title must not interrupt typing.
  }, [id, focusTitle, shownTitle === undefined]);

  // A dialog stays open when its item is gone, so that typed text is not lost.
  const opening = useOpening<DialogName>();
  const whole = useRef<ItemFragment>(null);
  if (isWhole(item)) whole.current = item;
  const held = isEntry(item) ? whole.current : null;
  // After a lost answer, the page says who sees the item once that was read.
  const [unsure, setUnsure] = useState(false);
  const retry = useCallback(() => refetch().then(() => setUnsure(false)), [refetch]);
  const doubt = useCallback(() => {
    setUnsure(true);
    retry().catch(() => {});
  }, [retry]);
  useReadAgain(retry);
  // Nobody decides about access by a list that is out of date.
  const sharing = opening.open === 'share';
  useEffect(() => {
    if (sharing) refetch().catch(() => {});
  }, [sharing, refetch]);
  return (
    <OnLost value={doubt}>
      {gone ? (
        <Empty heading="Not found" level={heading}>
          <p>There is no such item, or you have no access to it. The person who gave you the link can share it with you.</p>
          <LeadOn />
        </Empty>
      ) : lost ? (
        <Failed error={error} onRetry={retry} heading={lost} />
      ) : !isEntry(item) ? (
        <Loading what="Loading..." />
      ) : (
        <>
          <Texts item={item} heading={heading} title={title} unsure={unsure} />
          {isWhole(item) && !unsure ? (
            <>
              {error && <Outdated error={error} onRetry={retry} />}
              <section aria-label="Who sees this">
                <WhoSees item={item} />
              </section>
            </>
          ) : error ? (
            <Outdated error={error} onRetry={retry} />
          ) : (
            <Loading what="Loading..." lines={held ? 1 : 3} />
          )}
          {held && <ItemActions item={held} library={library} show={opening.show} onChanged={onChanged} />}
        </>
      )}
      {whole.current?.kind === 'NOTE' && (
        <Panel what="the text">
          <Note item={whole.current} gone={gone} shown={held !== null} />
        </Panel>
      )}
      {held && <Facts item={held} />}
      {whole.current && <ItemDialogs item={whole.current} gone={gone} unsure={unsure} library={library} opening={opening}
        onChanged={onChanged} onGone={onGone} />}
    </OnLost>
  );
}

interface TextsProps {
  item: EntryFragment;
  heading: Heading;
  title: RefObject<HTMLHeadingElement | null>;
  unsure: boolean;
}

function Texts({ item, heading: Heading, title, unsure }: TextsProps) {
  return (
    <>
      <p className="eyebrow">
        {kindName[item.kind]}
        {!unsure && (
          <span className="badge">
            <VisibilityIcon of={item.visibility} /> {visibilityName(item.visibility, item.tenant)}
          </span>
        )}
      </p>
      <Heading className="item-title" ref={title} tabIndex={-1}>
        <Title of={item.title} />
      </Heading>
      {item.description && <Markdown text={item.description} />}
      <ItemLink link={item.link} />
    </>
  );
}

// ItemLink links to the target of an item, if it is an http or https URL.
function ItemLink({ link }: { link: string | null }) {
  if (!link || !/^https?:\/\//i.test(link)) return null;
  return (
    <p className="item-link">
      <ExternalLink href={link}>
        {shownAddress(link)}
        <Outward />
      </ExternalLink>
    </p>
  );
}

function Facts({ item }: { item: ItemFragment }) {
  return (
    <dl className="facts">
      {item.viewerRole && (
        <div>
          <dt>Your role</dt>
          <dd>{roleName[item.viewerRole]}</dd>
        </div>
      )}
      {item.createdBy && (
        <div>
          <dt>Created by</dt>
          <dd>
            <To place={{ name: 'library', id: item.createdBy.id }}>
              <bdi>{item.createdBy.displayName}</bdi>
            </To>
          </dd>
        </div>
      )}
      <div>
        <dt>Created</dt>
        <dd>
          <time dateTime={item.createdAt}>{dateOf(item.createdAt)}</time>
        </dd>
      </div>
      <div>
        <dt>Last changed</dt>
        <dd>
          <time dateTime={item.lastModified}>{dateOf(item.lastModified)}</time>
        </dd>
      </div>
      {item.expiresAt && (
        <div>
          <dt>Expires</dt>
          <dd>
            <time dateTime={item.expiresAt}>{dateOf(item.expiresAt)}</time>
          </dd>
        </div>
      )}
    </dl>
  );
}

interface ItemActionsProps {
  item: ItemFragment;
  library: ShownIn | null;
  show: (name: DialogName) => void;
  onChanged: () => void;
}

function ItemActions({ item, library, show, onChanged }: ItemActionsProps) {
  const me = useMe();
  const say = useSay();
  const take = useSubmit(ShareContentDocument);
  // If there are many members, not all are read. Then the action may be offered to a user who has
  // the item already; it changes nothing, because sharing never demotes.
  const mine = me && item.members.edges.some(({ node }) => node.id === me.id);
  const takeForMe = async () => {
    if (me && (await take.send({ contentId: item.id, principalIds: [me.id], role: 'VIEWER' }))) {
      say('Added to your library.');
      onChanged();
    }
  };
  const { copy, byHand } = useCopyLink();
  const copyLink = () => copy('Link', location.origin + addressOf({ name: 'item', id: item.id }));
  const { url } = item;
  return (
    <>
      <div className="actions">
        <Action onClick={() => show('share')} name="Share…" look={item.viewerCanShare ? 'button-main' : ''} />
        {item.viewerCanEdit && <Action onClick={() => show('edit')} name="Edit…" />}
        {item.viewerCanManage && <Action onClick={() => show('expiry')} name="Expiry…" />}
        {me && item.viewerCanShare && !mine && <Action onClick={takeForMe} name="Add to my library" />}
      </div>
      <div className="actions actions-quiet">
        {library?.mayRemove && <Action onClick={() => show('remove')} name={library.id === me?.id ? 'Remove from my library…'
          : 'Remove from this library…'} look="button-quiet" />}
        <Action onClick={copyLink} name="Copy link" look="button-quiet" />
        {url && <Action onClick={() => copy('Canonical link', url)} name="Copy canonical link" look="button-quiet" />}
        {item.viewerCanManage && <Action onClick={() => show('delete')} name="Delete…" look="button-quiet button-danger" />}
      </div>
      {byHand}
      <ActionFaults submission={take} />
    </>
  );
}

interface ItemDialogsProps {
  item: ItemFragment;
  gone: boolean;
  unsure: boolean;
  library: ShownIn | null;
  opening: Opening<DialogName>;
  onChanged: (gone?: string) => void;
  onGone: () => void;
}

// ItemDialogs shows the open dialog, if any, and handles its outcome.
function ItemDialogs({ item, gone, unsure, library, opening, onChanged, onGone }: ItemDialogsProps) {
  const me = useMe();
  const { claims } = useSession();
  const client = useApolloClient();
  const say = useSay();
  const { go } = useNavigation();
  const { open, close } = opening;
  const from = library && { ...library, mine: library.id === me?.id };
  // If the reader has opened another item before the answer arrives, that one stays open.
  const leave = useWhileShown(onGone);
  const changed = (text: string, undo?: Undo) => {
    say(text, undo);
    onChanged();
  };
  const saved = (text: string) => ({ unchanged }: { unchanged?: boolean | undefined }) => {
    close();
    if (!unchanged) changed(text);
  };
  // The dialog is removed together with the item, so that focus does not return to its button.
  const removed = ({ id, mine, displayName }: ItemLibrary, held: ContentRole | null | undefined) => {
    const from = mine ? 'your library' : `the library of ${displayName}`;
    say(`${named(item.title)} was removed from ${from}.`, undoRemoval(id, mine, held));
    onChanged(item.id);
    leave();
  };
  // undoRemoval returns a function that shares the item again, if the viewer may do that then. held is the role that was removed;
  // who may not know it shares only as a viewer.
  const roleNow = useRoleNow(item.id);
  const again = useSubmit(SetContentMembersDocument);
  const shareAgain = useSubmit(ShareContentDocument);
  const undoRemoval = (principalId: string, mine: boolean, held: ContentRole | null | undefined): Undo | undefined => {
    const shown = item.members.edges.find(({ node }) => node.id === principalId)?.role;
    const role = held === undefined && shown === 'VIEWER' ? shown : held;
    const manages = item.viewerCanManage && (!mine || administers(claims, item.tenant));
    // Who is not a manager shares only with those who could see the item anyway.
    const shares = role === 'VIEWER' && item.viewerCanShare && seesAnyway(item, principalId);
    if (!role || !(manages || shares)) return undefined;
    return async () => {
      if (manages && (await roleNow(principalId))) return 'Somebody else has changed this meanwhile.';
      const done = manages ? await again.undo({ contentId: item.id, members: [{ principalId, role }] })
        : await shareAgain.undo({ contentId: item.id, principalIds: [principalId], role });
      if (done === true) onChanged();
      return done;
    };
  };
  const deleted = () => {
    say(`${named(item.title)} was deleted.`);
    leave();
    forgetItem(client.cache, item.id);
  };
  const created = (fresh: EntryFragment) => {
    if (close()) go({ name: 'item', id: fresh.id });
    say(`${named(fresh.title)} was created in your library.`);
  };
  const restore = useSubmit(UpdateContentDocument);
  const visible = (payload: SavedItem, before: LibraryVisibility) => {
    const version = 'content' in payload ? payload.content?.version : undefined;
    const undo: Undo = async () => {
      const done = await restore.undo({ id: item.id, visibility: before, ...(version && { expectedVersion: version }) });
      if (done === true) onChanged();
      return done;
    };
    if (!payload.unchanged) changed('Changed the visibility.', undo);
  };
  switch (open) {
    case 'edit':
      return <EditItem item={item} gone={gone} onClose={close} onDone={saved('Saved.')} onCreated={created} />;
    case 'expiry':
      return <ChangeExpiry item={item} onClose={close} onDone={saved('Changed the expiry.')} />;
    case 'share':
      return <ShareItem item={item} unsure={unsure} onClose={close} onShared={changed} onVisibility={visible} />;
    case 'remove':
      return from && <RemoveItem item={item} library={from} onClose={close} onDone={(role) =>
        removed(from, role)} />;
    case 'delete':
      return <DeleteItem item={item} onClose={close} onDone={deleted} />;
    default:
      return null;
  }
}

// useWhileShown returns a function that calls act, and does nothing once its component was
// removed.
function useWhileShown(act: () => void): () => void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
    return () => {
      latest.current = () => {};
    };
  }, [act]);
  return () => latest.current();
}

function Action({ name, onClick, look = '' }: { name: string; onClick: () => void; look?: string }) {
  return (
    <button type="button" className={`button ${look}`} onClick={onClick}>
      {name}
    </button>
  );
}
