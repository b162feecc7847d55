import type { Task } from './task.ts';

const latest = `# The newest items of a tenant that are PUBLIC, and
# so visible to everyone.
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
# A prefix matches each word of a name. Only viewers
# signed in to the tenant may run this.
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

const byUrl = `# An item by its URL, in any form.
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

const whoSeesWhat = `# Run this as each viewer in turn. Objects that the
# viewer may not see are null, as if they did not
# exist.
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

const limits = `# The limits of requests. Clients can read them here
# instead of discovering them by errors.
query Limits {
  limits {
    defaultPageSize
    maxPageSize
  }
}
`;

export const find: Task = {
  title: 'Find items and people',
  examples: [
    { query: latest, as: 'Anonymous' },
    { query: people, variables: '{\n  "prefix": "an"\n}', as: 'Cleo' },
    { query: byUrl, as: 'Anonymous' },
    { query: whoSeesWhat, as: 'Cleo' },
    { query: limits, as: 'Anonymous' },
  ],
};
