import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: "../src/cadenza/surfaces/dashboard/static",
    emptyOutDir: true,
    target: "es2022",
    // Everything is a file of this origin: the policy of the pages allows no inline script or style.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
