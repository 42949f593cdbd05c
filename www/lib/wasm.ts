import init, * as exports from "./wasm/frameway.js";

/** The functions and classes of the wasm module. */
export type Wasm = typeof exports;

let ready: Promise<Wasm> | undefined;

/** Where the module lies: beside this file in the package, in a folder of its own in the sources. */
const PLACES = ["./frameway_bg.wasm", "./wasm/frameway_bg.wasm"];

async function readFromDisk(): Promise<Uint8Array> {
  const { readFile } = await import("node:fs/promises");
  let failure: unknown;
  for (const place of PLACES) {
    try {
      return await readFile(new URL(place, import.meta.url));
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

async function start(): Promise<Wasm> {
  // fetch() reads no file: addresses under Node.
  if (import.meta.url.startsWith("file:") && typeof process !== "undefined") {
    await init({ module_or_path: await readFromDisk() });
  } else {
    await init();
  }
  return exports;
}

/** Loads the wasm module, once. Under Node it is read from the file beside this one. */
export function wasm(): Promise<Wasm> {
  ready ??= start().catch((error: unknown) => {
    ready = undefined;
    throw error;
  });
  return ready;
}
