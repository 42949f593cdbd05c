import { guardedSync } from "./errors.js";
import { report } from "./tensor.js";
import type { LedgerSnapshot } from "./types.js";
import type { RuntimeHandle } from "./wasm/frameway.js";

/** What an application may demand of its ledger. */
export interface LedgerBounds {
  /** Most bytes read back in the mean of all frames. */
  toCpuBytesPerFrame?: number;
  /** Most bytes uploaded in the mean of all frames. */
  toGpuBytesPerFrame?: number;
  /** Most kinds of movement that nobody asked for. */
  implicit?: number;
  /** Most buffers made. */
  buffersCreated?: number;
  /** Most bind groups made. */
  bindGroupsCreated?: number;
}

/** The account of every byte that moves between memory spaces and of every buffer made. */
export class Ledger {
  readonly #handle: RuntimeHandle;

  /** @internal */
  constructor(handle: RuntimeHandle) {
    this.#handle = handle;
  }

  /** The account of the present adapter. */
  snapshot(): LedgerSnapshot {
    return report(this.#handle.ledger());
  }

  /** The accounts of all adapters so far, the present one last. */
  accounts(): readonly LedgerSnapshot[] {
    return report(this.#handle.accounts());
  }

  /** Throws where a bound is exceeded: for an application's own tests. */
  assert(bounds: LedgerBounds): void {
    guardedSync(() => this.#handle.assertLedger(JSON.stringify(bounds)));
  }
}
