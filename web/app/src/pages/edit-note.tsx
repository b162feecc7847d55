// Editing the text of a note: it is saved as a draft while it is typed, and
// published on request.
import { useEffect, useRef, useState } from 'react';
import type { ItemFragment, RevisionTextFragment } from '../generated/operations.ts';
import { missingParts } from '../data/diff.ts';
import { explain, faultsByField } from '../data/faults.ts';
import { mayRetry, whyNot, type DraftSession } from '../data/draft-session.ts';
import type { PlainText } from '../data/draft-gateway.ts';
import type { DraftState } from '../data/draft-state.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog, useLeave } from '../ui/dialog.tsx';
import { Diff } from '../ui/diff.tsx';
import { Form, TextField } from '../ui/forms.tsx';
import { Markdown } from '../ui/markdown.tsx';
import { Failed, Loading, SignInAgain } from '../ui/states.tsx';
import { useSay } from '../ui/notices.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { dateOf, noText, textHeading } from '../ui/words.ts';
import { CopyText, useCloseWhen } from './edit-item.tsx';
import { ThreeTexts } from './three-texts.tsx';
import { useDraft, type TextId } from './use-draft.ts';

type Session = DraftSession<RevisionTextFragment>;
type State = DraftState<RevisionTextFragment>;

const lostText = 'You can no longer edit this note.';

interface EditNoteProps {
  item: ItemFragment;
  gone: boolean;
  textId: TextId;
  userId: string;
  // Whether the branch is one that visitors do not see.
  hidden: boolean;
  // readHidden reads that again.
  readHidden: () => Promise<boolean>;
  // Whether the item has another branch.
  branched: boolean;
  // Whether the text gives the item its title.
  namesItem: boolean;
  onClose: () => void;
  onPublished: () => void;
  onDiscarded: () => void;
}

export function EditNote({ item, gone, textId, userId, hidden, readHidden, branched, namesItem, onClose, onPublished,
  onDiscarded }: EditNoteProps) {
  const mayEdit = !gone && item.viewerCanEdit;
  const { session, state, error, open } = useDraft(textId, userId, item, mayEdit, namesItem);
  const [discarding, setDiscarding] = useState(false);
  // What was tried last, and may have failed.
  const [tried, setTried] = useState<'published' | 'discarded'>('published');
  const [refused, setRefused] = useState(0);
  // Whether the author says that the texts are merged: then what is missing is shown.
  const [merged, setMerged] = useState(false);
  const lost = !mayEdit || state.refused;
  useCloseWhen(lost && state.ready && state.saving === 'unchanged', onClose, lostText);
  const unsaved = state.saving === 'failed' || state.saving === 'pending' || state.saving === 'saving';
  // Whether what was typed cannot be saved now, or was lost with the item: then the dialog asks before it closes.
  const stuck = state.saving === 'failed' || (lost && unsaved) || (gone && state.hasDraft);
  // Recently typed text is saved before the dialog closes; if that fails, the dialog asks.
  const leave = (proceed = () => {}) => {
    void session.flush().then((saved) => {
      if (!saved) return;
      onClose();
      proceed();
    });
  };
  useUnsaved(unsaved && !stuck, leave);

  // The text as it was when another one became current: while it is the same, the author may not have seen that.
  const unmerged = useRef<PlainText | null>(null);
  useEffect(() => {
    unmerged.current = state.stale ? state.text : null;
  }, [state.stale, state.current]);

  const say = useSay();
  const about = useRef<HTMLParagraphElement>(null);
  const moved = useRef(false);
  // Whether visitors still see the branch, or do not, as the editor says.
  const isSeen = async () => {
    moved.current = (await readHidden()) !== hidden;
    const { branch } = textId;
    if (moved.current) say(`Not published: visitors ${hidden ? `see branch ${branch} now` : `do not see branch ${branch} any more`}.`);
    return !moved.current;
  };
  const publish = async () => {
    setTried('published');
    const { elsewhere, stale, text } = session.state();
    const merging = stale && !elsewhere;
    const isMissing = merging && missingOf(session.state()).length > 0;
    if (isMissing) setMerged(true);
    else if (!merging || (text !== unmerged.current && (await session.rebase()))) {
      if (await session.publish(isSeen)) return onPublished();
    }
    setRefused((times) => times + 1);
  };
  // What has to be decided before the text can be published is in view each time that it is refused.
  useEffect(() => {
    if (refused === 0) return;
    unmerged.current = null;
    const missing = state.elsewhere ? null : document.querySelector<HTMLElement>('dialog .missing-parts');
    const question = missing ?? document.querySelector<HTMLElement>('dialog [role="group"].overtaken')
      ?? (moved.current ? about.current : null);
    moved.current = false;
    question?.focus({ preventScroll: true });
    (question ?? document.querySelector('dialog .saving .fault'))?.scrollIntoView({ block: question && !missing ? 'start' : 'center' });
  }, [refused]);
  const discard = async () => {
    setTried('discarded');
    if (await session.discard()) onDiscarded();
    else setDiscarding(false);
  };
  return (
    <Dialog title={textHeading('Edit the text', textId)} onClose={stuck ? onClose : () => leave()} unsaved={stuck} wide>
      {!state.ready && (error === undefined ? <Loading what="Loading the text..." />
        : <Failed error={error} onRetry={open} heading="Could not load the text" />)}
      {state.ready && (
        <Form
          // Enter in the title saves the draft: nothing is published by accident.
          onSubmit={() => void session.flush()}
          // What else is not about a field is said by SavingStatus.
          submission={{ busy: false, error: null, faults: { ...faultsByField(state.faults, ['title', 'body']),
            form: lost ? [`${lostText} Copy your text before you leave.`] : [] } }}
          actions={<EditorActions state={state} lost={lost} onDiscard={() => setDiscarding(true)} onPublish={() => void publish()} />}
        >
          {!lost && <Elsewhere state={state} session={session} />}
          {!lost && <Stale state={state} session={session} merged={merged} onMerged={setMerged} />}
          {(branched || hidden) && (
            <p ref={about} tabIndex={-1}>
              {hidden ? `Visitors do not see branch ${textId.branch}. They see what you publish here once you set the branch as current.`
                : `Branch ${textId.branch}: everyone who can open the item sees what you publish.`}
            </p>
          )}
          {!state.current && !lost && (
            <p className="note-empty">{noText(textId.locale, hidden ? textId.branch : null)} Yours will be the first.</p>
          )}
          <Fields state={state} session={session} lost={lost} />
          {!lost && <SavingStatus state={state} tried={tried} onRetry={() => void session.flush()} />}
        </Form>
      )}
      {discarding && (
        <Confirm title="Discard your draft?" verb="Discard" submission={{ busy: state.busy, faults: {} }}
          onConfirm={() => void discard()} onClose={() => setDiscarding(false)}>
          <p>Your draft is removed. The published text stays as it is.</p>
        </Confirm>
      )}
    </Dialog>
  );
}

function Fields({ state, session, lost }: { state: State; session: Session; lost: boolean }) {
  const [preview, setPreview] = useState(false);
  const { text, faults } = state;
  const found = faultsByField(faults, ['title', 'body']);
  return (
    <>
      <TextField label="Title" value={text.title} readOnly={lost} onChange={(event) => session.edit({ title: event.target.value })}
        faults={found.title} />
      <TextField label="Text" hint="Markdown: # heading, **bold**, - list, [link](https://...)." rows={16}
        value={text.body} readOnly={lost} onChange={(event) => session.edit({ body: event.target.value })} faults={found.body} autoFocus />
      <details className="preview" onToggle={(event) => setPreview(event.currentTarget.open)}>
        <summary>Preview</summary>
        {preview && <Markdown text={text.body} />}
      </details>
    </>
  );
}

interface EditorActionsProps {
  state: State;
  lost: boolean;
  onDiscard: () => void;
  onPublish: () => void;
}

function EditorActions({ state, lost, onDiscard, onPublish }: EditorActionsProps) {
  const leave = useLeave();
  const nothing = state.saving === 'unchanged';
  return (
    <>
      {state.hasDraft && (
        <button type="button" className="button button-quiet button-danger" aria-disabled={state.busy}
          onClick={() => !state.busy && onDiscard()}>
          Discard draft
        </button>
      )}
      <button type="button" className="button" onClick={leave}>
        Close
      </button>
      {lost ? <CopyText texts={[state.text.title, state.text.body]} /> : (
        <button type="button" className="button button-main" aria-disabled={state.busy || nothing}
          title={nothing ? 'Nothing has changed yet.' : undefined} onClick={() => !state.busy && !nothing && onPublish()}>
          {state.busy ? 'Please wait...' : 'Publish'}
        </button>
      )}
    </>
  );
}

const savingText: Record<State['saving'], string> = {
  unchanged: 'What you type is saved as a draft, which only you can see.',
  pending: 'Saving...',
  saving: 'Saving...',
  saved: 'Saved as a draft. Only you can see it.',
  failed: '',
};

function SavingStatus({ state, tried, onRetry }: { state: State; tried: string; onRetry: () => void }) {
  const why = whyNot(state);
  const signedOut = explain(state.error).kind === 'signedOut';
  return (
    <div className="saving">
      <p role="status">{savingText[state.saving]}</p>
      <div role="alert">
        {state.saving === 'failed' && !state.elsewhere && (
          <p className="fault">
            Not saved. {why}{' '}
            {mayRetry(state) && !signedOut && (
              <button type="button" className="button" onClick={onRetry}>
                Try again
              </button>
            )}
          </p>
        )}
        {state.saving !== 'failed' && why && <p className="fault">Not {tried}. {why}</p>}
        {signedOut && <SignInAgain />}
      </div>
    </div>
  );
}

// Elsewhere lets the author choose between two versions of the draft.
function Elsewhere({ state: { elsewhere, text }, session }: { state: State; session: Session }) {
  if (!elsewhere) return null;
  return (
    <div className="overtaken" role="group" aria-label="Two versions of your draft" tabIndex={-1}>
      <p role="alert">
        <b>You have changed this draft in another window.</b> Saving is paused until you choose a version.
      </p>
      <Diff before={{ label: 'Other window', ...elsewhere }} after={{ label: 'This window', ...text }} />
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={({ currentTarget }) => (toText(currentTarget), void session.keepMine())}>
          Keep this version
        </button>
        <button type="button" className="button" onClick={({ currentTarget }) => (toText(currentTarget), void session.takeElsewhere())}>
          Use the other version
        </button>
      </div>
    </div>
  );
}

interface StaleProps {
  state: State;
  session: Session;
  merged: boolean;
  onMerged: (merged: boolean) => void;
}

// missingOf returns the parts of the current text that the author's text does not have.
const missingOf = ({ stale, current, base, text }: State) => (stale && current ? missingParts(base, current, text) : []);

// toText moves focus from a button, which disappears, to the text.
const toText = (button: Element) => button.closest('form')?.querySelector('textarea')?.focus();

// Stale compares three texts if somebody else has published meanwhile: the one that the draft is
// based on, the current one, and the draft. The draft stays in the editor, where the author
// merges them.
function Stale({ state, session, merged, onMerged }: StaleProps) {
  const { stale, current, base, text } = state;
  const missing = merged ? missingOf(state) : [];
  const answer = useRef<HTMLDivElement>(null);
  const isMissing = missing.length > 0;
  useEffect(() => {
    if (isMissing) answer.current?.scrollIntoView({ block: 'center' });
  }, [isMissing]);
  if (!stale || !current) return null;
  const rebase = (button: Element, chosen?: PlainText) => {
    onMerged(false);
    toText(button);
    void session.rebase(chosen);
  };
  const done = (button: Element) => {
    if (isMissing || missingOf(state).length === 0) rebase(button);
    else onMerged(true);
  };
  return (
    <div className="overtaken" role="group" aria-label="The text has changed" tabIndex={-1}>
      <p role="alert">
        <b>{current.author ? `${current.author.displayName} has published another text`
          : 'Another text was published'}</b> since you started ({dateOf(current.createdAt)}). Merge both in the editor below, then publish.
      </p>
      <ThreeTexts base={base} current={current} text={text} what="draft" />
      <div role="alert" ref={answer}>
        {isMissing && (
          <div className="missing-parts" tabIndex={-1}>
            <p>
              <b>{current.author ? `Your text does not have these parts of ${current.author.displayName}.`
                : 'Your text does not have these parts of the current one.'}</b> Add them below, or leave them out.
            </p>
            <blockquote>{missing.join('\n')}</blockquote>
          </div>
        )}
      </div>
      <div className="overtaken-actions">
        <button type="button" className="button" onClick={({ currentTarget }) => done(currentTarget)}>
          {isMissing ? 'Leave them out' : 'I have merged them'}
        </button>
        <button type="button" className="button"
          onClick={({ currentTarget }) => rebase(currentTarget, { title: current.title, body: current.body })}>
          Use the current text
        </button>
      </div>
    </div>
  );
}
