// The revisions of a text: who saved each and when, which one is current, and the differences
// between two of them.
import { useEffect, useRef, useState, type MouseEvent, type RefObject } from 'react';
import { useApolloClient, useQuery } from '@apollo/client/react';
import { AcceptedSuggestionsDocument, NoteHistoryDocument, PublishRevisionDocument, RevisionDocument,
  type RevisionHeadFragment } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Diff } from '../ui/diff.tsx';
import { ActionFaults, useSubmit } from '../ui/forms.tsx';
import { useSay, type Undo } from '../ui/notices.tsx';
import { useReadAgain } from '../ui/read-again.ts';
import { Failed, Loading, Outdated, ShowMore } from '../ui/states.tsx';
import { Title } from '../ui/title.tsx';
import { dateOf, textHeading, versionOf } from '../ui/words.ts';
import { usePages } from './use-pages.ts';
import { readRevision, type TextId } from './use-draft.ts';

interface NoteHistoryProps {
  textId: TextId;
  // The version of the item: it changes when somebody publishes.
  version: number;
  mayEdit: boolean;
  onClose: () => void;
  onChanged: () => void;
}

export function NoteHistory({ textId, version, mayEdit, onClose, onChanged }: NoteHistoryProps) {
  const list = useRef<HTMLOListElement>(null);
  const { nodes, error, hasMore, more, reread } = useHistory(textId);
  const { suggested, refetch } = useSuggested(textId.contentId);
  const { submission, makeCurrent } = useMakeCurrent({ textId, nodes: nodes ?? [], list, reread, onChanged });
  const [chosen, setChosen] = useState<{ from: number; to: number } | null>(null);
  const newest = nodes?.[0]?.number ?? 0;
  const pair = chosen ?? { from: Math.max(0, newest - 1), to: newest };
  // What is compared stays when there is a newer version.
  const readAgain = () => {
    if (nodes && nodes.length > 0) setChosen(pair);
    return Promise.all([reread(), refetch()]);
  };
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) readAgain().catch(() => {});
    known.current = version;
  }, [version]);
  useReadAgain(readAgain);
  return (
    <Dialog title={textHeading('History', textId)} onClose={onClose} wide>
      <div className="dialog-text">
        {!nodes && (error === undefined ? <Loading what="Loading the history..." />
          : <Failed error={error} onRetry={reread} heading="Could not load the history" />)}
        {nodes && error !== undefined && <Outdated error={error} onRetry={reread} />}
        {nodes?.length === 0 && <p>There are no versions yet. Publishing a text creates the first one.</p>}
        {nodes && nodes.length > 0 && (
          <>
            <ol className="revisions" ref={list} tabIndex={-1} aria-label="Versions">
              {nodes.map((revision) => (
                <RevisionLine key={revision.number} revision={revision} suggestedBy={suggested.get(revision.key)} busy={submission.busy}
                  onCompare={setChosen} onMakeCurrent={mayEdit ? makeCurrent : undefined} />
              ))}
            </ol>
            {hasMore && <ShowMore list={list} onMore={more} />}
            <ActionFaults submission={submission} />
            <Comparison textId={textId} numbers={Array.from({ length: newest + 1 }, (_, n) => newest - n)} pair={pair}
              onChoose={setChosen} />
          </>
        )}
      </div>
    </Dialog>
  );
}

interface MakeCurrentProps extends Pick<NoteHistoryProps, 'textId' | 'onChanged'> {
  nodes: readonly RevisionHeadFragment[];
  list: RefObject<HTMLElement | null>;
  reread: () => Promise<unknown>;
}

// useMakeCurrent returns makeCurrent, which makes a revision current, reads the list again, and returns whether it did that. If another
// revision is current than the list shows, it only reads the list again: the viewer has not seen what would be replaced.
function useMakeCurrent({ textId, nodes, list, reread, onChanged }: MakeCurrentProps) {
  const client = useApolloClient();
  const say = useSay();
  const submission = useSubmit(PublishRevisionDocument, [], { keyed: false });

  const set = async (number: number, isSeen: (current: number) => boolean) => {
    const { contentId, branch, locale } = textId;
    const outcome = await submission.run(async (post) => {
      const { revision: former } = await readRevision(client, textId, null);
      const refused = former !== null && !isSeen(former.number);
      const userErrors = refused ? [] : (await post({ contentId, branch, locale, number })).userErrors;
      if (userErrors.length === 0) await reread();
      return { former, refused, userErrors };
    });
    if (!outcome) return null;
    onChanged();
    return outcome;
  };
  const makeCurrent = async ({ number }: RevisionHeadFragment) => {
    const { former, refused } = (await set(number, (current) => isShownAsCurrent(nodes, current))) ?? {};
    if (former && refused) {
      list.current?.focus();
      say(`${versionOf(former.number)} by ${former.author?.displayName ?? 'an unknown author'} has become current meanwhile. `
        + 'Nothing was changed.');
    }
    if (refused !== false) return false;
    // What somebody else has made current since is kept.
    const undo: Undo = async () => former != null && (await set(former.number, (current) => current === number))?.refused === false;
    say(`${versionOf(number)} is current now.`, former ? undo : undefined);
    return true;
  };
  return { submission, makeCurrent };
}

// isShownAsCurrent reports whether the first pages of a list, newest first, are right about what is current. If they show nothing as
// current, that is on a later page.
function isShownAsCurrent(shown: readonly RevisionHeadFragment[], current: number): boolean {
  const marked = shown.find(({ isCurrent }) => isCurrent);
  return marked ? marked.number === current : current < (shown.at(-1)?.number ?? 0);
}

// useHistory reads the revisions of a text, newest first. The gateway has no list
// of only the texts without a locale: they are the first ones of the list of all.
function useHistory({ contentId, branch, locale }: TextId) {
  const client = useApolloClient();
  const read = async (after: string | null) => {
    const { data } = await client.query({ query: NoteHistoryDocument, variables: { id: contentId, branch, locale, after },
      fetchPolicy: 'no-cache' });
    const page = data?.content?.branch?.revisions;
    const nodes = page?.nodes.filter((node) => node.locale === locale) ?? [];
    const whole = nodes.length === page?.nodes.length;
    return { nodes, after: whole && page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null };
  };
  // A list that is read again still has all the revisions that it had, and reading more of them is not interrupted.
  const oldest = useRef(Infinity);
  const adding = useRef<Promise<unknown>>(Promise.resolve());
  const pages = usePages(`${contentId} ${branch} ${locale}`, async (after) => {
    let page = await read(after);
    while (after === null && page.after !== null && (page.nodes.at(-1)?.number ?? 0) > oldest.current) {
      const next = await read(page.after);
      page = { nodes: [...page.nodes, ...next.nodes], after: next.after };
    }
    return page;
  });
  oldest.current = pages.nodes?.at(-1)?.number ?? Infinity;
  return { ...pages, more: () => (adding.current = pages.more()), reread: () => adding.current.catch(() => {}).then(pages.reread) };
}

// useSuggested returns the authors of accepted suggestions, by the keys of their revisions.
function useSuggested(id: string) {
  const { data, refetch } = useQuery(AcceptedSuggestionsDocument, { variables: { id }, fetchPolicy: 'no-cache' });
  const nodes = data?.content?.suggestions.nodes ?? [];
  const suggested = new Map<string, string>(nodes.flatMap(({ author, resultingRevision }) =>
    (author && resultingRevision ? [[resultingRevision.key, author.displayName]] : [])));
  return { suggested, refetch };
}

interface RevisionLineProps {
  revision: RevisionHeadFragment;
  suggestedBy: string | undefined;
  busy: boolean;
  onCompare: (pair: { from: number; to: number }) => void;
  onMakeCurrent: ((revision: RevisionHeadFragment) => Promise<boolean>) | undefined;
}

function RevisionLine({ revision, suggestedBy, busy, onCompare, onMakeCurrent }: RevisionLineProps) {
  const { number, title, author, createdAt, isCurrent } = revision;
  // The button disappears when the revision is current: focus moves to the one before it.
  const make = ({ currentTarget }: MouseEvent<Element>) => {
    const beside = currentTarget.closest('li')?.querySelector('button');
    void onMakeCurrent?.(revision).then((done) => {
      if (done && [currentTarget, document.body].includes(document.activeElement as Element)) beside?.focus();
    });
  };
  return (
    <li aria-label={versionOf(number)}>
      <span className="members-name">
        <Title of={title} />
        {isCurrent && <span className="badge">Current</span>}
        <small>
          {versionOf(number)} · {author ? author.displayName : 'Unknown author'}
          {suggestedBy && `, who has accepted a suggestion by ${suggestedBy}`} · <time dateTime={createdAt}>{dateOf(createdAt)}</time>
        </small>
      </span>
      <button type="button" className="button button-quiet" onClick={() => onCompare({ from: Math.max(0, number - 1), to: number })}>
        Show changes
      </button>
      {onMakeCurrent && !isCurrent && (
        <button type="button" className="button" aria-disabled={busy} onClick={(event) => !busy && make(event)}>
          Set as current
        </button>
      )}
    </li>
  );
}

interface ComparisonProps {
  textId: TextId;
  numbers: number[];
  pair: { from: number; to: number };
  onChoose: (pair: { from: number; to: number }) => void;
}

// Comparison shows the differences between two revisions that can be chosen.
function Comparison({ textId, numbers, pair, onChoose }: ComparisonProps) {
  const [from, to] = [useRevision(textId, pair.from), useRevision(textId, pair.to)];
  const choice = (label: string, value: number, choose: (number: number) => void) => (
    <label className="note-language">
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(Number(event.target.value))}>
        {numbers.map((number) => (
          <option key={number} value={number}>
            {versionOf(number)}
          </option>
        ))}
      </select>
    </label>
  );
  const error = from.error ?? to.error;
  return (
    <section className="comparison" aria-label="Comparison">
      <div className="comparison-choice">
        {choice('Compare', pair.from, (number) => onChoose({ ...pair, from: number }))}
        {choice('with', pair.to, (number) => onChoose({ ...pair, to: number }))}
      </div>
      {error ? (
        <Failed error={error} onRetry={() => Promise.all([from.refetch(), to.refetch()])} heading="Could not load the versions" />
      ) : from.revision && to.revision ? (
        <Diff before={{ label: versionOf(pair.from), ...from.revision }} after={{ label: versionOf(pair.to), ...to.revision }} />
      ) : (
        <Loading what="Loading the versions..." />
      )}
    </section>
  );
}

// useRevision reads a revision by its number, and the current one for null. seen is the branch that visitors see.
export function useRevision({ contentId, branch, locale }: TextId, number: number | null) {
  const { data, loading, error, refetch } = useQuery(RevisionDocument,
    { variables: { id: contentId, branch, locale, number }, fetchPolicy: 'no-cache' });
  return { revision: data?.content?.revision ?? null, seen: data?.content?.current?.number, loading, error, refetch };
}
