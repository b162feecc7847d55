import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

// The Go handler (web.go) replaces this placeholder by a fresh nonce in every page
// that it serves.
const NONCE = 'CARREL-NONCE';

export default defineConfig({
  base: '/',
  html: { cspNonce: NONCE },
  resolve: {
    // Monaco's own copy of DOMPurify is older than the advisories about it.
    alias: [{ find: /^\.{1,2}\/(.*\/)?dompurify\/dompurify\.js$/,
      replacement: fileURLToPath(new URL('src/dompurify.ts', import.meta.url)) }],
  },
  build: {
    outDir: 'dist',
    // Every build restores .keep from public/: the folder must exist in a clone
    // without a build, or the Go embed directive has no match.
    emptyOutDir: true,
    // Inlined assets would be data: URLs, which the policy would have to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    // Monaco is one editor; splitting it further would not make the page
    // appear earlier.
    chunkSizeWarningLimit: 4096,
    rolldownOptions: {
      onLog(level, log, handle) {
        // "use client" only matters to server rendering; hundreds of warnings
        // about it would hide a real one.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
  worker: { format: 'es' },
});
