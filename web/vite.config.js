import { defineConfig } from 'vite';

// The Go handler replaces this mark by a fresh nonce in every page it serves;
// web/page.go knows the same word.
const NONCE = 'CARREL-NONCE';

export default defineConfig({
  base: '/',
  html: { cspNonce: NONCE },
  build: {
    outDir: 'dist',
    // public/.keep comes back with every build: the folder must stay in a
    // clone that has never built it, or the Go embed directive has no match.
    emptyOutDir: true,
    // Nothing is inlined as a data: address that the policy would have to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    // Monaco is one editor; splitting it further would not make the page
    // appear earlier.
    chunkSizeWarningLimit: 4096,
    rolldownOptions: {
      onLog(level, log, handle) {
        // "use client" matters to server rendering, which there is none of
        // here; two hundred warnings about it would hide a real one.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
  worker: { format: 'es' },
});
