import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { sourceDigest } from "./digest.ts";

const root = fileURLToPath(new URL(".", import.meta.url)).replace(/\/$/, "");

export default defineConfig({
  root,
  // Served at the root of the server, whose content security policy allows nothing inline.
  base: "/",
  build: {
    outDir: "../src/protorynet/server/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: { proxy: { "/v1": process.env.PROTORYNET_SERVER ?? "http://127.0.0.1:8000" } },
  plugins: [
    {
      name: "source-digest",
      generateBundle() {
        const source = JSON.stringify({ sources: sourceDigest(root) }) + "\n";
        this.emitFile({ type: "asset", fileName: "build.json", source });
      },
    },
  ],
});
