import type { Task } from './task.ts';

const libraryChanged = `# Run it and leave it open: it returns each change of
# a library as it happens. To show one, this page
# changes strconv as Ann now; change something else in
# a second window (Update, as Ann). The square button,
# or choosing another viewer, ends it. It first returns
# the changes since the cursor "after" was read. With
# null, it waits for the next change.
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
        query: '{ principal(id: "g:demo:standard-library") { library(first: 1, orderBy: {field: LAST_MODIFIED, direction: DESC}) { edges { cursor } } } }',
        path: ['principal', 'library', 'edges', 0, 'cursor'],
        change: 'mutation($text: String!) { updateContent(input: {id: "c:demo:strconv", description: $text}) { userErrors { message } } }',
        by: 'Ann',
      },
      from: { after: ['LibraryPage', 'principal', 'library', 'pageInfo', 'endCursor'] },
    },
  ],
};
