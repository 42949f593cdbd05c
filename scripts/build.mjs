// `npm run build`: the npm package in dist/ and the demo page, as static files, in dist-demo/.

import { existsSync } from "node:fs";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkSize } from "./size.mjs";
import { fail, root, run, seconds, step } from "./steps.mjs";
import { buildWasm } from "./wasm.mjs";

const DIST = join(root, "dist");

/** The package's entry points: name in dist/ → source. */
export const entries = {
  index: "www/lib/index.ts",
  cli: "www/lib/cli.ts",
  copies: "www/diagram/copies.ts",
  arena: "www/diagram/arena.ts",
  watermarks: "www/diagram/watermarks.ts",
};

const present = Object.fromEntries(Object.entries(entries).filter(([, source]) => existsSync(join(root, source))));

/** The files that a page loads for `import "frameway"`: the entry, all it imports, and the wasm. */
function downloads(output) {
  const files = new Set(["index.js"]);
  for (const name of files) {
    const imports = output.find((file) => file.fileName === name)?.imports ?? [];
    for (const other of imports) if (output.some((file) => file.fileName === other)) files.add(other);
  }
  return [...files, "frameway_bg.wasm"];
}

async function bundle() {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: present,
    cwd: root,
    platform: "neutral",
    external: /^node:/,
    resolve: { extensionAlias: { ".js": [".ts", ".js"] }, mainFields: ["module", "main"] },
    experimental: { resolveNewUrlToAsset: false },
  });
  // Everything lies flat in one folder, so that `new URL("./frameway_bg.wasm", import.meta.url)` holds in every chunk.
  const { output } = await build.write({
    dir: DIST,
    format: "esm",
    minify: true,
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunk-[hash].js",
  });
  await build.close();
  await copyFile(join(root, "www/lib/wasm/frameway_bg.wasm"), join(DIST, "frameway_bg.wasm"));
  return downloads(output);
}

async function types() {
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", "tsconfig.types.json"]);
  await mkdir(join(DIST, "types/lib/wasm"), { recursive: true });
  await copyFile(join(root, "www/lib/wasm/frameway.d.ts"), join(DIST, "types/lib/wasm/frameway.d.ts"));
  for (const [name, source] of Object.entries(present)) {
    const path = source.replace(/^www\//, "./types/").replace(/\.ts$/, ".js");
    await writeFile(join(DIST, `${name}.d.ts`), `export * from "${path}";\n`);
  }
}

/** dist/ and dist-demo/, from scratch. */
export async function build() {
  await buildWasm();
  await rm(DIST, { recursive: true, force: true });
  const files = await step("package", bundle);
  await step("download", () => checkSize(DIST, files));
  await step("types", types);
  await step("demo page", async () => {
    const vite = await import("vite");
    await vite.build({ root, configFile: join(root, "vite.config.ts"), logLevel: "warn" });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const began = performance.now();
  build().then(() => console.log(`\nbuilt dist/ and dist-demo/ in ${seconds(began)}`), fail);
}
