import type { Example, Task } from './task.ts';

const readNote = `# A note in a language, and the other languages it
# has. Without a locale the gateway uses the browser's
# Accept-Language header.
query ReadNote($locale: String) {
  content(id: "c:demo:welcome") {
    title
    revision(locale: $locale) {
      number
      locale
      title
      body
    }
    branch {
      locales
    }
  }
}
`;

const createNote = `# As Ann: create a note with its first text, which is
# revision 0. The examples below use it: their
# contentId is the id from here.
mutation CreateNote {
  createContent(
    input: {
      kind: NOTE
      title: "On trying things out"
      visibility: LOGGEDIN
      body: "# Hello"
      locale: "en"
    }
  ) {
    content {
      id
      title
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const saveDraft = `# As Ann: save an unfinished text. Nobody else sees
# it, and you can save it as often as you like.
mutation SaveDraft($contentId: ID!) {
  saveDraft(
    input: {
      contentId: $contentId
      locale: "en"
      title: "On trying things out"
      body: "# Hello, unfinished"
    }
  ) {
    draft {
      version
      baseRevision
      isStale
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const publishDraft = `# As Ann: publish the draft. It becomes the next
# revision, and everyone who sees the note reads it.
mutation PublishDraft($contentId: ID!) {
  publishDraft(input: { contentId: $contentId, locale: "en" }) {
    revision {
      number
      isCurrent
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const suggest = `# As Cleo, who may read the note but not edit it:
# suggest another text to its editors.
mutation Suggest($contentId: ID!) {
  suggestRevision(
    input: {
      contentId: $contentId
      locale: "en"
      title: "On trying things out"
      body: "# Hello, all"
      note: "It is read by many."
    }
  ) {
    suggestion {
      id
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

const accept = `# As Ann: accept the suggestion. It becomes a
# revision, unless another text has become current
# since: then the answer is REVISION_CONFLICT.
mutation Accept($id: ID!) {
  decideSuggestion(input: { id: $id, decision: ACCEPT }) {
    suggestion {
      state
    }
    revision {
      number
      body
    }
    userErrors {
      code
      field
      message
    }
  }
}
`;

const history = `# As Ann: the revisions of the note, newest first.
# Viewers who may not edit it see only the current
# one.
query History($contentId: ID!) {
  content(id: $contentId) {
    branch {
      revisions(locale: "en", first: 10) {
        nodes {
          number
          isCurrent
          createdAt
          author {
            displayName
          }
        }
      }
    }
  }
}
`;

const contentId = { contentId: ['CreateNote', 'createContent', 'content', 'id'] } satisfies Example['from'];
const aboutIt = '{\n  "contentId": ""\n}';

export const notes: Task = {
  title: 'Write notes',
  examples: [
    { query: readNote, variables: '{\n  "locale": "de"\n}', as: 'Anonymous' },
    { query: createNote, as: 'Ann' },
    { query: saveDraft, variables: aboutIt, as: 'Ann', from: contentId },
    { query: publishDraft, variables: aboutIt, as: 'Ann', from: contentId },
    { query: suggest, variables: aboutIt, as: 'Cleo', from: contentId },
    {
      query: accept,
      variables: '{\n  "id": ""\n}',
      as: 'Ann',
      from: { id: ['Suggest', 'suggestRevision', 'suggestion', 'id'] },
    },
    { query: history, variables: aboutIt, as: 'Ann', from: contentId },
  ],
};
