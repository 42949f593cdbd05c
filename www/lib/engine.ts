import { FramewayError, guarded, guardedSync } from "./errors.js";
import type { GpuObjects } from "./gpu-objects.js";
import { poolByHint, type RequestsOptions } from "./hint.js";
import { type Entry, type Origin, originOf } from "./leaks.js";
import { Profiles, type Shapes } from "./profiles.js";
import { named, RequestPool } from "./requests.js";
import type { ModelFile } from "./source.js";
import { type ExplicitTensor, report, type Tensor } from "./tensor.js";
import type {
  EngineReport,
  FrameSource,
  LedgerSnapshot,
  RunTimes,
  TensorDesc,
  TypedArray,
  Verification,
} from "./types.js";
import type { LoadedHandle, PoolHandle } from "./wasm/frameway.js";

/** Inputs of a run by name: arrays, tensors or frames. */
export type Feeds = Readonly<Record<string, TypedArray | Tensor | ExplicitTensor | FrameSource>>;

/** What an engine needs of its runtime. */
export interface EngineRuntime {
  ledger(): LedgerSnapshot;
  /** GPU bytes alive now. */
  gpuBytes(): number;
  /** The runtime's own entry. */
  readonly entry: Entry;
  /** Aborted when the runtime is closed. */
  readonly closing: AbortSignal;
  /** The model's file. */
  readonly file: ModelFile;
  readonly objects: GpuObjects;
  /** Holds an engine, compiled for these shapes of its dynamic inputs, against the references. */
  verify(handle: LoadedHandle, shapes: Shapes, feeds: Feeds, runs: number): Promise<Verification>;
}

/** A model on one adapter. With fixed shapes it is compiled at once, with dynamic ones for each set of shapes it is fed. */
export class Engine {
  readonly #profiles: Profiles | undefined;
  readonly #runtime: EngineRuntime;
  readonly #entry: Entry;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;
  #handle: LoadedHandle | undefined;
  #inputs: readonly TensorDesc[] = [];
  #outputs: readonly TensorDesc[] = [];
  /** Times of the last {@link run}. */
  lastTimes: RunTimes | undefined;

  /** @internal */
  constructor(made: LoadedHandle | Profiles, runtime: EngineRuntime, origin: Origin) {
    this.#runtime = runtime;
    if (made instanceof Profiles) this.#profiles = made;
    else this.#use(made);
    this.#entry = runtime.entry.child("engine", this.name || "a model with dynamic shapes", this, origin);
  }

  #use(handle: LoadedHandle): LoadedHandle {
    if (handle !== this.#handle) {
      this.#handle = handle;
      this.#inputs = report(handle.inputs);
      this.#outputs = report(handle.outputs);
    }
    return handle;
  }

  /** The plan in use, or `shape-mismatch` while no shapes are known. */
  #current(): LoadedHandle {
    if (this.#handle) return this.#handle;
    throw new FramewayError(
      "shape-mismatch",
      "the shapes of this model's inputs are not known yet",
      "engine",
      "run it once, or pass `shapes` to compile()",
    );
  }

  /** Identity cards of the inputs, in the model's order; empty while dynamic shapes are not known. */
  get inputs(): readonly TensorDesc[] {
    return this.#inputs;
  }

  /** Identity cards of the outputs, in the model's order; empty while dynamic shapes are not known. */
  get outputs(): readonly TensorDesc[] {
    return this.#outputs;
  }

  /** Plans that are kept: 1, or for a model with dynamic shapes one for each set of shapes it was fed lately. */
  get plans(): number {
    return this.#profiles?.size ?? 1;
  }

  /** The model's name. */
  get name(): string {
    return this.#handle?.name ?? "";
  }

  /**
   * Runs the model once and gives its outputs as tensors that live on. Calls wait for one another. A model with dynamic
   * shapes is compiled first where these shapes are new.
   */
  async run(feeds: Feeds): Promise<Record<string, Tensor>> {
    return guarded(async () => {
      // Where nothing has to be compiled the frame is read before this call returns.
      const handle = this.#profiles ? await this.#profiles.for(feeds) : this.#current();
      const started = handle.run(feeds);
      this.#entry.handles.ran();
      const outputs = report<TensorDesc[]>(handle.outputs);
      this.#use(handle);
      const result = (await started) as { outputs: unknown[]; times: string };
      this.lastTimes = report<RunTimes>(result.times);
      return named(outputs, result.outputs);
    });
  }

  /** `n` requests, each with an arena of its own; the weights are shared. Their memory is there once one is acquired. */
  requests(n?: number): RequestPool;
  /**
   * As many requests as serve the hint best, measured now, within the budget. Rejects with `memory-limit` and the numbers where
   * not one request fits.
   */
  requests(options: RequestsOptions): Promise<RequestPool>;
  requests(how: number | RequestsOptions = 2): RequestPool | Promise<RequestPool> {
    const origin = originOf(this.requests);
    if (typeof how === "number") return guardedSync(() => this.#pool(how, origin));
    return guarded(() =>
      poolByHint(
        {
          name: this.name,
          inputs: this.inputs,
          arenaBytes: this.inspect("names").arena.bytes,
          gpuBytes: () => this.#runtime.gpuBytes(),
          pool: (n) => this.#pool(n, origin),
        },
        how,
      ),
    );
  }

  #pool(n: number, origin: Origin): RequestPool {
    const handle = this.#current();
    const making = guarded(async () => (await handle.requests(n)) as PoolHandle);
    const shared = {
      name: this.name,
      inputs: this.#inputs,
      outputs: this.#outputs,
      objects: this.#runtime.objects,
      input: this.#inputs[0]?.name ?? "",
      owner: this,
      entry: this.#entry,
      closing: [this.#closing.signal, this.#runtime.closing],
    };
    return new RequestPool(making, n, shared, origin);
  }

  /** What the engine is made of: `names` for operators and sizes, `detailed` for kernels and every tensor, too. */
  inspect(detail: "names" | "detailed" = "detailed"): EngineReport {
    return guardedSync(() => {
      const made = report<EngineReport>(this.#current().inspect(detail));
      const load = this.#runtime.file.account(made.accounts.load);
      return { ...made, accounts: { ...made.accounts, load, copies: { edges: this.#runtime.ledger().edges } } };
    });
  }

  /**
   * Runs the model layer by layer, `runs` times, and holds each layer's result on this adapter against the operator's reference on
   * the CPU, which is fed with what the GPU computed before it: the first layer that differs is named, and the one that differs most.
   * A pre-processing is not part of it.
   *
   * It costs seconds to minutes, and the model's file once more in the wasm heap, with the weights and every intermediate of a run.
   * The file is read again from where it came: fetched from its address, or taken from the array, which must still be as it was; a
   * Response cannot be read again. With dynamic shapes the plan for these feeds is held against the references.
   */
  async verify(feeds: Feeds, { runs = 2 }: { runs?: number } = {}): Promise<Verification> {
    return guarded(async () => {
      if (this.#closed) throw new FramewayError("closed", "it was closed", "engine", "compile the model again");
      const shapes = this.#profiles?.shapes(feeds) ?? {};
      const handle = this.#profiles ? await this.#profiles.for(feeds) : this.#current();
      return this.#runtime.verify(handle, shapes, feeds, runs);
    });
  }

  /** How long loading took. */
  get loadTimes(): { kernelsMs: number; weightsMs: number; kernelsCompiled: number; kernelsReused: number } {
    return report(this.#current().loadTimes);
  }

  /** Whether video frames may be read in place, as external textures (default). For comparing the two ways. */
  set externalTextures(allowed: boolean) {
    this.#current().setExternalTextures(allowed);
  }

  /** Ends its streams, waits for what is in flight, then frees the weights and every request. A second call does nothing. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#entry.close();
    // A second call waits for the first.
    this.#closed ??= guarded(async () => {
      await this.#profiles?.close();
      await this.#handle?.close();
    });
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
