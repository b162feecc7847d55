import type { Task } from './task.ts';

const libraryChanged = `# Run it and leave it open: it returns each change of
# a library as it happens. Change something in a
# second window (Update, as Ann). The square button,
# or choosing another viewer, ends it. It first returns
# the changes after the cursor "after": here, the
# newest one. With null, it waits for the next change.
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

export const follow: Task = {
  title: 'Follow changes',
  examples: [
    {
      query: libraryChanged,
      variables: '{\n  "after": null\n}',
      as: 'Ben',
      begin: {
        variable: 'after',
        query: '{ principal(id: "g:demo:standard-library") { library(first: 2, orderBy: {field: LAST_MODIFIED, direction: DESC}) { edges { cursor } } } }',
        path: ['principal', 'library', 'edges', 1, 'cursor'],
      },
      from: { after: ['LibraryPage', 'principal', 'library', 'pageInfo', 'endCursor'] },
    },
  ],
};
