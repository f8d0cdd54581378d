import { defineConfig } from 'vite';

// The server embeds what is built here (internal/console/assets.go).
export default defineConfig({
  base: '/',
  build: {
    outDir: '../internal/console/assets/dist',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the pages' policy allows no inline scripts
    modulePreload: { polyfill: false },
  },
});
