import type { Task } from './task.ts';

const libraryPage = `# One page of the largest library, most
# recently changed first. Choose a viewer in
# the bar above and run it (Ctrl-Enter).
# Anonymous viewers see PUBLIC items, users
# of its tenant LOGGEDIN items too, and
# members of the group all items.
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
# "after", and run it again for the next page. For the
# page before, use last: 5 and before: startCursor. A
# cursor is valid for everyone who reads the same
# bucket, in the same order.
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

const oldest = `# The entries that have not changed for the longest
# time, read backwards from the end.
query Oldest {
  principal(id: "g:demo:standard-library") {
    library(
      last: 5
      orderBy: { field: LAST_MODIFIED, direction: DESC }
    ) {
      nodes {
        title
        lastModified
      }
      pageInfo {
        hasPreviousPage
        startCursor
      }
    }
  }
}
`;

const byTitle = `# A library from A to Z. A client with the sort keys of
# its entries can place an item that was renamed.
query ByTitle {
  principal(id: "g:demo:standard-library") {
    library(
      first: 10
      orderBy: { field: TITLE, direction: ASC }
    ) {
      edges {
        sortKey(field: TITLE)
        node {
          title
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

export const page: Task = {
  title: 'Page through a library',
  examples: [
    {
      query: libraryPage,
      variables: '{\n  "id": "g:demo:standard-library",\n  "first": 20\n}',
      as: 'Ann',
    },
    { query: nextPage, variables: '{\n  "after": null\n}', as: 'Ann' },
    { query: oldest, as: 'Ann' },
    { query: byTitle, as: 'Ann' },
  ],
};
