// Builds the crate into www/lib/wasm: cargo (release), the wasm-bindgen generator. Skipped when no source has changed.
// Without wasm-opt: what it makes has fewer bytes, but brotli makes 20 KB more of them (measured with binaryen 132, -Oz).

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliKb } from "./size.mjs";
import { cargoProgress, exe, fail, root, run, step } from "./steps.mjs";
import { checkToolchains, hashFiles, isFresh, npmPackages, toolsFolder, wasmBindgen, writeStamp } from "./tools.mjs";

const OUTPUT = join(root, "www", "lib", "wasm");
const WASM = join(OUTPUT, "frameway_bg.wasm");
const STAMP = join(OUTPUT, ".stamp");
const CRATE_WASM = join(root, "target", "wasm32-unknown-unknown", "release", "frameway.wasm");

async function sourceHash() {
  const files = (await readdir(join(root, "src"), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  return hashFiles([
    ...files.sort(),
    "Cargo.toml",
    "Cargo.lock",
    "tools/wasm-bindgen/Cargo.toml",
    "tools/wasm-bindgen/Cargo.lock",
    "tools/wasm-bindgen/src/generate.rs",
    "scripts/wasm.mjs",
  ]);
}

/** Everything from a clone to www/lib/wasm, in as few minutes as two cores allow. */
export async function buildWasm() {
  await step("toolchains", checkToolchains);
  const hash = await sourceHash();
  const fresh = await isFresh(WASM, STAMP, hash);
  // The three have no need of one another, and the end of the crate's build is one thread of link-time optimisation.
  await Promise.all([
    step("npm packages", npmPackages),
    fresh || step("wasm-bindgen", wasmBindgen),
    fresh ||
      step("crate", (note) =>
        run("cargo", ["build", "--locked", "--release", "--lib", "--target", "wasm32-unknown-unknown"], {
          onLine: cargoProgress(note),
        }).then(() => "release"),
      ),
  ]);
  if (fresh) return step("wasm", async () => `up to date`);
  await step("bindings", async () => {
    await rm(OUTPUT, { recursive: true, force: true });
    await run(join(toolsFolder, exe("generate")), [CRATE_WASM, OUTPUT]);
    await writeStamp(STAMP, hash);
    return `frameway_bg.wasm: ${(await brotliKb(WASM)).toFixed(0)} KB brotli`;
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) buildWasm().catch(fail);
