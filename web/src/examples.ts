// The first tabs. They fit the data of `make run` (package demo); each says as
// whom to try it, since what is answered depends on who asks.

const libraryPage = `# One page of the largest library, last changed
# first. Choose who asks in the bar above, then run
# it (Ctrl-Enter): anonymous readers see what is
# PUBLIC, those signed in to its tenant LOGGEDIN
# items too, members of the group everything.
query LibraryPage($id: ID!, $first: Int) {
  principal(id: $id) {
    displayName
    library(
      first: $first
      orderBy: { field: LAST_MODIFIED, direction: DESC }
    ) {
      bucket
      count {
        value
        precision
      }
      edges {
        role
        node {
          id
          title
          description
          visibility
          lastModified
          createdBy {
            displayName
          }
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

const nextPage = `# Run it, copy pageInfo.endCursor into the variable
# "after", run it again: the next page. The way back
# is (last: 5, before: ...) with a startCursor. A
# cursor serves everyone who reads the same bucket,
# in this order only.
query NextPage($after: Cursor) {
  principal(id: "g:demo:standard-library") {
    library(
      first: 5
      after: $after
      orderBy: { field: LAST_MODIFIED, direction: DESC }
    ) {
      nodes {
        title
        lastModified
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

const share = `# As Ann: put an item into Cleo's library. Cleo can
# do that herself with whatever she may see. Sharing
# twice changes nothing and succeeds.
mutation Share {
  shareContent(
    input: {
      contentId: "c:demo:encoding-json"
      principalIds: ["u:demo:cleo"]
      role: VIEWER
    }
  ) {
    content {
      title
      visibility
    }
    edges {
      cursor
      role
    }
    fanOut {
      state
      libraries
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const update = `# As Ann, who manages it: change an item. It moves
# to the newest end of every library that holds it;
# run the first tab again. Anyone else is FORBIDDEN.
mutation Update {
  updateContent(
    input: {
      id: "c:demo:encoding-json"
      description: "Reads and writes JSON."
    }
  ) {
    content {
      title
      description
      version
      lastModified
    }
    fanOut {
      state
      libraries
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const remove = `# As Cleo: take an item out of one's own library. A
# second time there is nothing to remove, and
# userErrors says so.
mutation Remove {
  removeFromLibrary(
    input: {
      principalId: "u:demo:cleo"
      contentId: "c:demo:encoding-json"
    }
  ) {
    fanOut {
      state
      libraries
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const libraryChanged = `# Run it and leave it open: it tells what happens to
# a library as it happens. Change something in a
# second window (Update, as Ann). Its square button,
# or another viewer in the bar, ends it. With a cursor
# as "after" it tells first what has happened since.
subscription LibraryChanged($after: Cursor) {
  libraryChanged(
    principalId: "g:demo:standard-library"
    after: $after
  ) {
    __typename
    ... on LibraryEntryPlaced {
      edge {
        cursor
        role
        node {
          id
          title
          description
          visibility
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

const whoSeesWhat = `# Run this as each viewer in turn. What may not be
# seen is null, as if it did not exist.
query WhoSeesWhat {
  viewer {
    id
    displayName
  }
  standardLibrary: principal(id: "g:demo:standard-library") {
    ...Reading
  }
  cleo: principal(id: "u:demo:cleo") {
    ...Reading
  }
  privateGroup: principal(id: "g:demo:internal") {
    ...Reading
  }
  otherTenant: principal(id: "g:acme:engineers") {
    ...Reading
  }
  public: content(id: "c:demo:encoding-json") {
    ...Item
  }
  loggedIn: content(id: "c:demo:cmd-go") {
    ...Item
  }
  private: content(id: "c:demo:internal-poll") {
    ...Item
  }
}

fragment Reading on Principal {
  displayName
  visibility
  library(first: 0) {
    bucket
    count {
      value
    }
  }
}

fragment Item on Content {
  title
  visibility
  viewerRole
  viewerCanShare
  viewerCanEdit
  viewerCanManage
}
`;

// GraphiQL fills the variables editor of the first tab from initialVariables
// only, and from what it has stored where the page was open before.
export const firstVariables = '{\n  "id": "g:demo:standard-library",\n  "first": 20\n}';

export const exampleTabs = [
  { query: libraryPage, variables: firstVariables },
  { query: nextPage, variables: '{\n  "after": null\n}' },
  { query: share },
  { query: update },
  { query: remove },
  { query: libraryChanged, variables: '{\n  "after": null\n}' },
  { query: whoSeesWhat },
];
