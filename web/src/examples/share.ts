import type { Task } from './task.ts';

const addLink = `# As Ann: create a link for everyone who is signed in.
# It appears in her library immediately.
mutation AddLink {
  createContent(
    input: {
      kind: LINK
      title: "The Go blog"
      link: "https://go.dev/blog/"
      visibility: LOGGEDIN
    }
  ) {
    content {
      id
      title
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

const shareItem = `# As Ann: put an item into Cleo's library. Cleo can do
# that herself with any item that she may share.
# Sharing again succeeds and changes nothing.
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

const setRoles = `# As Ann: make Cleo an editor of the link that she
# has added. contentId is the id from AddLink.
mutation SetRoles($contentId: ID!) {
  setContentMembers(
    input: {
      contentId: $contentId
      members: [{ principalId: "u:demo:cleo", role: EDITOR }]
    }
  ) {
    content {
      members(first: 5) {
        edges {
          role
          node {
            displayName
          }
        }
      }
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const update = `# As Ann, who manages the item: change it. It moves to
# the newest end of every library that contains it:
# run the first tab again to see that. Other viewers
# get FORBIDDEN.
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

const remove = `# As Cleo: remove an item from her own library. The
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

export const share: Task = {
  title: 'Share',
  examples: [
    { query: addLink, as: 'Ann' },
    {
      query: setRoles,
      variables: '{\n  "contentId": ""\n}',
      as: 'Ann',
      from: { contentId: ['AddLink', 'createContent', 'content', 'id'] },
    },
    { query: shareItem, as: 'Ann' },
    { query: update, as: 'Ann' },
    { query: remove, as: 'Cleo' },
  ],
};
