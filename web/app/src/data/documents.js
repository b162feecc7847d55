// Every operation that the client sends. A test holds them against the
// gateway's schema.
import { gql } from '@apollo/client';

// pageSize is how many entries are read at once: two screens of a desk, four
// of a phone.
export const pageSize = 30;

// CHANGED is what decides the place of an item.
export const CHANGED = gql`
  fragment Changed on Content {
    lastModified
  }
`;

// ENTRY is what a list shows of an item.
export const ENTRY = gql`
  fragment Entry on Content {
    id
    tenant
    kind
    title
    description
    link
    visibility
    lastModified
    version
    createdBy {
      id
      displayName
    }
  }
`;

const faults = gql`
  fragment Faults on UserError {
    message
    field
    code
  }
`;

const itemMembers = gql`
  fragment ItemMembers on ContentMemberConnection {
    edges {
      role
      node {
        id
        displayName
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
`;

const groupMembers = gql`
  fragment GroupMembers on GroupMemberConnection {
    edges {
      role
      node {
        id
        displayName
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
`;

const item = gql`
  fragment Item on Content {
    ...Entry
    createdAt
    expiresAt
    viewerRole
    viewerCanShare
    viewerCanEdit
    viewerCanManage
    members(first: 50) {
      ...ItemMembers
    }
  }
  ${ENTRY}
  ${itemMembers}
`;

const group = gql`
  fragment GroupWithMembers on Group {
    id
    tenant
    displayName
    visibility
    viewerRole
    members(first: 50) {
      ...GroupMembers
    }
  }
  ${groupMembers}
`;

export const VIEWER = gql`
  query Viewer {
    viewer {
      id
      tenant
      displayName
    }
  }
`;

export const LIBRARY_PAGE = gql`
  query LibraryPage(
    $id: ID!
    $first: Int
    $after: Cursor
    $last: Int
    $before: Cursor
    $direction: OrderDirection!
    $shared: Boolean!
  ) {
    principal(id: $id) {
      id
      library(
        first: $first
        after: $after
        last: $last
        before: $before
        orderBy: { field: LAST_MODIFIED, direction: $direction }
        includeShared: $shared
      ) {
        edges {
          cursor
          node {
            ...Entry
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
  ${ENTRY}
`;

export const LIBRARY_HEAD = gql`
  query LibraryHead($id: ID!) {
    principal(id: $id) {
      id
      tenant
      displayName
      visibility
      library(first: 0) {
        bucket
        count {
          value
          precision
        }
      }
      ... on Group {
        viewerRole
      }
    }
  }
`;

export const LIBRARY_CHANGED = gql`
  subscription LibraryChanged($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      ... on LibraryEntryPlaced {
        edge {
          cursor
          node {
            ...Entry
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId
      }
    }
  }
  ${ENTRY}
`;

export const ITEM = gql`
  query Item($id: ID!) {
    content(id: $id) {
      ...Item
    }
  }
  ${item}
`;

export const MORE_ITEM_MEMBERS = gql`
  query MoreItemMembers($id: ID!, $after: Cursor) {
    content(id: $id) {
      id
      members(first: 50, after: $after) {
        ...ItemMembers
      }
    }
  }
  ${itemMembers}
`;

export const GROUP = gql`
  query Group($id: ID!) {
    group(id: $id) {
      ...GroupWithMembers
    }
  }
  ${group}
`;

// GROUP_NAME is what a form says of a group.
export const GROUP_NAME = gql`
  query GroupName($id: ID!) {
    group(id: $id) {
      id
      displayName
      viewerRole
    }
  }
`;

export const MORE_GROUP_MEMBERS = gql`
  query MoreGroupMembers($id: ID!, $after: Cursor) {
    group(id: $id) {
      id
      members(first: 50, after: $after) {
        ...GroupMembers
      }
    }
  }
  ${groupMembers}
`;

export const MY_GROUPS = gql`
  query MyGroups($after: Cursor) {
    viewer {
      id
      groups(first: 50, after: $after) {
        edges {
          role
          node {
            id
            displayName
            visibility
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`;

export const FIND_PRINCIPALS = gql`
  query FindPrincipals($tenant: String!, $prefix: String, $first: Int!, $after: Cursor) {
    principals(tenant: $tenant, prefix: $prefix, first: $first, after: $after) {
      edges {
        node {
          id
          displayName
          visibility
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`;

export const PRINCIPAL = gql`
  query Principal($id: ID!) {
    principal(id: $id) {
      id
      displayName
      visibility
    }
  }
`;

export const CREATE_USER = gql`
  mutation CreateUser($input: CreateUserInput!) {
    createUser(input: $input) {
      user {
        id
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const PROFILE = gql`
  query Profile($id: ID!) {
    user(id: $id) {
      id
      tenant
      displayName
      email
      visibility
    }
  }
`;

export const UPDATE_USER = gql`
  mutation UpdateUser($input: UpdateUserInput!) {
    updateUser(input: $input) {
      user {
        id
        displayName
        email
        visibility
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const CREATE_CONTENT = gql`
  mutation CreateContent($input: CreateContentInput!) {
    createContent(input: $input) {
      content {
        ...Entry
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${ENTRY}
  ${faults}
`;

export const UPDATE_CONTENT = gql`
  mutation UpdateContent($input: UpdateContentInput!) {
    updateContent(input: $input) {
      content {
        ...Entry
        expiresAt
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${ENTRY}
  ${faults}
`;

export const SHARE_CONTENT = gql`
  mutation ShareContent($input: ShareContentInput!) {
    shareContent(input: $input) {
      content {
        ...Item
      }
      fanOut {
        libraries
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${item}
  ${faults}
`;

export const SET_CONTENT_MEMBERS = gql`
  mutation SetContentMembers($input: SetContentMembersInput!) {
    setContentMembers(input: $input) {
      content {
        ...Item
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${item}
  ${faults}
`;

export const REMOVE_FROM_LIBRARY = gql`
  mutation RemoveFromLibrary($input: RemoveFromLibraryInput!) {
    removeFromLibrary(input: $input) {
      removedContentId
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const DELETE_CONTENT = gql`
  mutation DeleteContent($input: DeleteContentInput!) {
    deleteContent(input: $input) {
      deletedContentId
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const CREATE_GROUP = gql`
  mutation CreateGroup($input: CreateGroupInput!) {
    createGroup(input: $input) {
      group {
        id
        displayName
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const UPDATE_GROUP = gql`
  mutation UpdateGroup($input: UpdateGroupInput!) {
    updateGroup(input: $input) {
      group {
        id
        displayName
        visibility
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${faults}
`;

export const SET_GROUP_MEMBERS = gql`
  mutation SetGroupMembers($input: SetGroupMembersInput!) {
    setGroupMembers(input: $input) {
      group {
        ...GroupWithMembers
      }
      userErrors {
        ...Faults
      }
    }
  }
  ${group}
  ${faults}
`;
