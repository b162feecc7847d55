// An application with Relay. The compiler checks it against the schema of the
// running gateway, and the tests run the unchanged output.
import { graphql } from 'relay-runtime';

graphql`
  fragment app_item on Content {
    id
    title
    version
    viewerRole
  }
`;

graphql`
  fragment app_library on Group
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "Cursor" }
    last: { type: "Int" }
    before: { type: "Cursor" }
    orderBy: { type: "LibraryOrder" }
  )
  @refetchable(queryName: "appPageQuery") {
    library(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy)
      @connection(key: "app_library", filters: ["orderBy"]) {
      __id
      bucket
      edges {
        cursor
        role
        node {
          ...app_item
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

graphql`
  query appQuery($id: ID!, $first: Int, $last: Int, $orderBy: LibraryOrder) {
    group(id: $id) {
      displayName
      ...app_library @arguments(first: $first, last: $last, orderBy: $orderBy)
    }
  }
`;

graphql`
  mutation appShareMutation($input: ShareContentInput!, $connections: [ID!]!) {
    shareContent(input: $input) {
      edges @appendEdge(connections: $connections) {
        cursor
        role
        node {
          ...app_item
        }
      }
      fanOut {
        state
      }
      userErrors {
        code
        field
        message
      }
    }
  }
`;

graphql`
  mutation appUpdateMutation($input: UpdateContentInput!) {
    updateContent(input: $input) {
      content {
        ...app_item
      }
      userErrors {
        code
        field
        message
      }
    }
  }
`;

graphql`
  mutation appRemoveMutation($input: RemoveFromLibraryInput!, $connections: [ID!]!) {
    removeFromLibrary(input: $input) {
      removedContentId @deleteEdge(connections: $connections)
      userErrors {
        code
      }
    }
  }
`;

graphql`
  mutation appDeleteMutation($input: DeleteContentInput!) {
    deleteContent(input: $input) {
      deletedContentId @deleteRecord
      userErrors {
        code
      }
    }
  }
`;

graphql`
  subscription appChangedSubscription($id: ID!, $after: Cursor, $connections: [ID!]!) {
    libraryChanged(principalId: $id, after: $after) {
      ... on LibraryEntryPlaced {
        edge @appendEdge(connections: $connections) {
          cursor
          role
          node {
            ...app_item
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId @deleteEdge(connections: $connections)
      }
    }
  }
`;
