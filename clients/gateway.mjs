// Where the gateway is that the clients ask, as .ci/with-gateway tells it. It
// holds the demo data.
const base = process.env.BASE_URL;
if (!base) {
  console.error('BASE_URL is missing: run make test-clients');
  process.exit(2);
}

export const endpoint = `${base}/graphql`;
export const socketEndpoint = endpoint.replace(/^http/, 'ws');

// A token of the demo viewer Ann, who is in the group of the standard library.
export const token = process.env.TOKEN;

export const viewerQuery = '{ viewer { id library(first: 2) { edges { cursor node { id title } } } } }';

export async function post(body, headers = {}) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
