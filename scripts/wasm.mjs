// Builds the crate into www/lib/wasm: cargo (release), the wasm-bindgen generator, wasm-opt. Skipped when no source has changed.

import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";
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

async function sizes() {
  const bytes = await readFile(WASM);
  const kib = (n) => `${(n / 1024).toFixed(0)} KiB`;
  return `frameway_bg.wasm ${kib(bytes.length)}, ${kib(brotliCompressSync(bytes).length)} brotli`;
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
  });
  await step("wasm-opt", async () => {
    const small = join(OUTPUT, "optimised.wasm");
    await run(process.execPath, [join(root, "node_modules", "binaryen", "bin", "wasm-opt"), WASM, "-Oz", "-o", small]);
    if ((await stat(small)).size < (await stat(WASM)).size) await rename(small, WASM);
    else await rm(small);
    await writeStamp(STAMP, hash);
    return sizes();
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) buildWasm().catch(fail);
