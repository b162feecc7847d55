// An OpenID Connect provider for the tests of signing in, on this machine only: oidc-provider with one public client,
// and the simplest pages. The entered name becomes the id of the user. It is set up as docs/authentication.md says.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

export const clientId = 'reference-client';
const resource = 'urn:carrel';

// openProvider starts a provider that has no client yet. state can be changed at any time: lifetime is that of
// access tokens in seconds, down lets every request fail, and ended refuses every renewal. grants has the kind of each
// grant that was given.
export async function openProvider() {
  const state = { lifetime: 3600, down: false, ended: false, grants: [] };
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  let answer;
  const server = createServer((request, response) => {
    if (state.down) return request.socket.destroy();
    if (state.ended && request.method === 'POST' && request.url === '/token') {
      const headers = {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'access-control-allow-origin': request.headers.origin,
      };
      return response.writeHead(400, headers).end('{"error":"invalid_grant"}');
    }
    return answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;

  // serve answers for the pages of a gateway, or for none.
  const serve = (base) => {
    const client = {
      client_id: clientId,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [`${base}/app/signed-in`],
      post_logout_redirect_uris: [`${base}/app`],
    };
    const provider = new Provider(issuer, {
      clients: base ? [client] : [],
      jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['only for tests'] },
      findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
      interactions: { url: (_, { uid }) => `/login/${uid}` },
      // The client is the operator's own: nobody is asked for consent.
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope('openid offline_access');
        grant.addResourceScope(resource, '');
        await grant.save();
        return grant;
      },
      issueRefreshToken: () => true,
      features: {
        devInteractions: { enabled: false },
        revocation: { enabled: true },
        rpInitiatedLogout: {
          logoutSource(context, form) {
            context.body = page(
              `${form}<button autofocus type="submit" form="op.logoutForm" value="yes" name="logout">Yes, sign me out</button>`,
            );
          },
        },
        resourceIndicators: {
          defaultResource: () => resource,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: '',
            audience: 'carrel',
            accessTokenFormat: 'jwt',
            accessTokenTTL: state.lifetime,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      ttl: { Grant: 3600, IdToken: 3600, Interaction: 3600, RefreshToken: 3600, Session: 3600, AuthorizationCode: 60 },
    });
    provider.on('grant.success', ({ oidc }) => state.grants.push(oidc.params.grant_type));
    provider.on('server_error', (_, error) => console.error('provider:', error));
    const callback = provider.callback();
    answer = (request, response) =>
      request.url.startsWith('/login/') ? login(provider, request, response) : callback(request, response);
  };
  serve('');
  return { issuer, state, serve, close: () => (server.close(), server.closeAllConnections()) };
}

const page = (body) =>
  `<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,"><h1>Provider</h1>${body}</html>`;

// login shows the form, and takes the name from it. Without a name, the user has cancelled.
async function login(provider, request, response) {
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return response.end(
      page(
        '<form method="post"><label>User <input name="user" autofocus></label><button>Sign in</button></form><form method="post"><button>Cancel</button></form>',
      ),
    );
  }
  const parts = [];
  for await (const part of request) parts.push(part);
  const accountId = new URLSearchParams(Buffer.concat(parts).toString()).get('user');
  const result = accountId ? { login: { accountId } } : { error: 'access_denied', error_description: 'cancelled' };
  return provider.interactionFinished(request, response, result);
}
