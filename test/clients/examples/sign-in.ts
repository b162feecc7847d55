// sign-in.ts
// Signing in at an OpenID Connect provider, by authorization code with PKCE.
import * as oauth from 'oauth4webapi';
import type { Session } from './session.ts';

const kept = 'sign-in';

// SignIn is a session whose tokens come from a provider, where the application is a public client.
export class SignIn implements Session {
  readonly #issuer: string;
  readonly #client: oauth.Client;
  readonly #redirectUri: string;
  readonly #scope: string;
  readonly #parameters: Record<string, string>;
  #granted: oauth.TokenEndpointResponse | null = null;
  #refreshToken = '';
  #renewal: Promise<string | null> | undefined;

  constructor(
    issuer: string,
    clientId: string,
    redirectUri: string,
    scope = 'openid offline_access',
    parameters: Record<string, string> = {}, // of the authorization request
  ) {
    this.#issuer = issuer;
    this.#client = { client_id: clientId };
    this.#redirectUri = redirectUri;
    this.#scope = scope;
    this.#parameters = parameters;
  }

  token(): string | null {
    return this.#granted?.access_token ?? null;
  }

  // begin returns the address where the user signs in: location.assign(await signIn.begin()).
  async begin(): Promise<string> {
    const { authorization_endpoint } = await this.#server();
    const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
    sessionStorage.setItem(kept, JSON.stringify({ state, verifier }));
    const address = new URL(authorization_endpoint ?? '');
    const parameters = {
      ...this.#parameters,
      response_type: 'code',
      client_id: this.#client.client_id,
      redirect_uri: this.#redirectUri,
      scope: this.#scope,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    return address.href;
  }

  // finish exchanges the code with which the provider has sent the user to redirectUri. address is
  // that of the page. Then replace it with history.replaceState: it contains the code.
  async finish(address: string): Promise<void> {
    const attempt = sessionStorage.getItem(kept);
    sessionStorage.removeItem(kept);
    if (!attempt) throw new Error('This sign-in was not begun in this tab.');
    const { state, verifier } = JSON.parse(attempt) as { state: string; verifier: string };
    const server = await this.#server();
    const code = oauth.validateAuthResponse(server, this.#client, new URL(address), state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      this.#client,
      oauth.None(),
      code,
      this.#redirectUri,
      verifier,
      this.#options(),
    );
    this.#grant(await oauth.processAuthorizationCodeResponse(server, this.#client, response));
  }

  renew(): Promise<string | null> {
    this.#renewal ??= this.#refresh().finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  async #refresh(): Promise<string | null> {
    if (!this.#refreshToken) return null;
    const server = await this.#server();
    const response = await oauth.refreshTokenGrantRequest(
      server,
      this.#client,
      oauth.None(),
      this.#refreshToken,
      this.#options(),
    );
    try {
      this.#grant(await oauth.processRefreshTokenResponse(server, this.#client, response));
    } catch (error) {
      if (!(error instanceof oauth.ResponseBodyError)) throw error;
      this.#granted = null; // the provider has ended the session: the user signs in again
      this.#refreshToken = '';
    }
    return this.token();
  }

  #grant(granted: oauth.TokenEndpointResponse): void {
    this.#granted = granted;
    this.#refreshToken = granted.refresh_token ?? this.#refreshToken;
  }

  async #server(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.#issuer);
    const response = await oauth.discoveryRequest(issuer, this.#options());
    return oauth.processDiscoveryResponse(issuer, response);
  }

  // Plain http is for a provider on this machine.
  #options() {
    const isLocal = ['127.0.0.1', 'localhost'].includes(new URL(this.#issuer).hostname);
    return { [oauth.allowInsecureRequests]: isLocal };
  }
}
