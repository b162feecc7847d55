// The branches of a note, for its editors: which one visitors see, which one
// editors work on, and creating another one.
import { useEffect, useId, useRef, useState, type MouseEvent } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { CreateBranchDocument, NoteBranchesDocument, SetCurrentBranchDocument, type BranchHeadFragment } from '../generated/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { ActionFaults, Form, SelectField, Submit, useSubmit } from '../ui/forms.tsx';
import { useSay } from '../ui/notices.tsx';
import { Failed, Loading, Outdated, ShowMore } from '../ui/states.tsx';
import { dateOf, languageName } from '../ui/words.ts';
import { usePages } from './use-pages.ts';

interface BranchesProps {
  contentId: string;
  // The version of the item: it changes when somebody makes another branch current.
  version: number;
  // The number of the branch that the page shows.
  shown: number;
  onClose: () => void;
  // onShow is called with null for the current branch.
  onShow: (branch: number | null) => void;
  onChanged: () => void;
}

export function Branches({ contentId, version, shown, onClose, onShow, onChanged }: BranchesProps) {
  const list = useRef<HTMLUListElement>(null);
  const { nodes, error, hasMore, more, reread } = useBranches(contentId);
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) void reread();
    known.current = version;
  }, [version, reread]);
  const changed = () => {
    onChanged();
    return reread();
  };
  return (
    <Dialog title="Branches" onClose={onClose} wide>
      <div className="dialog-text">
        <p>Each branch has its own texts and history. Visitors see the current branch. Editors prepare new texts in the working branch,
          and set it as current when it is ready.</p>
        {!nodes && (error === undefined ? <Loading what="Loading the branches..." />
          : <Failed error={error} onRetry={reread} heading="Could not load the branches" />)}
        {nodes && error !== undefined && <Outdated error={error} onRetry={reread} />}
        {nodes && (
          <>
            <ul className="branches" ref={list} aria-label="Branches">
              {nodes.map((branch) => (
                <BranchLine key={branch.number} contentId={contentId} branch={branch}
                  isShown={branch.number === shown} onShow={onShow} onChanged={changed} />
              ))}
            </ul>
            {hasMore && <ShowMore list={list} onMore={more} />}
            <NewBranch contentId={contentId} branches={nodes} onCreated={changed} />
          </>
        )}
      </div>
    </Dialog>
  );
}

function useBranches(contentId: string) {
  const client = useApolloClient();
  return usePages(contentId, async (after) => {
    const { data } = await client.query({ query: NoteBranchesDocument, variables: { id: contentId, after }, fetchPolicy: 'no-cache' });
    const page = data?.content?.branches;
    return { nodes: page?.nodes ?? [], after: page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null };
  });
}

interface BranchLineProps {
  contentId: string;
  branch: BranchHeadFragment;
  isShown: boolean;
  onShow: (branch: number | null) => void;
  onChanged: () => Promise<unknown>;
}

function BranchLine({ contentId, branch, isShown, onShow, onChanged }: BranchLineProps) {
  const id = useId();
  const say = useSay();
  const submission = useSubmit(SetCurrentBranchDocument, [], { keyed: false });
  const { number, isCurrent, isWorking } = branch;
  const set = async (working: boolean, done: string) => {
    if (!(await submission.send({ contentId, branch: number, working }))) return false;
    say(done);
    await onChanged();
    return true;
  };
  // The button disappears after a success: focus moves to the first button of the line.
  const act = ({ currentTarget }: MouseEvent<Element>, working: boolean, done: string) => {
    const first = currentTarget.closest('li')?.querySelector('button');
    if (submission.busy) return;
    void set(working, done).then((isSet) => {
      if (isSet && [currentTarget, document.body].includes(document.activeElement as Element)) first?.focus();
    });
  };
  const button = (name: string, working: boolean, done: string) => (
    <button type="button" className="button" aria-disabled={submission.busy} aria-describedby={`${id}-fault`}
      onClick={(event) => act(event, working, done)}>
      {name}
    </button>
  );
  return (
    <li aria-label={`Branch ${number}`}>
      <span className="members-name">
        <span>
          Branch {number}
          {isCurrent && <span className="badge">Current</span>}
          {isWorking && <span className="badge">Working</span>}
        </span>
        <small>
          {isShown && 'You are reading this one · '}
          {aboutBranch(branch)}
        </small>
      </span>
      <button type="button" className="button button-quiet" onClick={() => onShow(isCurrent ? null : number)}>
        Show texts
      </button>
      {!isWorking && button('Set as working', true, `Editors work on branch ${number} now.`)}
      {!isCurrent && button('Set as current', false, `Visitors see branch ${number} now.`)}
      <ActionFaults submission={submission} id={`${id}-fault`} className="branch-fault" />
    </li>
  );
}

// aboutBranch describes where a branch comes from, and its languages.
function aboutBranch({ copiedFrom, createdAt, locales }: BranchHeadFragment): string {
  const made = copiedFrom === null ? 'Created' : `Copied from branch ${copiedFrom},`;
  return [`${made} ${dateOf(createdAt)}`, ...(locales.length > 0 ? [locales.map(languageName).join(', ')] : [])].join(' · ');
}

interface NewBranchProps {
  contentId: string;
  branches: readonly BranchHeadFragment[];
  onCreated: () => Promise<unknown>;
}

function NewBranch({ contentId, branches, onCreated }: NewBranchProps) {
  const say = useSay();
  const submission = useSubmit(CreateBranchDocument, ['copyFrom']);
  // By default it is a copy of the current branch.
  const [chosen, setChosen] = useState<string | null>(null);
  const source = chosen ?? String(branches.find(({ isCurrent }) => isCurrent)?.number ?? '');
  const create = async () => {
    const payload = await submission.send({ contentId, ...(source !== '' && { copyFrom: Number(source) }) });
    if (!payload?.branch) return;
    say(`Branch ${payload.branch.number} was created.`);
    await onCreated();
  };
  return (
    <section className="new-branch" aria-label="New branch">
      <Form onSubmit={() => void create()} submission={submission} actions={<Submit busy={submission.busy}>Create branch</Submit>}>
        <SelectField label="New branch" value={source} onChange={setChosen} faults={submission.faults.copyFrom}>
          {branches.map(({ number, isCurrent }) => (
            <option key={number} value={number}>
              Copy of branch {number}
              {isCurrent && ' (current)'}
            </option>
          ))}
          <option value="">Empty</option>
        </SelectField>
      </Form>
    </section>
  );
}
