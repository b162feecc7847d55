import type { Task } from './task.ts';

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

export const follow: Task = {
  title: 'Follow changes',
  examples: [
    {
      query: libraryChanged,
      variables: '{\n  "after": null\n}',
      as: 'Ben',
      from: { after: ['LibraryPage', 'principal', 'library', 'pageInfo', 'endCursor'] },
    },
  ],
};
