import { wasm } from "./wasm.js";

/** The version of the package, as its wasm module reports it. */
export async function version(): Promise<string> {
  return (await wasm()).version();
}
