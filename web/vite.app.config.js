// The build of the reference client. It is separate from that of GraphiQL, because
// the gateway serves the client in production too, but not GraphiQL.
import { defineConfig } from 'vite';
import graphiql from './vite.config.js';

export default defineConfig({
  ...graphiql,
  root: 'app',
  base: '/app/',
  publicDir: '../public',
  build: {
    ...graphiql.build,
    outDir: '../dist/app',
    chunkSizeWarningLimit: 800,
  },
});
