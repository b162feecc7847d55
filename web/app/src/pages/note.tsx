// The text of a note, in the preferred language of the viewer or in the one that
// was chosen.
import { useEffect, useId, useRef, useState } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { MyDraftsDocument, NoteTextDocument, type DraftHeadFragment, type ItemFragment, type NoteTextQuery,
  type RevisionTextFragment } from '../generated/operations.ts';
import { isText, localesOf, namingText, type NamedText } from '../data/naming.ts';
import { Markdown } from '../ui/markdown.tsx';
import { To } from '../ui/navigation.tsx';
import { useOpening, type FocusTarget } from '../ui/dialog.tsx';
import { useSay } from '../ui/notices.tsx';
import { useMe } from '../ui/session.tsx';
import { Failed, Loading, Outdated } from '../ui/states.tsx';
import { Title } from '../ui/title.tsx';
import { dateOf, languageName, noText, versionOf } from '../ui/words.ts';
import { AddLanguage } from './add-language.tsx';
import { Branches } from './branches.tsx';
import { EditNote } from './edit-note.tsx';
import { NoteHistory } from './note-history.tsx';
import { Suggest } from './suggest.tsx';
import { Suggestions } from './suggestions.tsx';
import type { TextId } from './use-draft.ts';

type NoteContent = NonNullable<NoteTextQuery['content']>;

type DialogName = 'edit' | 'history' | 'suggest' | 'suggestions' | 'branches' | 'language';

// Shown is the text to show: its branch, null for the current one, and its locale,
// undefined if none was chosen.
interface Shown {
  branch: number | null;
  locale: string | null | undefined;
}

const byDefault: Shown = { branch: null, locale: undefined };

// Note is the section of an item that shows its text. If the item is gone, or cannot be shown, only an open dialog stays, which
// may contain typed text.
export function Note({ item, gone, shown }: { item: ItemFragment; gone: boolean; shown: boolean }) {
  const [choice, choose] = useState(byDefault);
  // A reader who may no longer edit the item sees the current branch again.
  const chosen = choice.branch === null || item.viewerCanEdit ? choice : byDefault;
  const { content, error, reread } = useNoteText(item, chosen);
  const naming = namingText(content?.branch && hiddenBranch(content) === null ? { branch: content.branch.number,
    locales: localesOf(content) } : null);
  const heading = useId();
  const head = useRef<HTMLHeadingElement>(null);
  const { open, show, close } = useOpening<DialogName>();
  // A dialog is about the text that was shown when it was opened.
  const [opened, setOpened] = useState<Opened | null>(null);
  const revision = content?.revision ?? null;
  const start = (name: DialogName) => {
    if (!content) return;
    const locale = chosen.locale === undefined ? (revision?.locale ?? null) : chosen.locale;
    setOpened({ textId: { contentId: item.id, branch: content.branch?.number ?? 1, locale }, locales: localesOf(content) });
    show(name);
  };
  const write = (textId: TextId) => {
    setOpened({ textId, locales: [] });
    show('edit');
  };
  return (
    <>
      {shown && (
        <section className="note" aria-labelledby={heading}>
          <header className="note-head">
            <h2 id={heading} ref={head} tabIndex={-1}>Text</h2>
            {content && <LanguageSwitch content={content} chosen={chosen.locale} onChoose={(locale) => choose({ ...chosen, locale })} />}
          </header>
          {error !== undefined && content && <Outdated error={error} onRetry={reread} />}
          {error !== undefined && !content && <Failed error={error} onRetry={reread} heading="Could not load the text" />}
          {error === undefined && !content && <Loading what="Loading the text..." />}
          {content && <BranchBar content={content} onShow={(branch) => choose({ ...byDefault, branch })} />}
          {content && (revision ? <Text revision={revision} itemTitle={item.title} namesItem={isText(naming, revision)} />
            : <p className="note-empty">{noText(chosen.locale, hiddenBranch(content), localesOf(content).length > 0)}</p>)}
          {content && <Drafts id={item.id} shown={{ branch: content.branch?.number ?? 1, locale: chosen.locale === undefined
            ? (revision?.locale ?? null) : chosen.locale }} dialog={open} onWrite={write} returnTo={head} />}
          {content && <NoteActions item={item} content={content} onOpen={start} />}
        </section>
      )}
      {opened && <NoteDialog item={item} gone={gone} opened={opened} current={content?.current?.number} read={content?.branch?.number}
        naming={naming} branched={(content?.branches.nodes.length ?? 0) > 1} open={open} close={close} reread={reread}
        onChoose={choose} onWrite={write} />}
    </>
  );
}

interface NoteActionsProps {
  item: ItemFragment;
  content: NoteContent;
  onOpen: (name: DialogName) => void;
}

function NoteActions({ item, content, onOpen }: NoteActionsProps) {
  const me = useMe();
  const mayEdit = item.viewerCanEdit;
  return (
    <div className="actions">
      {me && mayEdit && <Action name={content.revision ? 'Edit text…' : 'Write text…'} onClick={() => onOpen('edit')} />}
      {me && mayEdit && <Action name="Add a language…" onClick={() => onOpen('language')} />}
      {mayEdit && <Action name="History…" onClick={() => onOpen('history')} />}
      {me && mayEdit && <Action name="Branches…" onClick={() => onOpen('branches')} />}
      {me && !mayEdit && <Action name="Suggest a change…" onClick={() => onOpen('suggest')} />}
      {me && <Action name={`Suggestions${openOf(content)}…`} onClick={() => onOpen('suggestions')} />}
    </div>
  );
}

interface DraftsProps {
  id: string;
  shown: Pick<TextId, 'branch' | 'locale'>;
  // The name of the open dialog: after it is closed, the drafts are read again.
  dialog: string;
  onWrite: (textId: TextId) => void;
  // What gets focus when the button that had it disappears with its draft.
  returnTo: FocusTarget;
}

// Drafts says which unpublished drafts the viewer has of a note, that of the shown text first.
function Drafts({ id, shown, dialog, onWrite, returnTo }: DraftsProps) {
  const { mine, readAgain } = useDraftsOf(id);
  const before = useRef(dialog);
  const closed = useRef(false);
  useEffect(() => {
    if (before.current === 'edit' && dialog !== 'edit') {
      closed.current = true;
      readAgain().catch(() => {});
    }
    before.current = dialog;
  }, [dialog, readAgain]);
  useEffect(() => {
    if (closed.current && document.activeElement === document.body) returnTo.current?.focus({ preventScroll: true });
    closed.current = false;
  }, [mine, returnTo]);
  const isShown = ({ branch, locale }: TextOfDraft) => branch === shown.branch && locale === shown.locale;
  return (
    <>
      {[...mine].sort((a, b) => Number(isShown(b)) - Number(isShown(a))).map(({ key, branch, locale }) => (
        <p key={key} className="draft-bar">
          {isShown({ branch, locale }) ? 'You have a draft that is not published.'
            : `You have a draft that is not published: ${[locale !== null && languageName(locale), branch > 1 && `branch ${
              branch}`].filter(Boolean).join(', ') || 'all languages'}.`}
          <Action name="Continue the draft" onClick={() => onWrite({ contentId: id, branch, locale })} />
        </p>
      ))}
    </>
  );
}

// useDraftsOf returns the viewer's drafts of an item. They are among those of all items, which are read page by page.
function useDraftsOf(id: string) {
  const me = useMe();
  const client = useApolloClient();
  const { data, refetch } = useQuery(MyDraftsDocument, { variables: { after: null }, skip: !me, fetchPolicy: 'no-cache' });
  const [mine, setMine] = useState<readonly DraftHeadFragment[]>([]);
  // Counts the readings on request: the first page may be the same, and a later one not.
  const [readings, setReadings] = useState(0);
  useEffect(() => {
    let ended = false;
    const read = async () => {
      const all = [];
      for (let page = data?.viewer?.drafts; page; ) {
        all.push(...page.nodes);
        const { hasNextPage, endCursor } = page.pageInfo;
        page = hasNextPage && !ended ? (await client.query({ query: MyDraftsDocument, variables: { after: endCursor },
          fetchPolicy: 'no-cache' })).data?.viewer?.drafts : undefined;
      }
      if (!ended) setMine(all.filter(({ content }) => content.id === id));
    };
    read().catch(() => {});
    return () => {
      ended = true;
    };
  }, [client, data, id, readings]);
  return { mine, readAgain: async () => (await refetch(), setReadings((count) => count + 1)) };
}

type TextOfDraft = Pick<TextId, 'branch' | 'locale'>;

// Opened is the text for which a dialog was opened, and the locales of its branch.
interface Opened {
  textId: TextId;
  locales: (string | null)[];
}

interface NoteDialogProps {
  item: ItemFragment;
  gone: boolean;
  opened: Opened;
  // The branch that visitors see; undefined while that is not known.
  current: number | undefined;
  // The branch that the page shows.
  read: number | undefined;
  // Whether there is another branch.
  branched: boolean;
  // The text that gives the item its title, if that is known.
  naming: NamedText | null;
  open: DialogName | '';
  close: () => void;
  reread: () => Promise<{ data?: NoteTextQuery | undefined }>;
  onChoose: (shown: Shown) => void;
  onWrite: (textId: TextId) => void;
}

// NoteDialog shows the open dialog, if any, and handles its outcome.
function NoteDialog({ item, gone, opened: { textId, locales }, current, read, branched, naming, open, close, reread, onChoose,
  onWrite }: NoteDialogProps) {
  const me = useMe();
  const say = useSay();
  const hidden = current !== undefined && current !== textId.branch;
  const readHidden = async () => {
    const now = (await reread()).data?.content?.current?.number;
    return now === undefined ? hidden : now !== textId.branch;
  };
  const namesItem = isText(naming, textId);
  const changed = () => void reread().catch(() => {});
  const done = (text: string) => {
    close();
    say(text);
    changed();
  };
  switch (open) {
    case 'history':
      return <NoteHistory textId={textId} version={item.version} mayEdit={item.viewerCanEdit} onClose={close} onChanged={changed} />;
    case 'suggest':
      return <Suggest textId={textId} gone={gone} onClose={close} onSuggested={() => done('Suggestion sent.')} />;
    case 'suggestions':
      return <Suggestions contentId={item.id} itemTitle={item.title} naming={naming} mayEdit={item.viewerCanEdit} onClose={close}
        onChanged={changed} />;
    case 'branches': {
      const show = (branch: number | null) => (close(), onChoose({ ...byDefault, branch }));
      return <Branches contentId={item.id} version={item.version} shown={read ?? textId.branch} onClose={close} onShow={show}
        onChanged={changed} />;
    }
    case 'language': {
      const write = (locale: string) => (onChoose({ branch: hidden ? textId.branch : null, locale }), onWrite({ ...textId, locale }));
      return <AddLanguage contentId={item.id} branch={textId.branch} known={locales} onClose={close} onChosen={write} />;
    }
    case 'edit':
      return me && <EditNote item={item} gone={gone} textId={textId} userId={me.id} hidden={hidden} readHidden={readHidden}
        branched={branched} namesItem={namesItem} onClose={close}
        onPublished={() => done(hidden ? `Published in branch ${textId.branch}.` : 'Published.')}
        onDiscarded={() => done('Draft discarded.')} />;
    default:
      return null;
  }
}

// hiddenBranch returns the number of the branch that is shown, null if it is the one that
// visitors see.
function hiddenBranch({ branch, current }: NoteContent): number | null {
  return branch && branch.number !== current?.number ? branch.number : null;
}

// BranchBar shows editors which branch they see, if that is not what visitors see, and whether
// editors work on another branch.
function BranchBar({ content, onShow }: { content: NoteContent; onShow: (branch: number | null) => void }) {
  const { current, working } = content;
  const hidden = hiddenBranch(content);
  if (!current || !working || (hidden === null && working.number === current.number)) return null;
  return (
    <div className="branch-bar">
      <p>{hidden === null ? `Editors work on branch ${working.number}.`
        : `This is branch ${hidden}. Visitors see branch ${current.number}.`}</p>
      {hidden === null ? (
        <Action name={`Show branch ${working.number}`} onClick={() => onShow(working.number)} />
      ) : (
        <Action name={`Show branch ${current.number}`} onClick={() => onShow(null)} />
      )}
    </div>
  );
}

// openOf returns the number of open suggestions, for the name of a button.
function openOf({ suggestions: { nodes, pageInfo } }: NoteContent): string {
  if (nodes.length === 0) return '';
  return ` (${nodes.length}${pageInfo.hasNextPage ? '+' : ''} open)`;
}

function Action({ name, onClick }: { name: string; onClick: () => void }) {
  return (
    <button type="button" className="button" onClick={onClick}>
      {name}
    </button>
  );
}

// useNoteText reads the text of an item, and reads it again when the item has
// changed. A locale of undefined leaves the choice to the gateway, which follows
// the languages of the browser.
function useNoteText(item: ItemFragment, { branch, locale }: Shown) {
  const { data, previousData, error, refetch } = useQuery(NoteTextDocument, {
    variables: { id: item.id, branch, locale: locale ?? null, strictLocale: locale !== undefined },
    fetchPolicy: 'no-cache',
  });
  const read = useRef(item.version);
  useEffect(() => {
    if (read.current === item.version) return;
    read.current = item.version;
    refetch().catch(() => {});
  }, [item.version, refetch]);
  return { content: (data ?? previousData)?.content, error, reread: () => refetch() };
}

interface LanguageSwitchProps {
  content: NoteContent;
  chosen: string | null | undefined;
  onChoose: (locale: string | null) => void;
}

// LanguageSwitch selects the language of the text. It includes a language that was
// added and has no text yet.
function LanguageSwitch({ content, chosen, onChoose }: LanguageSwitchProps) {
  const there = localesOf(content);
  const shown = chosen === undefined ? (content.revision?.locale ?? null) : chosen;
  const missing = chosen != null && !there.includes(chosen);
  const locales = missing ? [...there, chosen] : there;
  const index = locales.indexOf(shown);
  if (index < 0 ? locales.length === 0 : locales.length === 1) return null;
  return (
    <label className="note-language">
      <span>Language</span>
      <select value={index} onChange={(event) => onChoose(locales[Number(event.target.value)] ?? null)}>
        {index < 0 && (
          <option value={-1} disabled>
            Choose...
          </option>
        )}
        {locales.map((locale, i) => (
          <option key={locale ?? ''} value={i} lang={locale?.replace('_', '-')}>
            {languageName(locale)}
            {missing && locale === chosen && ' (no text yet)'}
          </option>
        ))}
      </select>
    </label>
  );
}

// Text shows a revision. It shows the revision's title if it is not the title of the item, as in a translation. In the text that
// names the item, another title is one that the item had before it was renamed.
function Text({ revision, itemTitle, namesItem }: { revision: RevisionTextFragment; itemTitle: string; namesItem: boolean }) {
  const { title, body, locale, author, createdAt } = revision;
  return (
    <>
      <div className="note-text" lang={locale && locale !== 'xx' ? locale.replace('_', '-') : undefined}>
        {title !== itemTitle && !namesItem && <h3><Title of={title} /></h3>}
        {body.trim() === '' ? <p className="note-empty">The text is empty.</p> : <Markdown text={body} />}
      </div>
      <p className="note-about">
        {locale !== null && `${languageName(locale)}. `}
        {versionOf(revision.number)},{' '}
        {author && <>by <To place={{ name: 'library', id: author.id }}><bdi>{author.displayName}</bdi></To>, </>}
        <time dateTime={createdAt}>{dateOf(createdAt)}</time>
      </p>
    </>
  );
}
