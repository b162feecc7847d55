import type { Task } from './task.ts';

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

const oldest = `# The other end: the entries that have not changed
# for longest, read backwards from the end.
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
  ],
};
