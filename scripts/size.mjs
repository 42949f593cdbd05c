// What a page downloads for `import "frameway"`, as a server sends it, and the limit we hold it to.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

/** Most bytes of wasm and JavaScript together after brotli, in units of 1000. */
const LIMIT_KB = 400;

/** Size of a file after brotli (quality 11), in units of 1000 bytes. */
export async function brotliKb(path) {
  return brotliCompressSync(await readFile(path)).length / 1000;
}

/** Sizes of `files` in `folder` in words; an error where they are more than the limit. */
export async function checkSize(folder, files) {
  const sizes = await Promise.all(files.map(async (name) => ({ name, kb: await brotliKb(join(folder, name)) })));
  const total = sizes.reduce((sum, size) => sum + size.kb, 0);
  const list = sizes.map(({ name, kb }) => `${name} ${kb.toFixed(1)}`).join(", ");
  if (total > LIMIT_KB)
    throw new Error(`a page downloads ${total.toFixed(1)} KB of brotli, at most ${LIMIT_KB} are allowed: ${list}`);
  return `${total.toFixed(1)} of ${LIMIT_KB} KB brotli: ${list}`;
}
