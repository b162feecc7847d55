// The newest public pastes, and creating a new one.
import { useCallback, useRef } from 'react';
import type { FollowStatus } from 'carrel-client';
import { Plus } from '../ui/icons.tsx';
import { useOpening } from '../ui/dialog.tsx';
import { To, useNavigation, useTitle } from '../ui/navigation.tsx';
import { usePasteSecrets } from '../ui/paste-secrets.tsx';
import { Empty, Failed, Loading, Outdated, ShowMore } from '../ui/states.tsx';
import { dateOf, newPastes, pasteTitle } from '../ui/words.ts';
import type { PasteSummaryFragment } from '../generated/operations.ts';
import { NewPaste } from './new-paste.tsx';
import { usePastes } from './use-pastes.ts';

const liveWords: Record<FollowStatus, string> = {
  live: 'New pastes appear here as they are created.',
  reconnecting: 'The connection for live updates is lost. Reconnecting...',
  failed: 'Live updates are off. Reload the page to see new pastes.',
};

export function PastesPage() {
  useTitle('Pastes');
  const { go } = useNavigation();
  const { keep } = usePasteSecrets();
  const { open, show, close } = useOpening<'new'>();
  const head = useRef<HTMLElement>(null);
  const atTop = useCallback(() => (head.current?.getBoundingClientRect().bottom ?? 0) > 0, []);
  const list = usePastes(atTop);
  return (
    <article className="page">
      <header className="page-head" ref={head}>
        <div>
          <h1>Pastes</h1>
          <p className="library-about">
            Public texts, the newest first
            {list.live && (
              <span className={`live live-${list.live}`} title={liveWords[list.live]}>
                <span className="hidden">{liveWords[list.live]}</span>
                <span aria-hidden="true">{{ live: 'Live', reconnecting: 'Reconnecting', failed: 'Not live' }[list.live]}</span>
              </span>
            )}
          </p>
        </div>
        <button type="button" className="button button-main" aria-haspopup="dialog" onClick={() => show('new')}>
          <Plus /> New paste
        </button>
      </header>
      <PasteList list={list} onShow={() => (list.show(), scrollTo(0, 0))} />
      {open === 'new' && (
        <NewPaste
          onClose={close}
          onDone={({ id }, secret) => {
            keep(id, { secret, fresh: true });
            if (close()) go({ name: 'paste', id });
          }}
        />
      )}
    </article>
  );
}

function PasteList({ list: { pastes, waiting, error, reread, more }, onShow }: { list: ReturnType<typeof usePastes>; onShow: () => void }) {
  const list = useRef<HTMLUListElement>(null);
  if (!pastes) return error ? <Failed error={error} onRetry={reread} heading="Could not load the pastes" />
    : <Loading what="Loading..." lines={6} />;
  return (
    <>
      {error !== undefined && <Outdated error={error} onRetry={reread} />}
      {waiting > 0 && (
        <button type="button" className="button button-main pastes-new" onClick={onShow}>
          {newPastes(waiting)}
        </button>
      )}
      <p className="hidden" role="status">
        {waiting > 0 && newPastes(waiting)}
      </p>
      {pastes.length === 0 && !more && (
        <Empty heading="No pastes yet">
          <p>Public pastes appear here. An unlisted paste can be opened only by its link.</p>
        </Empty>
      )}
      <ul className="pastes" ref={list}>
        {pastes.map((paste) => (
          <PasteRow key={paste.id} paste={paste} />
        ))}
      </ul>
      {more && <ShowMore list={list} onMore={more} />}
    </>
  );
}

function PasteRow({ paste }: { paste: PasteSummaryFragment }) {
  return (
    <li data-paste={paste.id}>
      <To place={{ name: 'paste', id: paste.id }}>{pasteTitle(paste.title)}</To>
      <small>
        <time dateTime={paste.createdAt}>{dateOf(paste.createdAt)}</time>
        {paste.expiresAt && (
          <>
            {' · '}Expires <time dateTime={paste.expiresAt}>{dateOf(paste.expiresAt)}</time>
          </>
        )}
      </small>
    </li>
  );
}
