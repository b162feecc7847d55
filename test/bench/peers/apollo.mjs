// Apollo Server with its own HTTP server. With NODE_ENV=production it serves neither a landing
// page nor introspection, and it caches parsed and validated documents by default.
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { host, resolvers, typeDefs } from './library.mjs';

const { url } = await startStandaloneServer(new ApolloServer({ typeDefs, resolvers }), { listen: { host, port: 0 } });
console.log(url);
