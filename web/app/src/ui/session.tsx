// The session. The tokens of demo viewers are fetched from the gateway, which issues them only
// in development; other tokens are pasted. The session lasts until the tab is closed.
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { ApolloProvider, useQuery } from '@apollo/client/react';
import { CarrelClient, UnauthenticatedError, ViewerDocument as viewerDocument } from 'carrel-client';
import { connect, type Connection } from '../data/client.ts';
import { ViewerDocument, type ViewerQuery } from '../generated/operations.ts';
import { claimsOf, type Claims } from '../data/tokens.ts';
import { explain } from '../data/faults.ts';
import { isOnline } from '../data/network.ts';
import { useProvided } from './provided.ts';

// DemoViewer is a user for whom the gateway issues tokens.
export interface DemoViewer {
  name: string;
  description: string;
  token: string;
}

// Who is the viewer of the client's requests: anonymous if the token is empty.
interface Who {
  name: string;
  token: string;
  demo: boolean;
}

interface SessionValue {
  viewers: DemoViewer[];
  name: string;
  demo: boolean;
  signedIn: boolean;
  claims: Claims | null;
  expired: boolean;
  signInAs: (viewer: DemoViewer) => void;
  signInWith: (token: string) => Promise<string>;
  signOut: () => void;
}

const Session = createContext<SessionValue | null>(null);
const STORE = 'carrel.app.session';
const anonymous: Who = { name: '', token: '', demo: false };
const hasDemoViewers = document.documentElement.dataset.viewers === 'demo';

export function SessionProvider({ children }: { children: ReactNode }) {
  const [viewers, setViewers] = useState<DemoViewer[]>([]);
  const [who, setWho] = useState<Who | null>(null);
  const [expired, setExpired] = useState(false);

  const change = useCallback((next: Who) => {
    remember(next);
    setExpired(false);
    setWho(next);
  }, []);

  useEffect(() => {
    let gone = false;
    begin().then(({ list, first }) => {
      if (gone) return;
      setViewers(list);
      setWho(first);
    });
    return () => {
      gone = true;
    };
  }, []);

  const signInWith = useCallback(
    async (token: string) => {
      const claims = claimsOf(token);
      if (!claims) return 'This is not a user token. A token has three parts, separated by dots, and its subject is u:TENANT:NAME.';
      const fault = await tryToken(token);
      if (!fault) change({ name: claims.id, token: token.trim(), demo: false });
      return fault;
    },
    [change],
  );

  const value = useMemo(
    () => ({
      viewers,
      name: who?.name ?? '',
      demo: Boolean(who?.demo),
      signedIn: Boolean(who?.token),
      claims: who?.token ? claimsOf(who.token) : null,
      expired,
      signInAs: (viewer: DemoViewer) => change({ name: viewer.name, token: viewer.token, demo: true }),
      signInWith,
      signOut: () => change(anonymous),
    }),
    [viewers, who, expired, change, signInWith],
  );

  if (!who) return <p className="waiting" role="status">Loading...</p>;
  return (
    <Session value={value}>
      <ConnectionProvider key={viewerOf(who)} who={who} onExpired={() => setExpired(true)}>
        {children}
      </ConnectionProvider>
    </Session>
  );
}

// begin returns the demo viewers, and who was signed in before the page was loaded.
async function begin(): Promise<{ list: DemoViewer[]; first: Who }> {
  const list = hasDemoViewers ? await demoViewers().catch(() => []) : [];
  const kept = recall();
  if (kept?.demo) {
    const viewer = list.find(({ name, token }) => name === kept.name && token);
    return { list, first: viewer ? { name: viewer.name, token: viewer.token, demo: true } : anonymous };
  }
  return { list, first: kept?.token && claimsOf(kept.token) ? { ...anonymous, ...kept } : anonymous };
}

async function demoViewers(): Promise<DemoViewer[]> {
  const answer = await fetch('/dev/viewers', { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`/dev/viewers answered ${answer.status}`);
  return (await answer.json()).viewers;
}

// tryToken asks the gateway whether it accepts a token. It returns '' if so, and otherwise the
// message for the reader.
async function tryToken(token: string): Promise<string> {
  try {
    await new CarrelClient({ url: '/graphql', token: () => token.trim(), retries: 0 }).execute(viewerDocument, {});
    return '';
  } catch (fault) {
    if (fault instanceof UnauthenticatedError)
      return 'The gateway does not accept this token. It may have expired, or have another issuer.';
    return explain(fault, { online: isOnline() }).text;
  }
}

const ConnectionContext = createContext<Connection | null>(null);

// viewerOf identifies the viewer of a token. A new token of the same viewer leaves the page as
// it is, including typed text.
function viewerOf({ token }: Who): string {
  return token ? JSON.stringify(claimsOf(token)) : '';
}

// ConnectionProvider provides the connection of a viewer, and closes it with the session.
function ConnectionProvider({ who, onExpired, children }: { who: Who; onExpired: () => void; children: ReactNode }) {
  const latest = useRef({ who, token: who.token, onExpired });
  if (latest.current.who !== who) latest.current = { who, token: who.token, onExpired };
  latest.current.onExpired = onExpired;
  const [connection, setConnection] = useState<Connection | null>(null);

  useEffect(() => {
    const opened = connect({
      token: () => latest.current.token,
      async renew() {
        const { who } = latest.current;
        if (!who.demo) return '';
        const list = await demoViewers().catch(() => []);
        const fresh = list.find(({ name }) => name === who.name)?.token ?? '';
        if (fresh) latest.current.token = fresh;
        return fresh;
      },
      expired: () => latest.current.onExpired(),
    });
    setConnection(opened);
    return () => opened.close();
  }, []);

  // After a new token, the data that is shown is read again and subscriptions start again.
  const connected = useRef(who);
  useEffect(() => {
    if (connected.current === who) return;
    connected.current = who;
    setConnection((last) => last && { ...last });
    connection?.client.refetchQueries({ include: 'active' }).catch(() => {});
  }, [who, connection]);

  if (!connection) return null;
  return (
    <ConnectionContext value={connection}>
      <ApolloProvider client={connection.client}>{children}</ApolloProvider>
    </ConnectionContext>
  );
}

const SignInContext = createContext<() => void>(() => {});

// SignInProvider provides the function that opens the sign-in dialog.
export function SignInProvider({ open, children }: { open: () => void; children: ReactNode }) {
  return <SignInContext value={open}>{children}</SignInContext>;
}

// useSignIn returns a function that opens the sign-in dialog, above any other dialog.
export function useSignIn() {
  return use(SignInContext);
}

export function useSession(): SessionValue {
  return useProvided(Session);
}

export function useConnection(): Connection {
  return useProvided(ConnectionContext);
}

// useMe returns the signed-in user: undefined until it is known, null for an
// anonymous viewer and for a token whose user does not exist yet.
export function useMe(): ViewerQuery['viewer'] | undefined {
  const { signedIn } = useSession();
  const { data, previousData } = useQuery(ViewerDocument, { skip: !signedIn });
  return signedIn ? (data ?? previousData)?.viewer : null;
}

function remember({ name, token, demo }: Who) {
  try {
    if (!token) sessionStorage.removeItem(STORE);
    else sessionStorage.setItem(STORE, JSON.stringify(demo ? { name, demo } : { name, token, demo }));
  } catch {
    // Storage is disabled: the session lasts until the page is loaded again.
  }
}

function recall(): Partial<Who> | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORE) ?? 'null');
  } catch {
    return null;
  }
}
