// The text of a note: in the language that suits the viewer, or in the one that
// was chosen.
import { useEffect, useId, useRef, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { NoteTextDocument, type ItemFragment, type NoteTextQuery, type RevisionTextFragment } from '../generated/operations.ts';
import { Markdown } from '../ui/markdown.tsx';
import { To } from '../ui/navigation.tsx';
import { useOpening } from '../ui/dialog.tsx';
import { useSay } from '../ui/notices.tsx';
import { useMe } from '../ui/session.tsx';
import { Failed, Loading, Outdated } from '../ui/states.tsx';
import { dateOf, languageName } from '../ui/words.ts';
import { EditNote } from './edit-note.tsx';
import { NoteHistory } from './note-history.tsx';
import { Suggest } from './suggest.tsx';
import { Suggestions } from './suggestions.tsx';
import type { Spot } from './use-draft.ts';

type NoteContent = NonNullable<NoteTextQuery['content']>;

// Note is the section of an item that shows its text. shown is false while the
// item is gone: then only an open dialog stays, which may hold typed text.
export function Note({ item, shown }: { item: ItemFragment; shown: boolean }) {
  const [locale, setLocale] = useState<string | null | undefined>(undefined);
  const { content, error, reread } = useNoteText(item, locale);
  const heading = useId();
  const me = useMe();
  const say = useSay();
  const { open, show, close } = useOpening<DialogName>();
  // A dialog is about the text that was shown when it was opened.
  const [spot, setSpot] = useState<Spot | null>(null);
  const revision = content?.revision ?? null;
  const start = (name: DialogName) => {
    const wanted = locale === undefined ? (revision?.locale ?? null) : locale;
    setSpot({ contentId: item.id, branch: content?.branch?.number ?? 1, locale: wanted });
    show(name);
  };
  const done = (text: string) => {
    close();
    say(text);
    void reread().catch(() => {});
  };
  return (
    <>
      {shown && (
        <section className="note" aria-labelledby={heading}>
          <header className="note-head">
            <h2 id={heading}>Text</h2>
            {content && <LanguageSwitch content={content} onChoose={setLocale} />}
          </header>
          {error !== undefined && content && <Outdated error={error} onRetry={reread} />}
          {error !== undefined && !content && <Failed error={error} onRetry={reread} heading="Could not load the text" />}
          {error === undefined && !content && <Loading what="Loading the text..." />}
          {content && (revision ? <Text revision={revision} itemTitle={item.title} /> : <p className="note-empty">This note has no text yet.</p>)}
          {content && (
            <div className="actions">
              {me && item.viewerCanEdit && <Action name={revision ? 'Edit text…' : 'Write text…'} onClick={() => start('edit')} />}
              {item.viewerCanEdit && <Action name="History…" onClick={() => start('history')} />}
              {me && !item.viewerCanEdit && <Action name="Suggest a change…" onClick={() => start('suggest')} />}
              {me && <Action name={`Suggestions${openOf(content)}…`} onClick={() => start('suggestions')} />}
            </div>
          )}
        </section>
      )}
      {open === 'history' && spot && <NoteHistory spot={spot} mayEdit={item.viewerCanEdit} onClose={close} onChanged={() => void reread().catch(() => {})} />}
      {open === 'suggest' && spot && <Suggest spot={spot} itemTitle={item.title} onClose={close} onSuggested={() => done('Suggestion sent.')} />}
      {open === 'suggestions' && <Suggestions contentId={item.id} mayEdit={item.viewerCanEdit} onClose={close} onChanged={() => void reread().catch(() => {})} />}
      {open === 'edit' && spot && me && (
        <EditNote item={item} spot={spot} userId={me.id} onClose={close} onPublished={() => done('Published.')} onDiscarded={() => done('Draft discarded.')} />
      )}
    </>
  );
}

type DialogName = 'edit' | 'history' | 'suggest' | 'suggestions';

// openOf is how many suggestions are open, for the name of a button.
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
function useNoteText(item: ItemFragment, locale: string | null | undefined) {
  const { data, previousData, error, refetch } = useQuery(NoteTextDocument, {
    variables: { id: item.id, locale: locale ?? null, strictLocale: locale !== undefined },
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

// localesOf are the locales of the texts that can be chosen; null is the text
// without a locale.
function localesOf({ branch, unlocalized }: NoteContent): (string | null)[] {
  return [...(unlocalized ? [null] : []), ...(branch?.locales ?? [])];
}

function LanguageSwitch({ content, onChoose }: { content: NoteContent; onChoose: (locale: string | null) => void }) {
  const locales = localesOf(content);
  if (locales.length < 2) return null;
  const chosen = locales.indexOf(content.revision?.locale ?? null);
  const choose = (index: number) => onChoose(locales[index] ?? null);
  return (
    <label className="note-language">
      <span>Language</span>
      <select value={chosen} onChange={(event) => choose(Number(event.target.value))}>
        {locales.map((locale, index) => (
          <option key={locale ?? ''} value={index} lang={locale?.replace('_', '-')}>
            {languageName(locale)}
          </option>
        ))}
      </select>
    </label>
  );
}

// Text is a revision as it is read. Its title is shown where it is not the title
// of the item, as in a translation.
function Text({ revision, itemTitle }: { revision: RevisionTextFragment; itemTitle: string }) {
  const { title, body, locale, author, createdAt } = revision;
  return (
    <>
      <div className="note-text" lang={locale && locale !== 'xx' ? locale.replace('_', '-') : undefined}>
        {title !== itemTitle && <h3>{title}</h3>}
        {body.trim() === '' ? <p className="note-empty">The text is empty.</p> : <Markdown text={body} />}
      </div>
      <p className="note-about">
        {locale !== null && `${languageName(locale)}. `}
        Revision {revision.number}, {author && <>by <To place={{ name: 'library', id: author.id }}>{author.displayName}</To>, </>}
        <time dateTime={createdAt}>{dateOf(createdAt)}</time>
      </p>
    </>
  );
}
