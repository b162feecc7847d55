// The frame around the pages: the navigation, the viewer, and warnings about the connection.
import { useEffect, useRef, useState, type RefObject } from 'react';
import { useApolloClient } from '@apollo/client/react';
import type { ModifierDetails } from '@apollo/client/cache';
import { graphiqlAddress } from './data/graphiql.ts';
import { samePage, type Place } from './data/routes.ts';
import type { CreatedItem, GroupName } from './pages/create-item.tsx';
import { useOpening } from './ui/dialog.tsx';
import { Plus, ThemeIcon, type Theme } from './ui/icons.tsx';
import type { ViewerQuery } from './generated/operations.ts';
import { here, To, useNavigation, useTitle } from './ui/navigation.tsx';
import { useOnline, useSay } from './ui/notices.tsx';
import { Panel } from './ui/panel.tsx';
import { PasteSecretsProvider } from './ui/paste-secrets.tsx';
import { SignInProvider, useMe, useSession } from './ui/session.tsx';
import { usePreference } from './ui/preference.ts';
import { Shortcuts, useShortcuts } from './ui/shortcuts.tsx';
import { Empty } from './ui/states.tsx';
import { named } from './ui/words.ts';
import { FindPage } from './pages/find.tsx';
import { GroupsPage, MembersPage } from './pages/groups.tsx';
import { HomePage } from './pages/home.tsx';
import { CreateItem } from './pages/create-item.tsx';
import { ItemPage } from './pages/item.tsx';
import { LibraryPage } from './pages/library.tsx';
import { NewestPage } from './pages/newest.tsx';
import { OpenPage } from './pages/open.tsx';
import { PastePage } from './pages/paste.tsx';
import { PastesPage } from './pages/pastes.tsx';
import { EditProfile } from './pages/profile.tsx';
import { CreateProfile, SignIn } from './pages/sign-in.tsx';

export function App() {
  const { place, go } = useNavigation();
  const client = useApolloClient();
  const { claims, expired, problem, signOut } = useSession();
  const me = useMe();
  const say = useSay();
  const { open, show, close } = useOpening<'shortcuts' | 'create' | 'profile'>();
  // Signing in does not close what is open: typed text is kept when a token expires.
  const signIn = useOpening<'sign-in'>();
  const askToSignIn = () => signIn.show('sign-in');
  const [createdId, setCreatedId] = useState('');
  const main = useFocusOnArrival(place, me);
  useShortcuts(() => show('shortcuts'));

  const created = (item: CreatedItem, group: GroupName | null) => {
    if (!me) return;
    const library = (held: object, { DELETE }: ModifierDetails) => ('edges' in held && here().id !== me.id ? DELETE : held);
    // If the library is shown, it gets an event or reads the item; if not, it is read again.
    client.cache.modify({ id: client.cache.identify({ __typename: 'User', id: me.id }), fields: { library } });
    setCreatedId(item.id);
    // If the reader has closed the dialog meanwhile, the item is not opened.
    if (close()) go({ name: 'library', id: group?.id ?? me.id, item: item.id }, { opened: true });
    say(group ? `${named(item.title)} is in your library, and shared with ${group.displayName}.`
      : `${named(item.title)} is in your library.`);
  };

  const groupId = (place.name === 'library' || place.name === 'members') && place.id.startsWith('g:') ? place.id : null;
  return (
    <SignInProvider open={askToSignIn}>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <Banner me={me} onSignIn={askToSignIn} onCreate={() => show('create')} />
      <Warnings expired={expired} problem={problem} onSignIn={askToSignIn} />
      <main id="main" ref={main} tabIndex={-1}>
        {claims && me === null && place.name === 'home' ? (
          <CreateProfile claims={claims} />
        ) : (
          <PasteSecretsProvider>
            <Panel what="this page" of={place}>
              <Page place={place} createdId={createdId} onSignIn={askToSignIn} onCreate={() => show('create')} />
            </Panel>
          </PasteSecretsProvider>
        )}
      </main>
      <Foot place={place} onShortcuts={() => show('shortcuts')} />
      {open === 'shortcuts' && <Shortcuts onClose={close} />}
      {open === 'create' && claims && <CreateItem tenant={claims.tenant} groupId={groupId} onClose={close} onDone={created} />}
      {open === 'profile' && me && (
        <EditProfile
          id={me.id}
          onClose={close}
          onDone={() => {
            close();
            say('Saved.');
          }}
          onDeleted={() => {
            close();
            say('Your account was deleted.');
            signOut();
            go({ name: 'home' });
          }}
        />
      )}
      {signIn.open && <SignIn onClose={signIn.close} onProfile={me ? () => show('profile') : undefined} />}
    </SignInProvider>
  );
}

interface PageProps {
  place: Place;
  createdId: string;
  onSignIn: () => void;
  onCreate: () => void;
}

function Page({ place, createdId, onSignIn, onCreate }: PageProps) {
  switch (place.name) {
    case 'home':
      return <HomePage onSignIn={onSignIn} />;
    case 'library':
      return <LibraryPage key={place.id} place={place} createdId={createdId} onSignIn={onSignIn} onCreate={onCreate} />;
    case 'members':
      return <MembersPage key={place.id} id={place.id} onSignIn={onSignIn} />;
    case 'item':
      return <ItemPage key={place.id} id={place.id} />;
    case 'groups':
      return <GroupsPage onSignIn={onSignIn} />;
    case 'find':
      return <FindPage q={place.q} />;
    case 'open':
      return <OpenPage place={place} onSignIn={onSignIn} />;
    case 'newest':
      return <NewestPage place={place} />;
    case 'pastes':
      return <PastesPage />;
    case 'paste':
      return <PastePage key={place.id} id={place.id} />;
    default:
      return <UnknownPage />;
  }
}

function UnknownPage() {
  useTitle('Page not found');
  return (
    <Empty heading="Page not found" level="h1">
      <p>
        There is no page at this address. <To place={{ name: 'home' }}>Go to the start page</To>,
          or <To place={{ name: 'find', q: '' }}>search</To>.
      </p>
    </Empty>
  );
}

const themes: [Theme, Theme, Theme] = ['system', 'light', 'dark'];

interface BannerProps {
  me: ViewerQuery['viewer'] | undefined;
  onSignIn: () => void;
  onCreate: () => void;
}

function Banner({ me, onSignIn, onCreate }: BannerProps) {
  const { place } = useNavigation();
  const { signedIn, name, claims } = useSession();
  const [theme, chooseTheme] = usePreference('theme', themes);
  const stepTheme = () => chooseTheme(themes[themes.indexOf(theme) + 1] ?? themes[0]);
  // Until the gateway has said who the viewer is, or if it cannot, the links are shown to the
  // user that the token names; not to one that the gateway does not know.
  const id = me === undefined ? claims?.id : me?.id;
  const current = (yes: boolean) => (yes ? 'page' : undefined);
  return (
    <header className="banner">
      <To className="wordmark" place={{ name: 'home' }}>
        Carrel
      </To>
      <nav className="ways" aria-label="Main">
        {id && (
          <To place={{ name: 'library', id }} aria-current={current(place.name === 'library' && place.id === id)}>
            My library
          </To>
        )}
        {id && (
          <To place={{ name: 'groups' }} aria-current={current(place.name === 'groups')}>
            Groups
          </To>
        )}
        <To place={{ name: 'find', q: '' }} aria-current={current(place.name === 'find')}>
          Search
        </To>
        <To place={{ name: 'newest', tenant: '' }} aria-current={current(place.name === 'newest')}>
          Newest
        </To>
        <To place={{ name: 'pastes' }} aria-current={current(place.name === 'pastes' || place.name === 'paste')}>
          Pastes
        </To>
      </nav>
      <div className="banner-end">
        {me && (
          <button type="button" className="button" aria-label="New" onClick={onCreate}>
            <Plus /> <span className="new-label">New</span>
          </button>
        )}
        <button type="button" className="icon-button" aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`} onClick={stepTheme}>
          <ThemeIcon of={theme} />
        </button>
        <button type="button" className="who" aria-haspopup="dialog" onClick={onSignIn}>
          {signedIn ? (me?.displayName ?? name) : 'Sign in'}
        </button>
      </div>
    </header>
  );
}

const servesGraphiQL = (document.documentElement.dataset.pages ?? '').split(' ').includes('graphiql');

function Foot({ place, onShortcuts }: { place: Place; onShortcuts: () => void }) {
  return (
    <footer className="foot">
      <button type="button" className="button button-quiet" aria-haspopup="dialog" onClick={onShortcuts}>
        Keyboard shortcuts
      </button>
      {servesGraphiQL && <a href={graphiqlAddress(place)}>Open in GraphiQL</a>}
      {servesGraphiQL && <a href="/?docs">API documentation</a>}
    </footer>
  );
}

function Warnings({ expired, problem, onSignIn }: { expired: boolean; problem: string; onSignIn: () => void }) {
  const online = useOnline();
  return (
    <div className="warnings" role="status">
      {!online && <p>You are offline. What you see may have changed since.</p>}
      {(problem || expired) && (
        <p>
          {problem || 'Your sign-in has expired.'}{' '}
          <button type="button" className="button" onClick={onSignIn}>
            {problem ? 'Sign in' : 'Sign in again'}
          </button>
        </p>
      )}
    </div>
  );
}

// justLoaded reports whether the browser has loaded the page for the present viewer: signing in
// starts with a new App.
let justLoaded = true;

// useFocusOnArrival moves focus to a page when the reader navigates to it, as a browser does
// when it loads one, and when signing in has replaced what had focus. A signed-in reader who loads
// the start page is redirected and has navigated to one page only: focus stays at its top, where
// the Tab key starts. One who creates a profile there has pressed a button that leaves.
function useFocusOnArrival(place: Place, me: ViewerQuery['viewer'] | undefined): RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  const last = useRef(place);
  const loading = useRef(justLoaded && place.name === 'home');
  useEffect(() => {
    if (!justLoaded && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    justLoaded = false;
  }, []);
  useEffect(() => {
    if (me === null) loading.current = false;
  }, [me]);
  useEffect(() => {
    if (samePage(last.current, place)) return;
    const redirected = loading.current && document.activeElement === document.body;
    if (!redirected) main.current?.focus({ preventScroll: true });
    loading.current = false;
    last.current = place;
  }, [place]);
  return main;
}
