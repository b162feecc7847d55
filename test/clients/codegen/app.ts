// An application with GraphQL Code Generator: documents as strings, whose results
// and variables have types. These must have the same nullable fields and the same
// enum values as the schema.
import { graphql, useFragment as read } from './made';
import type { ChangedSubscription, ItemFragment, LibraryQueryVariables, TypedDocumentString } from './made/graphql';

const Item = graphql(`
  fragment Item on Content {
    id
    kind
    title
    description
    version
    lastModified
    createdBy {
      displayName
    }
  }
`);

const Library = graphql(`
  query Library($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor) {
    principal(id: $id) {
      __typename
      ... on Group {
        viewerRole
      }
      library(first: $first, after: $after, last: $last, before: $before) {
        edges {
          cursor
          node {
            ...Item
          }
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
`);

const Update = graphql(`
  mutation Update($input: UpdateContentInput!) {
    updateContent(input: $input) {
      content {
        ...Item
      }
      userErrors {
        code
        field
      }
    }
  }
`);

const Changed = graphql(`
  subscription Changed($id: ID!, $after: Cursor) {
    libraryChanged(principalId: $id, after: $after) {
      __typename
      ... on LibraryEntryPlaced {
        edge {
          node {
            ...Item
          }
        }
      }
      ... on LibraryEntryRemoved {
        contentId
      }
    }
  }
`);

export type Send = (request: { query: string; variables: unknown }) =>
  Promise<{ data?: unknown; errors?: readonly { message: string }[] | undefined }>;
export type Follow = (request: { query: string; variables: Record<string, unknown> }) => AsyncIterable<{ data?: unknown }>;

export class Application {
  constructor(
    private readonly send: Send,
    private readonly follow: Follow,
  ) {}

  async execute<Result, Variables>(document: TypedDocumentString<Result, Variables>, variables: NoInfer<Variables>): Promise<Result> {
    const { data, errors } = await this.send({ query: document.toString(), variables });
    if (errors) throw new Error(errors.map((e) => e.message).join('; '));
    return data as Result;
  }

  // walk reads a whole library in pages, forwards or backwards.
  async walk(id: string, size: number, backwards = false): Promise<readonly ItemFragment[]> {
    let items: ItemFragment[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < 100; page++) {
      const variables: LibraryQueryVariables = backwards ? { id, last: size, before: cursor } : { id, first: size, after: cursor };
      const { principal } = await this.execute(Library, variables);
      if (!principal) return items;
      const { edges, pageInfo } = principal.library;
      const nodes = edges.map((edge) => read(Item, edge.node));
      items = backwards ? [...nodes, ...items] : [...items, ...nodes];
      cursor = (backwards ? pageInfo.startCursor : pageInfo.endCursor) ?? null;
      if (!(backwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return items;
    }
    throw new Error('the library does not end');
  }

  // rename returns the new title, or the error if somebody else changed the item first.
  async rename(id: string, title: string, expectedVersion: number): Promise<string> {
    const { updateContent } = await this.execute(Update, { input: { id, title, expectedVersion } });
    const fault = updateContent?.userErrors[0];
    if (fault) return fault.code === 'CONFLICT' ? `conflict in ${fault.field?.join('.')}` : fault.code;
    const item = read(Item, updateContent?.content);
    return item?.kind === 'NOTE' ? item.title : '';
  }

  // changes returns the changes of a library after a cursor.
  async *changes(id: string, after: string): AsyncGenerator<string> {
    for await (const { data } of this.follow({ query: Changed.toString(), variables: { id, after } })) {
      const { libraryChanged } = data as ChangedSubscription;
      switch (libraryChanged.__typename) {
        case 'LibraryEntryPlaced':
          yield `placed ${read(Item, libraryChanged.edge.node).title}`;
          break;
        case 'LibraryEntryRemoved':
          yield `removed ${libraryChanged.contentId}`;
      }
    }
  }
}
