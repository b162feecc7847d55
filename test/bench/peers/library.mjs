// The libraries that the peers serve: plain objects in memory, read from the file that the bench
// has written.
import { readFileSync } from 'node:fs';

export const typeDefs = readFileSync(new URL('schema.graphqls', import.meta.url), 'utf8');

const users = new Map();
const libraries = new Map();

for (const { owner, edges } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  users.set(owner.id, owner);
  for (const { node } of edges) {
    users.set(node.createdBy.id, node.createdBy);
    node.createdBy = node.createdBy.id;
  }
  libraries.set(owner.id, edges);
}

function page(edges, { first = 20, after, orderBy }) {
  const ordered = orderBy.direction === 'DESC' ? edges.toReversed() : edges;
  const start = after ? ordered.findIndex((edge) => edge.cursor === after) + 1 : 0;
  if (after && start === 0) throw new Error('no entry has this cursor');
  const shown = ordered.slice(start, start + first);
  return { edges: shown, pageInfo: { hasNextPage: start + first < ordered.length, endCursor: shown.at(-1)?.cursor } };
}

// All data is in memory, so a data loader would save nothing.
export const resolvers = {
  Query: { user: (_, { id }) => users.get(id) },
  User: { library: ({ id }, args) => page(libraries.get(id) ?? [], args) },
  Content: { createdBy: ({ createdBy }) => users.get(createdBy) },
};

export const host = '127.0.0.1';
