// The address of the gateway, which .ci/with-gateway sets. The gateway has the
// demo data.
const base = process.env.BASE_URL;
if (!base) {
  console.error('BASE_URL is missing: run make test-clients');
  process.exit(2);
}

export const endpoint = `${base}/graphql`;
export const socketEndpoint = endpoint.replace(/^http/, 'ws');

// A token of the demo viewer Ann, who is in the group of the standard library.
export const token = process.env.TOKEN;

// A token of the demo viewer Cleo.
export const otherToken = process.env.OTHER_TOKEN;

export const viewerQuery = '{ viewer { id library(first: 2) { edges { cursor node { id title } } } } }';

export async function post(body, headers = {}) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

// ask sends a request as Ann, which must succeed.
export async function ask(query, variables) {
  const { body } = await post({ query, variables }, { authorization: `Bearer ${token}` });
  const faults = body.errors ?? Object.values(body.data).flatMap((field) => field?.userErrors ?? []);
  if (faults.length > 0) throw new Error(`${query}: ${JSON.stringify(faults)}`);
  return body.data;
}

// createItem makes a private item of Ann's and shares it into libraries.
export async function createItem(title, ...libraries) {
  const data = await ask(
    'mutation ($in: CreateContentInput!) { createContent(input: $in) { content { id } userErrors { code message } } }', {
    in: { kind: 'NOTE', title, visibility: 'PRIVATE', members: libraries.map((principalId) => ({ principalId, role: 'VIEWER' })) },
  });
  return data.createContent.content.id;
}

// createGroup creates a group that Ann manages. Its library contains only items with
// these titles, in this order.
export async function createGroup(name, titles) {
  const data = await ask('mutation ($in: CreateGroupInput!) { createGroup(input: $in) { group { id } userErrors { code message } } }', {
    in: { tenant: 'demo', name, displayName: name },
  });
  const { id } = data.createGroup.group;
  const items = [];
  for (const title of titles) items.push(await createItem(title, id));
  return { id, items };
}
