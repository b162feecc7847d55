// operations.ts
// The operations of the examples. In an application, GraphQL Code Generator makes the types.
import type { LibraryChange, LibraryConnection, Order, UserError } from './order.ts';

export const LIBRARY = `
  query Library(
    $id: ID!
    $first: Int
    $after: Cursor
    $last: Int
    $before: Cursor
    $orderBy: LibraryOrder
  ) {
    principal(id: $id) {
      id
      library(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy) {
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

export const LIBRARY_CHANGED = `
  subscription LibraryChanged($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      ... on LibraryEntryPlaced {
        edge {
          cursor
          node {
            id
            title
            version
            lastModified
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId
      }
    }
  }
`;

export const CREATE = `
  mutation Create($input: CreateContentInput!) {
    createContent(input: $input) {
      content {
        id
      }
      userErrors {
        code
        reason
        field
        message
      }
    }
  }
`;

export const UPDATE = `
  mutation Update($input: UpdateContentInput!) {
    updateContent(input: $input) {
      content {
        id
        title
        version
        lastModified
      }
      userErrors {
        code
        reason
        field
        message
        currentVersion
      }
    }
  }
`;

export interface LibraryData {
  principal: { __typename?: string; id: string; library: LibraryConnection } | null;
}

export type LibraryVariables = {
  id: string;
  orderBy?: { field: 'LAST_MODIFIED'; direction: Order } | null;
  first?: number | null;
  after?: string | null;
  last?: number | null;
  before?: string | null;
};

export interface ChangedData {
  libraryChanged: LibraryChange;
}

export interface UpdateData {
  updateContent: {
    content: { id: string; title: string; version: number; lastModified: string } | null;
    userErrors: UserError[];
  };
}

export interface UpdateVariables {
  input: { id: string; title: string; expectedVersion: number; idempotencyKey: string };
}
