// The second subgraph: bookmarks, stored in a file of JSON lines. It has no secret
// and verifies no token: it forwards the Authorization header to Carrel and
// queries the viewer. So both subgraphs need the header, and the configurations
// of the gateways forward it.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { GraphQLError, parse } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';

const typeDefs = parse(readFileSync(new URL('bookmarks.graphql', import.meta.url), 'utf8'));

function refuse(code, message) {
  throw new GraphQLError(message, { extensions: { code } });
}

// BookmarkStore stores all bookmarks, by user and item. The file has a line for each
// change; the last line of a bookmark is its state.
class BookmarkStore {
  constructor(file) {
    this.file = file;
    this.byUser = new Map();
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line) this.apply(JSON.parse(line));
    }
  }

  apply({ user, contentId, note, createdAt }) {
    const own = this.byUser.get(user) ?? new Map();
    this.byUser.set(user, own);
    own.delete(contentId); // a bookmark that is set again becomes the newest
    if (createdAt) own.set(contentId, { content: { __typename: 'Content', id: contentId }, note, createdAt });
  }

  change(line) {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`);
    this.apply(line);
  }

  of(user) {
    return [...(this.byUser.get(user)?.values() ?? [])].reverse();
  }

  find(user, contentId) {
    return this.byUser.get(user)?.get(contentId) ?? null;
  }
}

// Caller is the sender of a request. It queries Carrel with the sender's Authorization header.
class Caller {
  constructor(carrel, authorization) {
    this.carrel = carrel;
    this.authorization = authorization;
  }

  async ask(query, variables) {
    const response = await fetch(this.carrel, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(this.authorization && { authorization: this.authorization }) },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    if (errors) refuse(errors[0].extensions?.code ?? 'INTERNAL_SERVER_ERROR', errors[0].message);
    return data;
  }

  // viewer returns the id of the user, null for an anonymous one. It queries Carrel
  // once for each request, and only if a resolver needs it.
  viewer() {
    this.asked ??= this.authorization ? this.ask('{ viewer { id } }').then((data) => data.viewer?.id ?? null) : Promise.resolve(null);
    return this.asked;
  }

  async signedIn() {
    return (await this.viewer()) ?? refuse('UNAUTHENTICATED', 'Sign in to keep bookmarks.');
  }
}

function resolversOf(store) {
  return {
    Query: { bookmarks: async (_, __, caller) => store.of(await caller.viewer()) },
    User: { bookmarks: async ({ id }, _, caller) => (id === (await caller.viewer()) ? store.of(id) : []) },
    Content: { bookmark: async ({ id }, _, caller) => store.find(await caller.viewer(), id) },
    Mutation: {
      async bookmark(_, { contentId, note }, caller) {
        const user = await caller.signedIn();
        const { content } = await caller.ask('query ($id: ID!) { content(id: $id) { id } }', { id: contentId });
        if (!content) refuse('NOT_FOUND', 'There is no such item, or you may not see it.');
        store.change({ user, contentId, note, createdAt: new Date().toISOString() });
        return store.find(user, contentId);
      },
      async removeBookmark(_, { contentId }, caller) {
        const user = await caller.signedIn();
        const was = store.find(user, contentId);
        if (was) store.change({ user, contentId });
        return was;
      },
    },
  };
}

// serveBookmarks serves the subgraph until it is closed.
export async function serveBookmarks({ carrel, file, port = 0 }) {
  const schema = buildSubgraphSchema({ typeDefs, resolvers: resolversOf(new BookmarkStore(file)) });
  const handler = createHandler({ schema, context: (request) => new Caller(carrel, request.raw.headers.authorization) });
  const server = createServer(handler);
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/graphql`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
