// Changes of a library.
import { ask } from './gateway.mjs';

export const libraryChanged = `
  subscription LibraryChanged($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      __typename
      ... on LibraryEntryPlaced {
        edge {
          cursor
          role
          node {
            id
            title
            version
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId
      }
    }
  }
`;

// cursorOf returns the last cursor of a library. A subscription that resumes after it misses
// nothing, however long it takes to connect.
export async function cursorOf(id) {
  const { principal } = await ask('query ($id: ID!) { principal(id: $id) { library(last: 1) { pageInfo { endCursor } } } }', { id });
  return principal.library.pageInfo.endCursor;
}

// inWords describes a change in a line.
export function inWords(change) {
  return change.__typename === 'LibraryEntryPlaced' ? `placed ${change.edge.node.title}` : `removed ${change.contentId}`;
}

// received reads results until a change has this description. Recent changes may be delivered
// again, so others may come first.
export async function received(iterator, words) {
  const others = [];
  for (let n = 0; n < 100; n++) {
    const { value, done } = await iterator.next();
    if (done) break;
    if (value.errors) throw new Error(JSON.stringify(value.errors));
    const change = value.data.libraryChanged;
    if (inWords(change) === words) return change;
    others.push(inWords(change));
  }
  throw new Error(`"${words}" was not received, but ${others.join(', ')}`);
}

export async function update(id, fields) {
  await ask('mutation ($in: UpdateContentInput!) { updateContent(input: $in) { userErrors { code message } } }', { in: { id, ...fields } });
}

export async function rename(id, title) {
  await update(id, { title });
}

export async function removeFromLibrary(contentId, principalId) {
  await ask('mutation ($in: RemoveFromLibraryInput!) { removeFromLibrary(input: $in) { userErrors { code message } } }',
    { in: { contentId, principalId } });
}

export async function share(contentId, principalId) {
  await ask('mutation ($in: ShareContentInput!) { shareContent(input: $in) { userErrors { code message } } }',
    { in: { contentId, principalIds: [principalId], role: 'VIEWER' } });
}

// titlesOf returns the titles of a whole library, as the gateway orders them.
export async function titlesOf(id, direction) {
  const { principal } = await ask(`query ($id: ID!, $orderBy: LibraryOrder) { principal(id: $id) {
    library(first: 100, orderBy: $orderBy) { nodes { title } } } }`, { id, orderBy: { field: 'LAST_MODIFIED', direction } });
  return principal.library.nodes.map(({ title }) => title);
}
