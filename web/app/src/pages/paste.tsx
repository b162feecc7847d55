// One paste: its text, and its actions.
import { useRef, useState } from 'react';
import { useQuery } from '@apollo/client/react';
import { languageNames, languageOfTitle, longestColoured } from '../data/languages.ts';
import { hasExpired, rawAddress } from '../data/pastes.ts';
import { addressOf } from '../data/routes.ts';
import { PasteDocument, type PasteQuery, type WholePasteFragment } from '../generated/operations.ts';
import { Code, useColours } from '../ui/code.tsx';
import { useCopyLink } from '../ui/copy-link.tsx';
import { Dialog, useOpening } from '../ui/dialog.tsx';
import { Back } from '../ui/icons.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { useSay } from '../ui/notices.tsx';
import { usePasteSecrets } from '../ui/paste-secrets.tsx';
import { useReadAgain } from '../ui/read-again.ts';
import { Empty, Failed, Loading, Outdated } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.ts';
import { dateOf, pasteTitle } from '../ui/words.ts';
import { DeletePaste, EditPaste } from './edit-paste.tsx';
import { useNow } from './use-pastes.ts';

export function PastePage({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(PasteDocument, { variables: { id }, fetchPolicy: 'cache-and-network',
    nextFetchPolicy: 'cache-first' });
  const paste = data?.paste;
  const now = useNow(paste ? [paste] : []);
  const gone = data !== undefined && (!paste || hasExpired(paste, now));
  useTitle(gone ? 'Not found' : paste ? pasteTitle(paste.title) : undefined);
  useReadAgain(() => refetch());
  // A dialog stays open when its paste is gone, so that typed text is not lost.
  const seen = useRef<WholePasteFragment>(null);
  if (paste) seen.current = paste;
  if (seen.current) return <Shown paste={seen.current} gone={gone} error={error} reread={refetch} />;
  if (gone) return <Gone />;
  return <article
    className="page">{error ? <Failed error={error} onRetry={() => refetch()} heading="Could not load the paste" />
      : <Loading what="Loading..." lines={8} />}</article>;
}

function Gone() {
  return (
    <article className="page">
      <Empty heading="Paste not found" level="h1">
        <p>
          There is no paste with this link. It may have expired or been deleted. <To place={{ name: 'pastes' }}>See the newest pastes</To>.
        </p>
      </Empty>
    </article>
  );
}

interface ShownProps {
  paste: WholePasteFragment;
  gone: boolean;
  error: unknown;
  reread: () => Promise<{ data?: PasteQuery | undefined }>;
}

// Shown shows a paste and, also when the paste is gone, the dialog that is open.
function Shown({ paste, gone, error, reread }: ShownProps) {
  const { go } = useNavigation();
  const say = useSay();
  const { open, show, close } = useOpening<'edit' | 'delete'>();
  return (
    <>
      {gone ? <Gone /> : <Whole paste={paste} error={error} reread={reread} show={show} />}
      {open === 'edit' && <EditPaste paste={paste} reread={reread} onClose={close} onDone={() => (close(), say('Saved.'))} />}
      {open === 'delete' && (
        <DeletePaste
          paste={paste}
          onClose={close}
          onDone={() => {
            say('The paste was deleted.');
            if (close()) go({ name: 'pastes' }, { replace: true });
          }}
        />
      )}
    </>
  );
}

function Whole({ paste, error, reread, show }: Omit<ShownProps, 'gone'> & { show: (dialog: 'edit' | 'delete') => void }) {
  const { copy, byHand } = useCopyLink();
  const title = useRef<HTMLHeadingElement>(null);
  const [hasLink, setHasLink] = useState(false);
  const linkCopied = () => setHasLink(true);
  return (
    <article className="page page-wide">
      <To className="back" place={{ name: 'pastes' }}>
        <Back /> Pastes
      </To>
      <header>
        <h1 ref={title} tabIndex={-1}>
          {pasteTitle(paste.title)}
        </h1>
        <Facts paste={paste} />
      </header>
      {error !== undefined && <Outdated error={error} onRetry={reread} />}
      <Created paste={paste} hasLink={hasLink} onLink={linkCopied} onSaved={() => title.current?.focus()} />
      <div className="actions">
        <button type="button" className="button" onClick={() => copy('Text', paste.body)}>
          Copy text
        </button>
        <button type="button" className="button" onClick={() => copy('Link', linkTo(paste.id), linkCopied)}>
          Copy link
        </button>
        <a className="button" href={rawAddress(paste.id)}>
          Plain text
        </a>
        <button type="button" className="button" aria-haspopup="dialog" onClick={() => show('edit')}>
          Edit…
        </button>
        <button type="button" className="button button-danger" aria-haspopup="dialog" onClick={() => show('delete')}>
          Delete…
        </button>
      </div>
      {byHand}
      <Text paste={paste} />
    </article>
  );
}

const linkTo = (id: string) => location.origin + addressOf({ name: 'paste', id });

function Facts({ paste }: { paste: WholePasteFragment }) {
  return (
    <p className="library-about">
      {paste.isPrivate ? 'Unlisted' : 'Public'} · Created <time dateTime={paste.createdAt}>{dateOf(paste.createdAt)}</time>
      {paste.version > 1 && (
        <>
          {' · '}Changed <time dateTime={paste.modifiedAt}>{dateOf(paste.modifiedAt)}</time>
        </>
      )}
      {paste.expiresAt && (
        <>
          {' · '}Expires <time dateTime={paste.expiresAt}>{dateOf(paste.expiresAt)}</time>
        </>
      )}
    </p>
  );
}

interface CreatedProps {
  paste: WholePasteFragment;
  // hasLink: the reader has copied the link.
  hasLink: boolean;
  onLink: () => void;
  onSaved: () => void;
}

// Created shows, once, the link and the secret of a paste that was just created.
function Created({ paste: { id, isPrivate }, hasLink, onLink, onSaved }: CreatedProps) {
  const { of, keep } = usePasteSecrets();
  const { copy, byHand } = useCopyLink();
  const kept = of(id);
  const [leaving, setLeaving] = useState<{ proceed: () => void } | null>(null);
  const [copied, setCopied] = useState(false);
  // A paste in no list is found again only by its link.
  const lost = !kept?.fresh ? [] : [...(isPrivate && !hasLink ? ['link'] : []), ...(kept.secret && !copied ? ['secret'] : [])];
  useUnsaved(lost.length > 0, (proceed) => setLeaving({ proceed }));
  if (!kept?.fresh) return null;
  const { secret } = kept;
  const close = () => {
    keep(id, { secret, fresh: false });
    onSaved();
  };
  const leave = () => {
    setLeaving(null);
    leaving?.proceed();
  };
  return (
    <section className="paste-created" aria-labelledby="paste-created">
      <h2 id="paste-created">Paste created</h2>
      {secret ? (
        <p>
          {isPrivate && 'Keep the link: the paste is in no list. '}
          Keep the secret. It is shown here once: without it, nobody can change or delete the paste.
        </p>
      ) : (
        <p>
          The connection was lost before the secret arrived, and it is not sent again. The paste cannot be changed or deleted.
        </p>
      )}
      <dl>
        <div>
          <dt>Link</dt>
          <dd>
            <code>{linkTo(id)}</code>
            <button type="button" className="button" aria-label="Copy the link" onClick={() => copy('Link', linkTo(id), onLink)}>
              Copy
            </button>
          </dd>
        </div>
        {secret && (
          <div>
            <dt>Secret</dt>
            <dd>
              <code>{secret}</code>
              <button type="button" className="button" aria-label="Copy the secret"
                onClick={() => copy('Secret', secret, () => setCopied(true))}>
                Copy
              </button>
            </dd>
          </div>
        )}
      </dl>
      {byHand}
      <button type="button" className="button button-main" onClick={close}>
        {!secret ? 'Close' : isPrivate ? 'I have saved the link and the secret' : 'I have saved the secret'}
      </button>
      {leaving && (
        <Dialog title={`Leave without ${lost.map((what) => `its ${what}`).join(' and ')}?`} onClose={() => setLeaving(null)}>
          <div className="dialog-text">
            {lost.includes('link') && <p>The paste is in no list. Without its link, nobody can open it.</p>}
            {lost.includes('secret') && <p>The secret is shown only here. Without it, nobody can change or delete the paste.</p>}
            <div className="dialog-actions">
              <button type="button" className="button" data-autofocus onClick={() => setLeaving(null)}>
                Stay
              </button>
              <button type="button" className="button button-danger button-filled" onClick={leave}>
                Leave
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </section>
  );
}

const automatic = 'automatic';
const none = 'none';

// Text shows the text with syntax highlighting, in the language of its title, in
// the language that is guessed, or in the one that the reader chooses.
function Text({ paste }: { paste: WholePasteFragment }) {
  const [chosen, setChosen] = useState(automatic);
  const named = languageOfTitle(paste.title) ?? undefined;
  const { tokens, language } = useColours(paste.body, chosen === automatic ? named : chosen === none ? null : chosen);
  const found = language === null ? 'plain text' : languageNames[language];
  const tooLong = paste.body.length > longestColoured;
  return (
    <section className="paste-text" aria-label="Text of the paste">
      {tooLong ? (
        <p className="hint">This text is too long for syntax highlighting.</p>
      ) : (
        <label className="paste-language">
          Language{' '}
          <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value={automatic}>{chosen === automatic ? `Automatic: ${found}` : 'Automatic'}</option>
            <option value={none}>Plain text</option>
            {Object.entries(languageNames).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Code text={paste.body} tokens={tokens} />
    </section>
  );
}
