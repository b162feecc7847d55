// The configuration of Hive Gateway: hive-gateway supergraph FILE --config-path hive.config.mjs
import { defineConfig } from '@graphql-hive/gateway';

export const gatewayConfig = defineConfig({
  // Hive Gateway sends no header of the client on unless it is told so.
  propagateHeaders: {
    fromClientToSubgraphs({ request }) {
      return { authorization: request.headers.get('authorization') };
    },
  },
});
