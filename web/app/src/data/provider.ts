// Signing in at an OpenID Connect provider: authorization code with PKCE, as a public client. The page goes to
// the provider, which sends it back to /app/signed-in with a code that can be exchanged once, and only by the tab
// that has asked. oauth4webapi composes the requests and checks the answers; it is loaded when it is needed.
import type { AuthorizationServer, Client, TokenEndpointResponse } from 'oauth4webapi';

// ProviderSettings are the provider, and the id and the scopes of this client there.
export interface ProviderSettings {
  issuer: string;
  clientId: string;
  scope: string;
}

// Grant is what a provider has given for a sign-in. refreshToken is '' if there is none, or no longer one; renewAt
// is when to renew the token, in milliseconds since 1970, and null if its lifetime is unknown.
export interface Grant {
  token: string;
  refreshToken: string;
  idToken: string;
  renewAt: number | null;
}

// Attempt is a sign-in that was begun: what the answer must match, and where the reader was.
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
}

// Arrival is an answer of the provider, and the attempt of this tab, if it has begun one.
export interface Arrival {
  answer: URLSearchParams;
  attempt: Attempt | null;
}

// SignInError has a sentence about a failed sign-in. ended: the provider has ended the sign-in, so that renewing it
// will fail again.
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly ended: boolean;

  constructor(message: string, ended: boolean, options?: ErrorOptions) {
    super(message, options);
    this.ended = ended;
  }
}

const home = '/app';
const back = `${home}/signed-in`;
const kept = 'carrel.app.sign-in';

// patience is how long the provider may take for an answer, in milliseconds.
const patience = 20_000;

// takeArrival returns the answer with which a provider has sent the reader to this page, or null. It replaces the
// address by the one at which the sign-in was begun: the code must not stay in the history. An attempt is used once.
export function takeArrival(): Arrival | null {
  if (location.pathname !== back) return null;
  const answer = new URLSearchParams(location.search);
  let attempt: Attempt | null = null;
  try {
    attempt = JSON.parse(sessionStorage.getItem(kept) ?? 'null') as Attempt | null;
    sessionStorage.removeItem(kept);
  } catch {
    // Storage is disabled: there is no attempt.
  }
  history.replaceState(null, '', attempt?.returnTo ?? home);
  return { answer, attempt };
}

// keepAttempt keeps an attempt for this tab until the provider answers.
export function keepAttempt(attempt: Attempt) {
  try {
    sessionStorage.setItem(kept, JSON.stringify(attempt));
  } catch (error) {
    throw new SignInError('Your browser does not let this page store anything, which it needs to sign you in.', true, {
      cause: error,
    });
  }
}

// Tabs hand an answer over by messages of this channel, which only pages of our origin receive.
interface Message {
  answer?: string;
  taken?: string;
}

// answerFromAnotherTab waits until another tab has the answer to an attempt of this one.
export function answerFromAnotherTab({ state }: Attempt, signal: AbortSignal): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(kept);
  signal.addEventListener('abort', () => channel.close());
  return new Promise((resolve) => {
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      const answer = new URLSearchParams(data.answer);
      if (answer.get('state') !== state) return;
      channel.postMessage({ taken: state } satisfies Message);
      resolve(answer);
    };
  });
}

// handOver gives an answer to the tab that has asked for it, and returns whether there is one.
export function handOver(answer: URLSearchParams): Promise<boolean> {
  const channel = new BroadcastChannel(kept);
  return new Promise<boolean>((resolve) => {
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.taken && data.taken === answer.get('state')) resolve(true);
    };
    channel.postMessage({ answer: answer.toString() } satisfies Message);
    setTimeout(() => resolve(false), 2000);
  }).finally(() => channel.close());
}

type Protocol = typeof import('oauth4webapi');

// Provider signs in at one provider.
export class Provider {
  // The name under which people know it.
  readonly host: string;
  readonly #settings: ProviderSettings;
  readonly #client: Client;
  #found: Promise<AuthorizationServer> | undefined;

  constructor(settings: ProviderSettings) {
    this.host = new URL(settings.issuer).host;
    this.#settings = settings;
    this.#client = { client_id: settings.clientId };
  }

  // begin returns the address at which the reader signs in, and the attempt. choose makes the provider ask who
  // signs in, even if it knows somebody: the last answer could not be used.
  async begin(returnTo: string, choose: boolean): Promise<{ address: string; attempt: Attempt }> {
    return this.#ask(async (protocol, server) => {
      const attempt = {
        state: protocol.generateRandomState(),
        nonce: protocol.generateRandomNonce(),
        verifier: protocol.generateRandomCodeVerifier(),
        returnTo,
      };
      const address = this.#addressOf(server.authorization_endpoint, {
        client_id: this.#settings.clientId,
        redirect_uri: location.origin + back,
        response_type: 'code',
        scope: this.#settings.scope,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await protocol.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        ...(choose && { prompt: 'login' }),
      });
      return { address, attempt };
    });
  }

  // finish exchanges the code of an answer for the tokens of the reader.
  async finish({ answer, attempt }: Arrival): Promise<Grant> {
    if (!attempt || answer.get('state') !== attempt.state)
      throw new SignInError('That sign-in was not begun in this tab, or was finished before.', true);
    return this.#ask(async (protocol, server) => {
      const code = protocol.validateAuthResponse(server, this.#client, answer, attempt.state);
      const response = await protocol.authorizationCodeGrantRequest(
        server,
        this.#client,
        protocol.None(),
        code,
        location.origin + back,
        attempt.verifier,
        this.#options(protocol),
      );
      const given = await protocol.processAuthorizationCodeResponse(server, this.#client, response, {
        expectedNonce: attempt.nonce,
        requireIdToken: true,
      });
      return grantOf(given, null);
    });
  }

  // renew exchanges the refresh token of a grant for a new grant. A provider may give a new refresh token too.
  async renew(grant: Grant): Promise<Grant> {
    return this.#ask(async (protocol, server) => {
      const response = await protocol.refreshTokenGrantRequest(
        server,
        this.#client,
        protocol.None(),
        grant.refreshToken,
        this.#options(protocol),
      );
      return grantOf(await protocol.processRefreshTokenResponse(server, this.#client, response), grant);
    });
  }

  // end withdraws the refresh token of a grant, and returns the address that signs the reader out at the provider.
  // It is '' if the provider has none.
  async end(grant: Grant): Promise<string> {
    return this.#ask(async (protocol, server) => {
      if (grant.refreshToken && server.revocation_endpoint) {
        await protocol
          .revocationRequest(server, this.#client, protocol.None(), grant.refreshToken, this.#options(protocol))
          .catch(() => {});
      }
      if (!server.end_session_endpoint) return '';
      return this.#addressOf(server.end_session_endpoint, {
        client_id: this.#settings.clientId,
        id_token_hint: grant.idToken,
        post_logout_redirect_uri: location.origin + home,
      });
    });
  }

  // #ask runs a step with what the provider says about itself, and turns every error into a sentence.
  async #ask<T>(step: (protocol: Protocol, server: AuthorizationServer) => Promise<T>): Promise<T> {
    try {
      const protocol = await import('oauth4webapi');
      this.#found ??= this.#discover(protocol).catch((error: unknown) => {
        this.#found = undefined;
        throw error;
      });
      return await step(protocol, await this.#found);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  async #discover(protocol: Protocol): Promise<AuthorizationServer> {
    const issuer = new URL(this.#settings.issuer);
    return protocol.processDiscoveryResponse(issuer, await protocol.discoveryRequest(issuer, this.#options(protocol)));
  }

  // #options allows plain http for a provider on this machine only: the gateway accepts no other issuer with it.
  #options(protocol: Protocol) {
    return {
      [protocol.allowInsecureRequests]: this.#settings.issuer.startsWith('http:'),
      signal: AbortSignal.timeout(patience),
    };
  }

  #addressOf(endpoint: string | undefined, parameters: Record<string, string>): string {
    const address = new URL(endpoint ?? '');
    if (address.protocol !== 'https:' && address.protocol !== new URL(this.#settings.issuer).protocol)
      throw new TypeError('an endpoint has another scheme');
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    return address.href;
  }

  #explained(error: unknown): SignInError {
    if (error instanceof SignInError) return error;
    const [text, ended] = explanationOf((error ?? {}) as Failure, this.host);
    return new SignInError(text, ended, { cause: error });
  }
}

// Failure has the fields of an error of oauth4webapi, or of fetch, that are read by explanationOf. error is the code
// with which the provider has answered, and code names a check that has failed.
interface Failure {
  name?: string;
  error?: string;
  code?: unknown;
  status?: number;
  cause?: unknown;
}

// explanationOf returns the sentence about a failure. true: the same sign-in will fail again.
export function explanationOf(
  { name = '', error = '', code = '', status, cause }: Failure,
  host: string,
): [text: string, ended: boolean] {
  const answered = status ?? (cause as { status?: number } | null | undefined)?.status ?? 0;
  const busy = ['temporarily_unavailable', 'server_error'].includes(error) || answered >= 500 || answered === 429;
  if (busy || ['TypeError', 'TimeoutError'].includes(name)) return [`${host} cannot be reached at the moment.`, false];
  if (error === 'access_denied') return [`The sign-in at ${host} was refused or cancelled.`, true];
  if (error === 'invalid_grant') return ['This sign-in took too long, or was used before.', true];
  if (error) return [`${host} refused the sign-in (${error}). Tell the people who run this site.`, true];
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED')
    return [`The clock of this device differs from that of ${host}. Correct it.`, true];
  return [`${host} gave an answer that this page cannot use. Tell the people who run this site.`, true];
}

// grantOf returns the grant of an answer. What the answer leaves out stays as it was. A token is renewed after three
// quarters of its lifetime, so that it is always accepted.
function grantOf(
  { access_token: token, refresh_token, id_token, expires_in }: TokenEndpointResponse,
  last: Grant | null,
): Grant {
  return {
    token,
    refreshToken: refresh_token ?? last?.refreshToken ?? '',
    idToken: id_token ?? last?.idToken ?? '',
    renewAt: expires_in === undefined ? null : Date.now() + expires_in * 750,
  };
}
