// The suggestions for a note. Editors see all of them, and accept or reject them; others see only
// their own, and can withdraw them.
import { useRef, useState } from 'react';
import type { ApolloClient } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import { DecideSuggestionDocument, NoteSuggestionsDocument, SuggestionDecisionDocument, type DecideSuggestionInput,
  type SuggestionState, type SuggestionTextFragment } from '../generated/operations.ts';
import { isText, type NamedText } from '../data/naming.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Diff } from '../ui/diff.tsx';
import { ActionFaults, useSubmit } from '../ui/forms.tsx';
import { useSay } from '../ui/notices.tsx';
import { useMe } from '../ui/session.tsx';
import { Failed, Loading, Outdated, ShowMore } from '../ui/states.tsx';
import { dateOf, languageName } from '../ui/words.ts';
import { useRevision } from './note-history.tsx';
import { readRevision } from './use-draft.ts';
import { usePages } from './use-pages.ts';

const stateName: Record<SuggestionState, string> = { OPEN: 'Open', ACCEPTED: 'Accepted', REJECTED: 'Rejected', WITHDRAWN: 'Withdrawn' };
const states = Object.keys(stateName) as SuggestionState[];
const overtook = 'Not accepted: the text has changed meanwhile.';
const isSeenNow = (branch: number) => `Not accepted: visitors see branch ${branch} now.`;

interface SuggestionsProps {
  contentId: string;
  itemTitle: string;
  // The text that gives the item its title, if that is known.
  naming: NamedText | null;
  mayEdit: boolean;
  onClose: () => void;
  onChanged: () => void;
}

export function Suggestions({ contentId, itemTitle, naming, mayEdit, onClose, onChanged }: SuggestionsProps) {
  const client = useApolloClient();
  // Editors want the open ones, to decide on; others the results of their own.
  const [state, setState] = useState<SuggestionState | null>(mayEdit ? 'OPEN' : null);
  const list = useRef<HTMLUListElement>(null);
  const heading = useRef<HTMLParagraphElement>(null);
  const { nodes, error, hasMore, more, reread } = usePages(`${state}`, async (after) => {
    const { data } = await client.query({ query: NoteSuggestionsDocument, variables: { id: contentId, state, after },
      fetchPolicy: 'no-cache' });
    const page = data?.content?.suggestions;
    return { nodes: page?.nodes ?? [], after: page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null };
  });
  const decided = () => {
    heading.current?.focus();
    void reread();
    onChanged();
  };
  return (
    <Dialog title="Suggestions" onClose={onClose} wide>
      <div className="dialog-text">
        <div className="comparison-choice">
          <label className="note-language">
            <span>Show</span>
            <select value={state ?? ''} onChange={(event) => setState((event.target.value || null) as SuggestionState | null)}>
              <option value="">All</option>
              {states.map((name) => (
                <option key={name} value={name}>
                  {stateName[name]}
                </option>
              ))}
            </select>
          </label>
        </div>
        {!nodes && (error === undefined ? <Loading what="Loading the suggestions..." />
          : <Failed error={error} onRetry={reread} heading="Could not load the suggestions" />)}
        {nodes && error !== undefined && <Outdated error={error} onRetry={reread} />}
        <p ref={heading} tabIndex={-1} role="status" className={nodes?.length === 0 ? 'note-empty' : 'hidden'}>
          {nodes?.length === 0 && (state === 'OPEN' ? 'There are no open suggestions.' : 'There are no suggestions here.')}
        </p>
        {nodes && nodes.length > 0 && (
          <ul className="suggestions" ref={list}>
            {nodes.map((suggestion) => (
              <SuggestionCard key={suggestion.id} contentId={contentId} suggestion={suggestion} mayEdit={mayEdit} onDecided={decided}
                itemTitle={isText(naming, suggestion) ? itemTitle : null} />
            ))}
          </ul>
        )}
        {hasMore && <ShowMore list={list} onMore={more} />}
      </div>
    </Dialog>
  );
}

interface SuggestionCardProps {
  contentId: string;
  suggestion: SuggestionTextFragment;
  mayEdit: boolean;
  // The title of the item, if the text gives it: accepting the suggestion changes it.
  itemTitle: string | null;
  onDecided: () => void;
}

function SuggestionCard({ contentId, suggestion, mayEdit, itemTitle, onDecided }: SuggestionCardProps) {
  const { branch, locale, author, title, note, state, createdAt, decidedBy } = suggestion;
  const me = useMe();
  const current = useRevision({ contentId, branch, locale }, null);
  const open = state === 'OPEN';
  // Whether visitors do not see the branch. Then neither does an author who is no editor.
  const hidden = current.seen !== undefined && current.seen !== branch;
  const unseen = hidden && !mayEdit;
  const overtaken = open && !unseen && !current.loading && !current.error
    && (current.revision?.number ?? null) !== suggestion.baseRevision;
  const { submission, decide } = useDecision({ contentId, suggestion, current, hidden, overtaken, onDecided });
  const button = (name: string, act: () => void, look = '') => (
    <button type="button" className={`button ${look}`} aria-disabled={submission.busy} onClick={() => !submission.busy && act()}>
      {name}
    </button>
  );
  const accepted = hidden ? `Accepted in branch ${branch}. Visitors do not see it.` : 'Accepted and published.';
  const by = author?.displayName ?? 'Unknown author';
  return (
    <li aria-label={`Suggestion by ${by}: ${title}`}>
      <p>
        <b>{by}</b> · <time dateTime={createdAt}>{dateOf(createdAt)}</time>
        {locale !== null && ` · ${languageName(locale)}`}
        <span className="badge">{stateName[state]}</span>
        {!open && decidedBy && decidedBy.id !== author?.id && <small> by {decidedBy.displayName}</small>}
      </p>
      {note && <blockquote>{note}</blockquote>}
      {hidden && <p>{unseen ? 'This was suggested for a text that is no longer shown.'
        : `Branch ${branch}. Visitors see branch ${current.seen}.`}</p>}
      {overtaken && <p className="overtaken">The text has changed since this was suggested. Accepting it replaces
        those changes: check the differences first.</p>}
      {current.error ? (
        <Failed error={current.error} onRetry={() => current.refetch()} heading="Could not load the current text" />
      ) : current.loading ? (
        <Loading what="Loading the current text..." />
      ) : !unseen && (
        <Diff before={{ label: hidden ? `Text of branch ${branch}` : 'Current text', title: itemTitle ?? current.revision?.title ?? '',
          body: current.revision?.body ?? '' }} after={{ label: 'Suggested text', title, body: suggestion.body }} />
      )}
      {open && (
        <div className="actions">
          {mayEdit && button(overtaken ? 'Accept anyway' : 'Accept', () => void decide('ACCEPT', accepted), 'button-main')}
          {mayEdit && button('Reject', () => void decide('REJECT', 'Rejected.'))}
          {me && author?.id === me.id && button('Withdraw', () => void decide('WITHDRAW', 'Withdrawn.'))}
        </div>
      )}
      <ActionFaults submission={submission} />
    </li>
  );
}

interface DecisionProps {
  contentId: string;
  suggestion: SuggestionTextFragment;
  current: ReturnType<typeof useRevision>;
  // What the card shows: whether visitors do not see the branch, and whether its text has changed.
  hidden: boolean;
  overtaken: boolean;
  onDecided: () => void;
}

// useDecision decides on a suggestion. If another revision was published, or another branch is shown now, that is shown before the
// editor decides again.
function useDecision({ contentId, suggestion, current, hidden, overtaken, onDecided }: DecisionProps) {
  const { id, branch, locale } = suggestion;
  const client = useApolloClient();
  const say = useSay();
  const me = useMe();
  const submission = useSubmit(DecideSuggestionDocument, [], { keyed: false });
  const decide = async (decision: DecideSuggestionInput['decision'], done: string) => {
    const outcome = await submission.run(async (post) => {
      const again = (text: string) => current.refetch().then(() => ({ decided: false, text, userErrors: [] }));
      const force = decision === 'ACCEPT' && overtaken;
      if (decision === 'ACCEPT') {
        const now = await readRevision(client, { contentId, branch, locale }, null);
        if (now.seen !== undefined && (now.seen !== branch) !== hidden) return again(isSeenNow(now.seen));
        if (force && now.revision?.number !== current.revision?.number) return again(overtook);
      }
      const answer = await post({ id, decision, force });
      const code = answer.userErrors[0]?.code;
      if (code === 'REVISION_CONFLICT') return again(overtook);
      if (code === 'CONFLICT') return { decided: true, text: await decisionOf(client, id, me?.id), userErrors: [] };
      return { decided: true, text: done, userErrors: answer.userErrors };
    });
    if (!outcome) return;
    say(outcome.text);
    if (outcome.decided) onDecided();
  };
  return { submission, decide };
}

// decisionOf says who has decided on a suggestion that is not open, and how.
async function decisionOf(client: ApolloClient, id: string, me: string | undefined): Promise<string> {
  const { data } = await client.query({ query: SuggestionDecisionDocument, variables: { id }, fetchPolicy: 'no-cache' });
  if (data?.node?.__typename !== 'Suggestion') return 'This suggestion is gone.';
  const { state, decidedBy } = data.node;
  const who = decidedBy && decidedBy.id === me ? 'You have' : `${decidedBy?.displayName ?? 'Somebody else'} has`;
  return `${who} ${stateName[state].toLowerCase()} this suggestion.`;
}
