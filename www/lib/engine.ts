import { guarded, guardedSync } from "./errors.js";
import { named, RequestPool } from "./requests.js";
import { type ExplicitTensor, report, type Tensor } from "./tensor.js";
import type { EngineReport, FrameSource, LedgerSnapshot, RunTimes, TensorDesc, TypedArray } from "./types.js";
import type { LoadedHandle, PoolHandle } from "./wasm/frameway.js";

/** Inputs of a run by name: arrays, tensors or frames. */
export type Feeds = Readonly<Record<string, TypedArray | Tensor | ExplicitTensor | FrameSource>>;

/** A model compiled for one adapter and loaded onto it. */
export class Engine {
  readonly #handle: LoadedHandle;
  readonly #ledger: () => LedgerSnapshot;
  /** Identity cards of the inputs, in the model's order. */
  readonly inputs: readonly TensorDesc[];
  /** Identity cards of the outputs, in the model's order. */
  readonly outputs: readonly TensorDesc[];
  /** Times of the last {@link run}. */
  lastTimes: RunTimes | undefined;

  /** @internal */
  constructor(handle: LoadedHandle, ledger: () => LedgerSnapshot) {
    this.#handle = handle;
    this.#ledger = ledger;
    this.inputs = report(handle.inputs);
    this.outputs = report(handle.outputs);
  }

  /** The model's name. */
  get name(): string {
    return this.#handle.name;
  }

  /** Runs the model once and gives its outputs as tensors that live on. Calls wait for one another. */
  async run(feeds: Feeds): Promise<Record<string, Tensor>> {
    const started = guardedSync(() => this.#handle.run(feeds));
    return guarded(async () => {
      const { outputs, times } = (await started) as { outputs: unknown[]; times: string };
      this.lastTimes = report<RunTimes>(times);
      return named(this.outputs, outputs);
    });
  }

  /** `n` requests, each with an arena of its own; the weights are shared. Their memory is there once one is acquired. */
  requests(n = 2): RequestPool {
    const making = guarded(async () => (await this.#handle.requests(n)) as PoolHandle);
    return new RequestPool(making, n, this.outputs, this.inputs[0]?.name ?? "");
  }

  /** What the engine is made of: `names` for operators and sizes, `detailed` for kernels and every tensor, too. */
  inspect(detail: "names" | "detailed" = "detailed"): EngineReport {
    return guardedSync(() => {
      const made = report<EngineReport>(this.#handle.inspect(detail));
      return { ...made, accounts: { ...made.accounts, copies: { edges: this.#ledger().edges } } };
    });
  }

  /** How long loading took. */
  get loadTimes(): { kernelsMs: number; weightsMs: number; kernelsCompiled: number; kernelsReused: number } {
    return report(this.#handle.loadTimes);
  }

  /** Whether video frames may be read in place, as external textures (default). For comparing the two ways. */
  set externalTextures(allowed: boolean) {
    this.#handle.setExternalTextures(allowed);
  }

  /** Waits for what is in flight, then frees the weights and every request. */
  async close(): Promise<void> {
    await guarded(() => this.#handle.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
