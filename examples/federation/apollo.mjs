// Apollo Gateway in front of both subgraphs.
import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';

// Apollo Gateway forwards no header of the client unless it is configured to.
class AsTheClient extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    if (context.authorization) request.http.headers.set('authorization', context.authorization);
  }
}

// serveApollo serves a supergraph until it is closed.
export async function serveApollo({ supergraphSdl, port = 0 }) {
  const gateway = new ApolloGateway({ supergraphSdl, buildService: ({ url }) => new AsTheClient({ url }) });
  const server = new ApolloServer({ gateway, includeStacktraceInErrorResponses: false, stopOnTerminationSignals: false });
  const { url } = await startStandaloneServer(server, {
    listen: { port, host: '127.0.0.1' },
    context: async ({ req }) => ({ authorization: req.headers.authorization }),
  });
  return { url, close: () => server.stop() };
}
