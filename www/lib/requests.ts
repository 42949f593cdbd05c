import type { Feeds } from "./engine.js";
import { FramewayError, guarded, guardedSync } from "./errors.js";
import { type StreamOptions, streamFrames } from "./stream.js";
import { report, type Tensor } from "./tensor.js";
import type { DType, FrameSource, RunTimes, TensorDesc, TypedArray } from "./types.js";
import { CancelHandle, type LeaseHandle, type PoolHandle, type RequestHandle } from "./wasm/frameway.js";

/** An output of a run, while its lease is fresh. */
export class LeasedOutput {
  readonly #lease: LeaseHandle;
  readonly #index: number;
  /** Its identity card. */
  readonly desc: TensorDesc;

  /** @internal */
  constructor(lease: LeaseHandle, index: number, desc: TensorDesc) {
    this.#lease = lease;
    this.#index = index;
    this.desc = desc;
  }

  /** Dimensions, outermost first. */
  get shape(): readonly number[] {
    return this.desc.shape;
  }

  /** Element type. */
  get dtype(): DType {
    return this.desc.dtype;
  }

  /**
   * The elements, where possible a view of mapped memory that the browser empties when the request runs again. Throws
   * `stale-output` once it has.
   */
  read(): TypedArray {
    return guardedSync(() => this.#lease.read(this.#index) as TypedArray);
  }

  #place(): { buffer: GPUBuffer; offset: number; bytes: number } {
    return guardedSync(() => this.#lease.buffer(this.#index) as { buffer: GPUBuffer; offset: number; bytes: number });
  }

  /** The GPU buffer that holds the output, from {@link offset} on; valid until the request runs again. */
  get buffer(): GPUBuffer {
    return this.#place().buffer;
  }

  /** First byte of the output in {@link buffer}. */
  get offset(): number {
    return this.#place().offset;
  }

  /** Bytes of the output in {@link buffer}. */
  get bytes(): number {
    return this.#place().bytes;
  }
}

/** The results of one run. They are there until the request runs again or is released. */
export class Lease {
  readonly #handle: LeaseHandle;
  readonly #descs: readonly TensorDesc[];
  #times: RunTimes | undefined;
  /** The outputs by name. */
  readonly outputs: Readonly<Record<string, LeasedOutput>>;
  /** How the frame fared, for leases of a stream. */
  readonly frame: FrameReport | undefined;

  /** @internal */
  constructor(handle: LeaseHandle, descs: readonly TensorDesc[], frame?: FrameReport) {
    this.#handle = handle;
    this.#descs = descs;
    this.frame = frame;
    this.outputs = Object.fromEntries(descs.map((desc, i) => [desc.name, new LeasedOutput(handle, i, desc)]));
  }

  /** How long the parts of the run took. */
  get times(): RunTimes {
    this.#times ??= report<RunTimes>(this.#handle.times);
    return this.#times;
  }

  /** False once reading would throw `stale-output`. */
  get fresh(): boolean {
    return this.#handle.fresh;
  }

  /** Copies of all outputs, which live on; those that stay on the GPU are left out. */
  detach(): Record<string, Tensor> {
    return guardedSync(() => named(this.#descs, this.#handle.detach()));
  }

  /** Gives the results up and the request back to its pool. */
  release(): void {
    this.#handle.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** How a frame of a stream fared. */
export interface FrameReport {
  /** Milliseconds from the frame's presentation until its results were there. */
  readonly ageMs: number;
  /** Frames that were skipped since the one before, because every request was busy. */
  readonly dropped: number;
  /** Requests under way when the frame was taken. */
  readonly queueLevel: number;
}

/** Tensors by name from arrays in the model's order. */
export function named(descs: readonly TensorDesc[], arrays: readonly unknown[]): Record<string, Tensor> {
  const tensors: Record<string, Tensor> = {};
  descs.forEach((desc, i) => {
    const data = arrays[i] as TypedArray | undefined;
    if (data !== undefined) tensors[desc.name] = { shape: desc.shape, dtype: desc.dtype, data };
  });
  return tensors;
}

/** The right to run an engine on one set of tensors. */
export class InferRequest {
  readonly #handle: RequestHandle;
  readonly #descs: readonly TensorDesc[];

  /** @internal */
  constructor(handle: RequestHandle, descs: readonly TensorDesc[]) {
    this.#handle = handle;
    this.#descs = descs;
  }

  /** Runs the engine; rejects with `busy` while a run of this request is under way. */
  async run(feeds: Feeds, frame?: () => FrameReport): Promise<Lease> {
    const started = guardedSync(() => this.#handle.run(feeds));
    return guarded(async () => {
      const lease = (await started) as LeaseHandle;
      return new Lease(lease, this.#descs, frame?.());
    });
  }

  /** True while a run is under way. */
  get busy(): boolean {
    return this.#handle.busy;
  }

  /** Returns the request to its pool. */
  release(): void {
    this.#handle.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** Requests of one engine: the weights are shared, each request has an arena of its own. */
export class RequestPool {
  readonly #making: Promise<PoolHandle>;
  readonly #descs: readonly TensorDesc[];
  readonly #input: string;
  #handle: PoolHandle | undefined;
  /** The number of requests. */
  readonly size: number;

  /** @internal */
  constructor(making: Promise<PoolHandle>, size: number, descs: readonly TensorDesc[], input: string) {
    this.#making = making;
    this.size = size;
    this.#descs = descs;
    this.#input = input;
    // A failure is told to whoever acquires or closes.
    making.then(
      (handle) => {
        this.#handle = handle;
      },
      () => {},
    );
  }

  /** A free request; who asks first gets first. An aborted `signal` rejects with `canceled`. */
  async acquire(options: { signal?: AbortSignal } = {}): Promise<InferRequest> {
    return guarded(async () => {
      const { signal } = options;
      const pool = await this.#making;
      if (signal?.aborted) throw new FramewayError("canceled", "the wait for a request was canceled");
      const cancel = new CancelHandle();
      const abort = () => cancel.cancel();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        return new InferRequest((await pool.acquireUnless(cancel)) as RequestHandle, this.#descs);
      } finally {
        signal?.removeEventListener("abort", abort);
        cancel.free();
      }
    });
  }

  /** Requests that nobody uses; all of them while they are being made. */
  get idle(): number {
    return this.#handle?.idle ?? this.size;
  }

  /** Runs every new frame of a source; frames that come while all requests are busy are skipped. */
  stream(source: FrameSource, options: StreamOptions = {}): AsyncGenerator<Lease, void, void> {
    return streamFrames(this, source, { input: this.#input, ...options });
  }

  /** Waits for what is in flight, then frees the arenas. */
  async close(): Promise<void> {
    await guarded(async () => (await this.#making).close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
