// relay/operations.ts
import { graphql } from 'relay-runtime';

export const Item = graphql`
  fragment operations_item on Content {
    id
    title
    version
    lastModified
  }
`;

export const Library = graphql`
  fragment operations_library on Principal
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "Cursor" }
    last: { type: "Int" }
    before: { type: "Cursor" }
    orderBy: { type: "LibraryOrder" }
  )
  @refetchable(queryName: "operationsPageQuery") {
    library(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy)
      @connection(key: "operations_library", filters: ["orderBy"]) {
      __id
      edges {
        cursor
        node {
          ...operations_item
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
`;

export const LibraryQuery = graphql`
  query operationsQuery($id: ID!, $first: Int, $last: Int, $orderBy: LibraryOrder) {
    principal(id: $id) {
      ...operations_library @arguments(first: $first, last: $last, orderBy: $orderBy)
    }
  }
`;

export const LibraryChanged = graphql`
  subscription operationsChangedSubscription($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      ... on LibraryEntryPlaced {
        edge {
          cursor
          node {
            id
            lastModified
            ...operations_item
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId
      }
    }
  }
`;

export const Update = graphql`
  mutation operationsUpdateMutation($input: UpdateContentInput!) {
    updateContent(input: $input) {
      content {
        ...operations_item
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
