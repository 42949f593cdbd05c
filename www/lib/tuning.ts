import type { AdapterInfo } from "./types.js";
import type { RuntimeHandle } from "./wasm/frameway.js";

/** How long kernel variants are measured before the first model is compiled, in milliseconds, or one measurement longer. */
const BUDGET_MS = 100;

/** The page's storage, where it has one: workers have none, and a page may be refused it. */
function storage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

/**
 * Measures which kernel variants the adapter runs fastest, or takes what an earlier visit measured on it: the table is kept in the
 * page's local storage under the adapter's name and the package's version.
 */
export async function tune(handle: RuntimeHandle, adapter: AdapterInfo, version: string): Promise<void> {
  const store = storage();
  const key = `frameway/${version}/kernels/${adapter.vendor}/${adapter.architecture}`;
  const kept = store?.getItem(key) ?? undefined;
  const measured = (await handle.tune(BUDGET_MS, kept)) as string;
  if (measured === kept) return;
  try {
    store?.setItem(key, measured);
  } catch {
    // Full: it is measured again at the next visit.
  }
}
