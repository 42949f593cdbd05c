import init, * as exports from "./wasm/frameway.js";

/** The functions and classes of the wasm module. */
export type Wasm = typeof exports;

let ready: Promise<Wasm> | undefined;

async function start(): Promise<Wasm> {
  const url = new URL("./wasm/frameway_bg.wasm", import.meta.url);
  if (url.protocol === "file:" && typeof process !== "undefined") {
    const { readFile } = await import("node:fs/promises");
    await init({ module_or_path: await readFile(url) });
  } else {
    await init({ module_or_path: url });
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
