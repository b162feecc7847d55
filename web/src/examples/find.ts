import type { Task } from './task.ts';

const latest = `# What is new in a tenant, for everyone: its PUBLIC
# items, newest first.
query Latest {
  latestContent(tenant: "demo", first: 5) {
    edges {
      cursor
      node {
        title
        createdAt
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
`;

const people = `# Look up people and groups while a name is typed.
# A prefix finds by each word of a name. Only those
# signed in to the tenant may ask.
query FindPeople($prefix: String) {
  principals(tenant: "demo", prefix: $prefix, first: 5) {
    nodes {
      __typename
      id
      displayName
    }
  }
}
`;

const byUrl = `# An item by its URL; any form of it will do.
query ByUrl {
  contentByUrl(
    url: "HTTPS://demo.example/notes/./welcome#top"
    tenant: "demo"
  ) {
    id
    url
    title
    kind
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

const limits = `# How large requests may be, so that a client need
# not find out by hitting a limit.
query Limits {
  limits {
    defaultPageSize
    maxPageSize
  }
}
`;

export const find: Task = {
  title: 'Find your way',
  examples: [
    { query: latest, as: 'Anonymous' },
    { query: people, variables: '{\n  "prefix": "an"\n}', as: 'Cleo' },
    { query: byUrl, as: 'Anonymous' },
    { query: whoSeesWhat, as: 'Cleo' },
    { query: limits, as: 'Anonymous' },
  ],
};
