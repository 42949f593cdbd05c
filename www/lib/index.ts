import init, { version as crateVersion } from "./wasm/frameway.js";

/** The version of the package, as its wasm module reports it. */
export async function version(): Promise<string> {
  await init();
  return crateVersion();
}
