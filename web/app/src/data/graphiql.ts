// Links from the client to GraphiQL, to query the data that a page shows.
import { defaultOrder, orderBy } from './order.ts';
import type { Destination } from './routes.ts';

const queries: Record<string, string> = {
  library: `query Library($id: ID!, $orderBy: LibraryOrder!) {
  principal(id: $id) {
    displayName
    visibility
    library(first: 20, orderBy: $orderBy) {
      bucket
      count { value precision }
      edges {
        cursor
        role
        node { id kind title description visibility lastModified }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}
`,
  item: `query Item($id: ID!) {
  content(id: $id) {
    id
    kind
    title
    description
    link
    visibility
    version
    lastModified
    expiresAt
    viewerRole
    members(first: 20) {
      edges { role node { id displayName } }
    }
  }
}
`,
  paste: `query Paste($id: ID!) {
  paste(id: $id) {
    title
    body
    isPrivate
    createdAt
    expiresAt
    version
  }
}
`,
  pastes: `{
  latestPastes(first: 20) {
    nodes { id title createdAt expiresAt }
    pageInfo { hasNextPage endCursor }
  }
}
`,
  members: `query Group($id: ID!) {
  group(id: $id) {
    displayName
    visibility
    viewerRole
    members(first: 20) {
      edges { role node { id displayName } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
`,
};

// graphiqlAddress returns the address of GraphiQL with the query of a page, or of GraphiQL
// alone for a page without a query. If an item is open in a library, the query is the item's.
export function graphiqlAddress(place: Destination): string {
  const { name, id } = place.item ? ({ name: 'item', id: place.item } as const) : place;
  const query = queries[name];
  if (!query) return '/';
  const variables = { id, ...(place.name === 'library' && name === 'library' && { orderBy: orderBy[place.order ?? defaultOrder] }) };
  return `/?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`;
}

// pageQueries are checked against the schema by a test.
export const pageQueries = Object.values(queries);
