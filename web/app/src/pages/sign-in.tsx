// Signing in.
import { useEffect, useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { CreateUserDocument, type LibraryVisibility } from '../generated/operations.ts';
import { inWords, type Faults } from '../data/faults.ts';
import { claimsOf, type Claims } from '../data/tokens.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Form, Submit, TextField, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { useTitle } from '../ui/navigation.tsx';
import { useMe, useSession, type DemoViewer } from '../ui/session.tsx';
import { unsavedGuard } from '../ui/unsaved.ts';
import { Monogram } from '../ui/states.tsx';

type Act = () => void;

export function SignIn({ onClose, onProfile }: { onClose: () => void; onProfile: (() => void) | undefined }) {
  const session = useSession();
  const { provider, paste, viewers, name, demo, signedIn, expired, claims, signInAs, signOut } = session;
  const me = useMe();
  // Signing in as another viewer renders a new page: what was typed would be lost.
  const leave = (act: Act) => {
    const guard = unsavedGuard();
    if (guard) guard(act);
    else act();
  };
  const choose = (viewer: DemoViewer) => {
    const act = () => (onClose(), signInAs(viewer));
    if (claimsOf(viewer.token)?.id === claims?.id) act();
    else leave(act);
  };
  return (
    <Dialog title={expired ? 'Sign in again' : signedIn ? 'Signed in' : 'Sign in'} onClose={onClose}>
      <div className="sign-in">
        {signedIn && (
          <div className="sign-in-who">
            <p>
              {expired ? 'Your sign-in has expired. You were' : 'You are'} <b>{me?.displayName ?? name}</b>.
            </p>
            <div className="actions">
              {onProfile && !expired && (
                <button type="button" className="button" onClick={() => leave(() => (onClose(), onProfile()))}>
                  Edit profile…
                </button>
              )}
              <button type="button" className="button" onClick={() => leave(() => (onClose(), signOut()))}>
                Sign out
              </button>
            </div>
          </div>
        )}
        {provider && !signedIn && <AtProvider leave={leave} host={provider.host} />}
        {provider && signedIn && expired && <AgainAtProvider leave={leave} host={provider.host} onClose={onClose} />}
        {viewers.length > 0 && (
          <section aria-labelledby="demo-viewers">
            <h3 id="demo-viewers">Demo users</h3>
            <ul className="viewers">
              {viewers
                .filter(({ token }) => token)
                .map((viewer) => (
                  <li key={viewer.name}>
                    <button
                      type="button"
                      aria-current={demo && viewer.name === name ? 'true' : undefined}
                      onClick={() => choose(viewer)}
                    >
                      <Monogram id={claimsOf(viewer.token)?.id ?? ''} name={viewer.name} />
                      <span>
                        <b>{viewer.name}</b>
                        <small>{inWords(viewer.description)}</small>
                      </span>
                    </button>
                  </li>
                ))}
            </ul>
          </section>
        )}
        {paste && <TokenForm onClose={onClose} leave={leave} autoFocus={!provider && viewers.length === 0} />}
      </div>
    </Dialog>
  );
}

// AgainAtProvider does so in another tab if there is unsaved text: it stays in this one.
function AgainAtProvider({ leave, host, onClose }: { leave: (act: Act) => void; host: string; onClose: () => void }) {
  const { signInElsewhere } = useSession();
  const [unsaved] = useState(() => unsavedGuard() !== undefined);
  const [address, setAddress] = useState('');
  const [fault, setFault] = useState('');
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!unsaved) return undefined;
    const ending = new AbortController();
    void signInElsewhere(tries > 0, setAddress, ending.signal).then((sentence) => {
      if (ending.signal.aborted) return;
      if (sentence) setFault(sentence);
      else onClose();
    });
    return () => ending.abort();
  }, [unsaved, tries]);
  if (!unsaved) return <AtProvider leave={leave} host={host} />;
  const again = () => {
    setFault('');
    setAddress('');
    setTries(tries + 1);
  };
  return (
    <>
      <p>
        You sign in at <b>{host}</b> in another tab. What you typed stays here.
      </p>
      <div role="alert">{fault && <p className="fault">{fault}</p>}</div>
      <div className="actions">
        {fault && (
          <button type="button" className="button button-main" onClick={again}>
            Try again
          </button>
        )}
        {!fault && address && (
          <a className="button button-main" href={address} target="_blank" rel="noreferrer">
            Continue in another tab
          </a>
        )}
      </div>
    </>
  );
}

// AtProvider leads to the provider. A reader who comes back is at the same address.
function AtProvider({ leave, host }: { leave: (act: Act) => void; host: string }) {
  const { problem, signInAtProvider } = useSession();
  const [state, setState] = useState<{ busy: boolean; faults: Faults }>({
    busy: false,
    faults: problem ? { form: [problem] } : {},
  });
  const go = async () => {
    setState({ busy: true, faults: {} });
    const fault = await signInAtProvider();
    // Without a fault the page is about to be left.
    if (fault) setState({ busy: false, faults: { form: [fault] } });
  };
  return (
    <Form
      onSubmit={() => leave(() => void go())}
      submission={state}
      actions={<Submit busy={state.busy}>{state.faults.form ? 'Try again' : 'Continue'}</Submit>}
    >
      <p>
        You sign in at <b>{host}</b>, and come back to this page.
      </p>
    </Form>
  );
}

function TokenForm({
  onClose,
  leave,
  autoFocus,
}: {
  onClose: () => void;
  leave: (act: Act) => void;
  autoFocus: boolean;
}) {
  const { claims, signInWith } = useSession();
  const [token, setToken] = useState('');
  const [state, setState] = useState<{ busy: boolean; faults: Faults<'token'> }>({ busy: false, faults: {} });
  const signIn = () => {
    const id = claimsOf(token)?.id;
    // A token that names no user is only refused.
    if (!id || id === claims?.id) void send();
    else leave(() => void send());
  };
  const send = async () => {
    setState({ busy: true, faults: {} });
    const fault = await signInWith(token);
    if (fault) setState({ busy: false, faults: { token: [fault] } });
    else onClose();
  };
  return (
    <Form onSubmit={signIn} submission={state} actions={<Submit busy={state.busy}>Sign in</Submit>}>
      <TextField
        label="Access token"
        hint="The token that you were given to sign in with. It is kept until you close this tab."
        rows={3}
        spellCheck={false}
        autoCapitalize="none"
        value={token}
        onChange={(event) => setToken(event.target.value)}
        faults={state.faults.token}
        autoFocus={autoFocus}
      />
    </Form>
  );
}

// CreateProfile creates the user of a token that has none yet.
export function CreateProfile({ claims }: { claims: Claims }) {
  const client = useApolloClient();
  useTitle('Welcome');
  const submission = useSubmit(CreateUserDocument, ['displayName', 'email', 'visibility', 'name']);
  const [displayName, setDisplayName] = useState('');
  const [email, setEmail] = useState('');
  const [visibility, setVisibility] = useState<LibraryVisibility>('LOGGEDIN');
  const name = claims.id.slice(`u:${claims.tenant}:`.length);
  const save = async () => {
    const payload = await submission.send({ tenant: claims.tenant, name, displayName, email, visibility });
    if (payload) await client.refetchQueries({ include: 'active' });
  };
  return (
    <article className="page">
      <h1>Welcome</h1>
      <p>
        You are signed in to {claims.tenant}, and have no profile yet. Create one to get a library of your own. Until then
        you can only read, and create pastes.
      </p>
      <Form onSubmit={save} submission={submission} actions={<Submit busy={submission.busy}>Create my profile</Submit>}>
        <TextField
          label="Name"
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          faults={[...(submission.faults.displayName ?? []), ...(submission.faults.name ?? [])]}
        />
        <TextField
          label="Email"
          hint="Only you and administrators can see it."
          type="email"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          faults={submission.faults.email}
        />
        <VisibilityChoice
          value={visibility}
          onChange={setVisibility}
          tenant={claims.tenant}
          what="user"
          faults={submission.faults.visibility}
        />
      </Form>
    </article>
  );
}
