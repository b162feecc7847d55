// The reference client. It is a build of its own, in a folder of its own: the
// gateway serves it in production too, where GraphiQL must not be found.
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
    chunkSizeWarningLimit: 720,
  },
});
