import type { Example, Task } from './task.ts';

const latest = `# The public pastes, newest first.
query LatestPastes {
  latestPastes(first: 5) {
    edges {
      cursor
      node {
        id
        title
        createdAt
        expiresAt
      }
    }
    pageInfo {
      startCursor
      hasNextPage
    }
  }
}
`;

const create = `# Create a paste, signed in or not. Keep the secret:
# it cannot be read again, and anyone with it may
# change and delete the paste.
mutation CreatePaste {
  createPaste(
    input: {
      title: "panic in worker.go"
      body: "goroutine 7 [running]:\\n..."
    }
  ) {
    paste {
      id
      version
    }
    secret
    userErrors {
      code
      field
      message
    }
  }
}
`;

const created = `# Run it and leave it open: it returns each new
# public paste. With a cursor from LatestPastes as
# "after" it first returns the pastes since then.
subscription PasteCreated($after: Cursor) {
  pasteCreated(after: $after) {
    id
    title
    createdAt
  }
}
`;

const update = `# Make the paste private: from now on it is in no
# list, and can be read only by its id.
mutation UpdatePaste($id: ID!, $secret: String!) {
  updatePaste(
    input: { id: $id, secret: $secret, isPrivate: true }
  ) {
    paste {
      isPrivate
      version
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const remove = `# Delete the paste.
mutation DeletePaste($id: ID!, $secret: String!) {
  deletePaste(input: { id: $id, secret: $secret }) {
    deletedPasteId
    userErrors {
      code
      field
      message
    }
  }
}
`;

const itsPaste = {
  id: ['CreatePaste', 'createPaste', 'paste', 'id'],
  secret: ['CreatePaste', 'createPaste', 'secret'],
} satisfies Example['from'];
const aboutIt = '{\n  "id": "",\n  "secret": ""\n}';

export const pastes: Task = {
  title: 'Create pastes',
  examples: [
    { query: latest, as: 'Anonymous' },
    { query: create, as: 'Anonymous' },
    {
      query: created,
      variables: '{\n  "after": null\n}',
      as: 'Anonymous',
      from: { after: ['LatestPastes', 'latestPastes', 'pageInfo', 'startCursor'] },
    },
    { query: update, variables: aboutIt, as: 'Anonymous', from: itsPaste },
    { query: remove, variables: aboutIt, as: 'Anonymous', from: itsPaste },
  ],
};
