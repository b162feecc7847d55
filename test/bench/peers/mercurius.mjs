// Mercurius on Fastify, compiling each operation at its first use.
import Fastify from 'fastify';
import mercurius from 'mercurius';
import { host, resolvers, typeDefs } from './library.mjs';

const app = Fastify();
app.register(mercurius, { schema: typeDefs, resolvers, jit: 1, graphiql: false });
console.log(`${await app.listen({ host, port: 0 })}/graphql`);
