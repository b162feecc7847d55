// fetch/search.ts
import type { LibraryConnection } from '../order.ts';
import { repeat } from '../retry.ts';
import type { Session } from '../session.ts';
import { post } from './gateway.ts';

const SEARCH = `
  query Search($id: ID!, $filter: LibraryFilter!, $first: Int!, $after: Cursor) {
    principal(id: $id) {
      library(filter: $filter, first: $first, after: $after) {
        edges {
          cursor
          node {
            id
            title
            version
            lastModified
          }
        }
        pageInfo {
          hasNextPage
          hasPreviousPage
          startCursor
          endCursor
        }
      }
    }
  }
`;

export interface Filter {
  text?: string;
  kinds?: ('LINK' | 'NOTE')[];
  createdBy?: string;
}

// search returns some matching entries, and whether there may be more after its endCursor. A page
// looks at 2,000 entries and may be empty although others match: it reads five pages at most.
export async function search(
  url: string,
  session: Session,
  id: string,
  filter: Filter,
  after: string | null = null,
): Promise<LibraryConnection> {
  for (let read = 1; ; read += 1) {
    const request = { query: SEARCH, variables: { id, filter, first: 20, after } };
    const { principal } = await repeat(() =>
      post<{ principal: { library: LibraryConnection } | null }>(url, session, request),
    );
    if (!principal) throw new Error('There is no such library, or you may not see it.');
    const { library } = principal;
    if (library.edges.length > 0 || !library.pageInfo.hasNextPage || read === 5) return library;
    after = library.pageInfo.endCursor;
  }
}
