// The tools a build needs: what must be there is checked, what can be installed is installed. Every step is a no-op when it is done already.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ask, cargoProgress, exe, root, run } from "./steps.mjs";

const MIN_NODE = [20, 19];
const MIN_RUST = [1, 90];
const WASM_TARGET = "wasm32-unknown-unknown";
const TOOLS_TARGET = join(root, "target", "tools");

/** Where the pinned wasm-bindgen programs lie once built. */
export const toolsFolder = join(TOOLS_TARGET, "debug");

/** A hash over files (relative to the root), by path and content. */
export async function hashFiles(paths) {
  const hash = createHash("sha256");
  for (const path of paths)
    hash
      .update(path)
      .update("\0")
      .update(await readFile(join(root, path)))
      .update("\0");
  return hash.digest("hex");
}

/** True where `file` exists and `stamp` holds `hash`. */
export async function isFresh(file, stamp, hash) {
  return existsSync(file) && existsSync(stamp) && (await readFile(stamp, "utf8")) === hash;
}

/** Writes `hash` into `stamp`, making its folder. */
export async function writeStamp(stamp, hash) {
  await mkdir(join(stamp, ".."), { recursive: true });
  await writeFile(stamp, hash);
}

function atLeast(version, [major, minor]) {
  const [a = 0, b = 0] = version.split(".").map(Number);
  return a > major || (a === major && b >= minor);
}

/** Node and Rust in the versions we need, and the wasm32 target. */
export async function checkToolchains() {
  if (!atLeast(process.versions.node, MIN_NODE)) {
    throw new Error(
      `Node ${MIN_NODE.join(".")} or newer is needed, this is ${process.versions.node}: see https://nodejs.org`,
    );
  }
  const rustc = await ask("rustc", "--version");
  if (!rustc || !(await ask("cargo", "--version")))
    throw new Error("Rust is needed (rustc and cargo): install rustup from https://rustup.rs");
  const rust = /\d+\.\d+\.\d+/.exec(rustc)?.[0] ?? "0";
  if (!atLeast(rust, MIN_RUST))
    throw new Error(`Rust ${MIN_RUST.join(".")} or newer is needed, this is ${rust}: run "rustup update stable"`);

  const sysroot = await ask("rustc", "--print", "sysroot");
  let added = "";
  if (!sysroot || !existsSync(join(sysroot, "lib", "rustlib", WASM_TARGET))) {
    if (!(await ask("rustup", "--version")))
      throw new Error(`Rust's ${WASM_TARGET} target is missing and rustup is not here to add it`);
    await run("rustup", ["target", "add", WASM_TARGET]);
    added = `, added ${WASM_TARGET}`;
  }
  return `node ${process.versions.node}, rust ${rust}${added}`;
}

/** The npm packages of package-lock.json. */
export async function npmPackages(note) {
  const stamp = join(root, "node_modules", ".frameway-lock");
  const hash = await hashFiles(["package-lock.json"]);
  if (await isFresh(join(root, "node_modules", "vite", "package.json"), stamp, hash)) return "up to date";
  note("npm ci");
  await run(process.platform === "win32" ? "npm.cmd" : "npm", ["ci", "--no-audit", "--no-fund"]);
  await writeStamp(stamp, hash);
  return "installed";
}

/**
 * The pinned wasm-bindgen programs, built from tools/wasm-bindgen: `generate` alone, or with `cli` also `wasm-bindgen` and
 * `wasm-bindgen-test-runner`.
 */
export async function wasmBindgen(note, { cli = false } = {}) {
  const bins = cli ? ["generate", "wasm-bindgen", "wasm-bindgen-test-runner"] : ["generate"];
  const sources = ["Cargo.toml", "Cargo.lock", "src/generate.rs", "src/wasm_bindgen.rs", "src/test_runner.rs"];
  const hash = await hashFiles(sources.map((file) => `tools/wasm-bindgen/${file}`));
  const last = bins[bins.length - 1];
  const stamp = join(TOOLS_TARGET, `${last}.stamp`);
  if (await isFresh(join(toolsFolder, exe(last)), stamp, hash)) return "up to date";
  const args = ["build", "--locked", "--manifest-path", "tools/wasm-bindgen/Cargo.toml", "--target-dir", TOOLS_TARGET];
  for (const bin of bins) args.push("--bin", bin);
  if (cli) args.push("--features", "cli");
  await run("cargo", args, { onLine: cargoProgress(note) });
  await writeStamp(stamp, hash);
  return "built";
}
