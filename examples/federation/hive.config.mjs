// The configuration of Hive Gateway: hive-gateway supergraph FILE --config-path hive.config.mjs
import { defineConfig } from '@graphql-hive/gateway';

export const gatewayConfig = defineConfig({
  // Hive Gateway forwards no header of the client unless it is configured to.
  propagateHeaders: {
    fromClientToSubgraphs({ request }) {
      return { authorization: request.headers.get('authorization') };
    },
  },
});
