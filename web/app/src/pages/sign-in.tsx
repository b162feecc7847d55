// Signing in.
import { useState } from 'react';
import { useApolloClient } from '@apollo/client/react';
import { CreateUserDocument, type LibraryVisibility } from '../generated/operations.ts';
import type { Faults } from '../data/faults.ts';
import { claimsOf, type Claims } from '../data/tokens.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Form, Submit, TextField, useSubmit, VisibilityChoice } from '../ui/forms.tsx';
import { useSession, type DemoViewer } from '../ui/session.tsx';
import { unsavedGuard } from '../ui/unsaved.ts';
import { Monogram } from '../ui/states.tsx';

type Act = () => void;

export function SignIn({ onClose, onProfile }: { onClose: () => void; onProfile: (() => void) | undefined }) {
  const session = useSession();
  const { viewers, name, demo, signedIn, expired, claims, signInAs, signOut } = session;
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
              {expired ? 'Your token has expired. You were' : 'You are'} <b>{name}</b>.
            </p>
            <div className="actions">
              {onProfile && (
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
        {viewers.length > 0 && (
          <section aria-labelledby="demo-viewers">
            <h3 id="demo-viewers">Demo users</h3>
            <ul className="viewers">
              {viewers
                .filter(({ token }) => token)
                .map((viewer) => (
                  <li key={viewer.name}>
                    <button type="button" aria-current={demo && viewer.name === name ? 'true' : undefined} onClick={() => choose(viewer)}>
                      <Monogram id={claimsOf(viewer.token)?.id ?? ''} name={viewer.name} />
                      <span>
                        <b>{viewer.name}</b>
                        <small>{viewer.description}</small>
                      </span>
                    </button>
                  </li>
                ))}
            </ul>
          </section>
        )}
        <TokenForm onClose={onClose} leave={leave} autoFocus={viewers.length === 0} />
      </div>
    </Dialog>
  );
}

function TokenForm({ onClose, leave, autoFocus }: { onClose: () => void; leave: (act: Act) => void; autoFocus: boolean }) {
  const { claims, signInWith } = useSession();
  const [token, setToken] = useState('');
  const [state, setState] = useState<{ busy: boolean; faults: Faults<'token'> }>({ busy: false, faults: {} });
  const signIn = () => {
    if (!claims || claimsOf(token)?.id === claims.id) send();
    else leave(send);
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
        hint="A bearer token from your identity provider. It is kept until you close this tab."
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
        You are signed in as {claims.id}, which has no profile yet. Create one to get a library of your own. Until then you can only read.
      </p>
      <Form onSubmit={save} submission={submission} actions={<Submit busy={submission.busy}>Create my profile</Submit>}>
        <TextField label="Name" value={displayName} onChange={(event) => setDisplayName(event.target.value)} faults={[...(submission.faults.displayName ?? []), ...(submission.faults.name ?? [])]} />
        <TextField label="Email" type="email" value={email} onChange={(event) => setEmail(event.target.value)} faults={submission.faults.email} />
        <VisibilityChoice value={visibility} onChange={setVisibility} tenant={claims.tenant} what="user" faults={submission.faults.visibility} />
      </Form>
    </article>
  );
}
