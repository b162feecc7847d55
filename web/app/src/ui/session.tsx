// The session. Its token comes from the provider at which the reader signs in. In development, tokens of demo
// viewers are fetched from the gateway, and others can be pasted. The session lasts until the tab is closed.
import { createContext, use, useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { ApolloProvider, useQuery } from '@apollo/client/react';
import { CarrelClient, UnauthenticatedError, ViewerDocument as viewerDocument } from 'carrel-client';
import { connect, type Connection } from '../data/client.ts';
import { ViewerDocument, type ViewerQuery } from '../generated/operations.ts';
import {
  Provider,
  SignInError,
  answerFromAnotherTab,
  keepAttempt,
  type Arrival,
  type Grant,
  type ProviderSettings,
} from '../data/provider.ts';
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

// Who is the viewer of the client's requests: anonymous if the token is empty. A viewer who has signed in at the
// provider has a grant; its token is the token.
interface Who {
  name: string;
  token: string;
  demo: boolean;
  grant?: Grant;
}

// provider is the one at which readers sign in, and paste says whether tokens can be pasted. problem is a sentence
// about the last sign-in or sign-out at the provider, if it failed.
interface SessionValue {
  provider: Provider | null;
  paste: boolean;
  problem: string;
  viewers: DemoViewer[];
  name: string;
  demo: boolean;
  signedIn: boolean;
  claims: Claims | null;
  expired: boolean;
  signInAs: (viewer: DemoViewer) => void;
  signInWith: (token: string) => Promise<string>;
  // Goes to the provider in this tab. Returns a sentence if that fails.
  signInAtProvider: () => Promise<string>;
  // Waits until the same viewer has signed in in another tab, at the address that is passed to onAddress. Returns a
  // sentence if that fails. choose is as for Provider.begin.
  signInElsewhere: (choose: boolean, onAddress: (address: string) => void, signal: AbortSignal) => Promise<string>;
  signOut: () => void;
}

const Session = createContext<SessionValue | null>(null);
const STORE = 'carrel.app.session';
const anonymous: Who = { name: '', token: '', demo: false };
const hasDemoViewers = document.documentElement.dataset.viewers === 'demo';
const ways = JSON.parse(document.documentElement.dataset.signIn ?? '{}') as {
  paste?: boolean;
} & Partial<ProviderSettings>;
const provider = ways.issuer
  ? new Provider({ issuer: ways.issuer, clientId: ways.clientId ?? '', scope: ways.scope ?? '' })
  : null;

// renewalPause is how long after a failed renewal the next one is tried, and longestTimer the longest delay of a
// browser's timer, both in milliseconds.
const renewalPause = 15_000;
const longestTimer = 2 ** 31 - 1;

export function SessionProvider({ arrival, children }: { arrival: Arrival | null; children: ReactNode }) {
  const [viewers, setViewers] = useState<DemoViewer[]>([]);
  const [who, setWho] = useState<Who | null>(null);
  const [expired, setExpired] = useState(false);
  const [problem, setProblem] = useState('');
  const now = useRef<Who | null>(null);
  const renewing = useRef<Promise<string>>(undefined);

  const change = useCallback((next: Who) => {
    now.current = next;
    remember(next);
    setExpired(false);
    setProblem('');
    setWho(next);
  }, []);

  useEffect(() => {
    let gone = false;
    begin(arrival).then(({ list, first, fault }) => {
      if (gone) return;
      setViewers(list);
      change(first);
      setProblem(fault);
    });
    return () => {
      gone = true;
    };
  }, [arrival, change]);

  // renew returns a new token from the provider, or '' if there is none now.
  const renew = useCallback(() => {
    renewing.current ??= (async () => {
      const was = now.current;
      const next = was && (await renewed(was));
      if (!was || !next || next === was || now.current !== was) return '';
      change(next);
      return next.token === was.token ? '' : next.token;
    })().finally(() => (renewing.current = undefined));
    return renewing.current;
  }, [change]);

  // A token is renewed before it expires. While the provider cannot be reached, the renewal is tried again.
  useEffect(() => {
    const grant = who?.grant;
    if (!grant?.refreshToken || grant.renewAt === null) return undefined;
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const renewIn = (delay: number) => {
      if (!ended) timer = setTimeout(() => void renew().then(() => renewIn(renewalPause)), delay);
    };
    renewIn(Math.min(Math.max(grant.renewAt - Date.now(), 0), longestTimer));
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [who, renew]);

  const signInWith = useCallback(
    async (token: string) => {
      const claims = claimsOf(token);
      if (!claims)
        return 'This is not a user token. A token has three parts, separated by dots, and names a user of an organisation.';
      const fault = await tryToken(
        token,
        'The server does not accept this token. It may have expired, or be for another site.',
      );
      if (!fault) change({ name: claims.id, token: token.trim(), demo: false });
      return fault;
    },
    [change],
  );

  const signInAtProvider = useCallback(async () => {
    if (!provider) return '';
    try {
      const { address, attempt } = await provider.begin(location.pathname + location.search, problem !== '');
      keepAttempt(attempt);
      location.assign(address);
      return '';
    } catch (error) {
      return sentenceOf(error);
    }
  }, [problem]);

  const signInElsewhere = useCallback(
    async (choose: boolean, onAddress: (address: string) => void, signal: AbortSignal) => {
      if (!provider) return '';
      try {
        const { address, attempt } = await provider.begin('', choose);
        if (signal.aborted) return '';
        onAddress(address);
        const answer = await answerFromAnotherTab(attempt, signal);
        const next = await arrived(provider, { answer, attempt });
        if (next.name !== now.current?.name) return `That was ${next.name}. Here you were ${now.current?.name}.`;
        change(next);
        return '';
      } catch (error) {
        return sentenceOf(error);
      }
    },
    [change],
  );

  const signOut = useCallback(async () => {
    const grant = now.current?.grant;
    change(anonymous);
    if (!provider || !grant) return;
    const address = await provider.end(grant).catch(() => '');
    if (address) location.assign(address);
    else setProblem(`You are signed out here, but perhaps not at ${provider.host}.`);
  }, [change]);

  const value = useMemo(
    () => ({
      provider,
      paste: Boolean(ways.paste),
      problem,
      viewers,
      name: who?.name ?? '',
      demo: Boolean(who?.demo),
      signedIn: Boolean(who?.token),
      claims: who?.token ? claimsOf(who.token) : null,
      expired,
      signInAs: (viewer: DemoViewer) => change({ name: viewer.name, token: viewer.token, demo: true }),
      signInWith,
      signInAtProvider,
      signInElsewhere,
      signOut: () => void signOut(),
    }),
    [viewers, who, expired, problem, change, signInWith, signInAtProvider, signInElsewhere, signOut],
  );

  if (!who)
    return (
      <p className="waiting" role="status">
        Loading...
      </p>
    );
  return (
    <Session value={value}>
      <ConnectionProvider key={viewerOf(who)} who={who} renew={renew} onExpired={() => setExpired(true)}>
        {children}
      </ConnectionProvider>
    </Session>
  );
}

// begin returns the demo viewers, and who has arrived from the provider, or was signed in before the page was loaded.
// fault is a sentence about an arrival that failed.
async function begin(arrival: Arrival | null): Promise<{ list: DemoViewer[]; first: Who; fault: string }> {
  const list = hasDemoViewers ? await demoViewers().catch(() => []) : [];
  let fault = '';
  if (provider && arrival) {
    try {
      return { list, first: await arrived(provider, arrival), fault };
    } catch (error) {
      fault = sentenceOf(error);
    }
  }
  const kept = recall();
  if (kept?.demo) {
    const viewer = list.find(({ name, token }) => name === kept.name && token);
    return { list, first: viewer ? { name: viewer.name, token: viewer.token, demo: true } : anonymous, fault };
  }
  if (!kept?.token || !claimsOf(kept.token)) return { list, first: anonymous, fault };
  const first = { ...anonymous, ...kept };
  return { list, first: (first.grant?.renewAt ?? Infinity) < Date.now() ? await renewed(first) : first, fault };
}

// arrived returns the viewer of an arrival whose token names a user and is accepted.
async function arrived(provider: Provider, arrival: Arrival): Promise<Who> {
  const { host } = provider;
  const grant = await provider.finish(arrival);
  const claims = claimsOf(grant.token);
  const other = 'Tell the people who run this site, or use another account.';
  if (!claims) throw new SignInError(`Your account at ${host} has no user name here. ${other}`, true);
  const fault = await tryToken(grant.token, `Your sign-in at ${host} is not accepted here. ${other}`);
  if (fault) throw new SignInError(fault, true);
  return { name: claims.id, token: grant.token, demo: false, grant };
}

// renewed returns a viewer with a new token from the provider; without a refresh token, if the provider has ended the
// sign-in; and unchanged if it cannot be renewed now.
async function renewed(who: Who): Promise<Who> {
  if (!provider || !who.grant?.refreshToken) return who;
  try {
    const grant = await provider.renew(who.grant);
    if (claimsOf(grant.token)?.id !== who.name) throw new SignInError('The new token has another user.', true);
    return { ...who, token: grant.token, grant };
  } catch (error) {
    const ended = error instanceof SignInError && error.ended;
    return ended ? { ...who, grant: { ...who.grant, refreshToken: '' } } : who;
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof SignInError ? error.message : 'Signing in has failed.';
}

// demoToken returns a fresh token of a demo viewer, or ''.
async function demoToken(name: string): Promise<string> {
  const list = await demoViewers().catch(() => []);
  return list.find((viewer) => viewer.name === name)?.token ?? '';
}

async function demoViewers(): Promise<DemoViewer[]> {
  const answer = await fetch('/dev/viewers', { headers: { accept: 'application/json' } });
  if (!answer.ok) throw new Error(`/dev/viewers answered ${answer.status}`);
  return (await answer.json()).viewers;
}

// tryToken asks the gateway whether it accepts a token. It returns '' if so, and otherwise the
// message for the reader: refused, if the token is the reason.
async function tryToken(token: string, refused: string): Promise<string> {
  try {
    await new CarrelClient({ url: '/graphql', token: () => token.trim(), retries: 0 }).execute(viewerDocument, {});
    return '';
  } catch (fault) {
    if (fault instanceof UnauthenticatedError) return refused;
    return explain(fault, { online: isOnline() }).text;
  }
}

const ConnectionContext = createContext<Connection | null>(null);

// viewerOf identifies the viewer of a token. A new token of the same viewer leaves the page as
// it is, including typed text. A renewed token does so even if it has other roles: nobody has signed in.
function viewerOf({ token, name, grant }: Who): string {
  if (grant) return name;
  return token ? JSON.stringify(claimsOf(token)) : '';
}

// ConnectionProvider provides the connection of a viewer, and closes it with the session.
function ConnectionProvider({
  who,
  renew,
  onExpired,
  children,
}: {
  who: Who;
  renew: () => Promise<string>;
  onExpired: () => void;
  children: ReactNode;
}) {
  const latest = useRef({ who, token: who.token, refused: false, onExpired });
  if (latest.current.who !== who) latest.current = { ...latest.current, who, token: who.token };
  latest.current.onExpired = onExpired;
  const [connection, setConnection] = useState<Connection | null>(null);

  useEffect(() => {
    const opened = connect({
      token: () => latest.current.token,
      async renew() {
        const { who } = latest.current;
        const fresh = who.grant ? await renew() : who.demo ? await demoToken(who.name) : '';
        if (fresh) latest.current.token = fresh;
        return fresh;
      },
      expired() {
        latest.current.refused = true;
        latest.current.onExpired();
      },
    });
    setConnection(opened);
    return () => opened.close();
  }, [renew]);

  // After a new token, subscriptions start again, over a socket with that token. If the last one was refused, the data
  // that is shown is read again too.
  const connected = useRef(who);
  useEffect(() => {
    if (!connection || connected.current === who) return;
    connected.current = who;
    connection.renewSocket();
    setConnection({ ...connection });
    if (latest.current.refused) connection.client.refetchQueries({ include: 'active' }).catch(() => {});
    latest.current.refused = false;
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

// remember keeps who is signed in for this tab. Of what a page can use without cookies, sessionStorage is what is
// neither shared with other tabs nor left on the disk after the tab was closed; memory alone would end the session
// whenever the page is loaded again.
function remember({ name, token, demo, grant }: Who) {
  try {
    if (!token) sessionStorage.removeItem(STORE);
    else sessionStorage.setItem(STORE, JSON.stringify(demo ? { name, demo } : { name, token, demo, grant }));
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
