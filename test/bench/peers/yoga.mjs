// GraphQL Yoga on Node's HTTP server. It caches parsed and validated documents by default.
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
import { host, resolvers, typeDefs } from './library.mjs';

const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), graphiql: false, landingPage: false });
const server = createServer(yoga);
server.listen(0, host, () => console.log(`http://${host}:${server.address().port}${yoga.graphqlEndpoint}`));
