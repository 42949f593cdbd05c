import type { Feeds } from "./engine.js";
import { FramewayError, guarded, guardedSync } from "./errors.js";
import type { FlowReport } from "./flow.js";
import type { GpuObjects } from "./gpu-objects.js";
import type { HintChoice } from "./hint.js";
import { type Entry, type Origin, originOf } from "./leaks.js";
import { Flow, type FrameReport, FrameStream, type StreamOptions } from "./stream.js";
import { ExplicitTensor, report, type Tensor } from "./tensor.js";
import type { DType, FrameSource, RunTimes, TensorDesc, TypedArray } from "./types.js";
import { CancelHandle, type LeaseHandle, type PoolHandle, type RequestHandle } from "./wasm/frameway.js";

/** Enters a handle in the list of those that must be given back. */
type Enter = (owner: object) => Entry;

/** An output of a run, while its lease is fresh. */
export class LeasedOutput {
  readonly #lease: Lease;
  readonly #index: number;
  /** Its identity card. */
  readonly desc: TensorDesc;

  /** @internal */
  constructor(lease: Lease, index: number, desc: TensorDesc) {
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
    return guardedSync(() => this.#lease.handle(this.desc.name).read(this.#index) as TypedArray);
  }

  #place(): { buffer: GPUBuffer; offset: number; bytes: number } {
    return guardedSync(
      () =>
        this.#lease.handle(this.desc.name).buffer(this.#index) as { buffer: GPUBuffer; offset: number; bytes: number },
    );
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
  /** Freed once it is released: the wasm heap does not wait for a garbage collector. */
  #handle: LeaseHandle | undefined;
  readonly #descs: readonly TensorDesc[];
  /** While somebody can read the results, the request is not lost. */
  readonly #request: InferRequest;
  readonly #entry: Entry;
  #times: RunTimes | undefined;
  /** The outputs by name. */
  readonly outputs: Readonly<Record<string, LeasedOutput>>;
  /** How the frame fared, for leases of a stream. */
  readonly frame: FrameReport | undefined;

  /** @internal */
  constructor(
    handle: LeaseHandle,
    descs: readonly TensorDesc[],
    request: InferRequest,
    enter: Enter,
    frame?: FrameReport,
  ) {
    this.#handle = handle;
    this.#descs = descs;
    this.#request = request;
    this.#entry = enter(this);
    this.frame = frame;
    this.outputs = Object.fromEntries(descs.map((desc, i) => [desc.name, new LeasedOutput(this, i, desc)]));
  }

  /** @internal */
  handle(output?: string): LeaseHandle {
    if (this.#handle) return this.#handle;
    throw new FramewayError(
      "stale-output",
      "the lease was released",
      output === undefined ? "lease" : `output "${output}"`,
      "read outputs before release(), or keep a copy with detach()",
    );
  }

  /** How long the parts of the run took. */
  get times(): RunTimes {
    this.#times ??= report<RunTimes>(this.handle().times);
    return this.#times;
  }

  /** False once reading would throw `stale-output`. */
  get fresh(): boolean {
    return this.#handle?.fresh ?? false;
  }

  /** Copies of all outputs, which live on; those that stay on the GPU are left out. */
  detach(): Record<string, Tensor> {
    return guardedSync(() => named(this.#descs, this.handle().detach()));
  }

  /** Gives the results up and the request back to its pool. A second call does nothing. */
  release(): void {
    const handle = this.#handle;
    if (!handle) return;
    this.#times ??= report<RunTimes>(handle.times);
    this.#handle = undefined;
    this.#entry.close();
    // A stale lease gives nothing back: the request is a later run's.
    if (handle.fresh) this.#request.returned();
    handle.release();
    handle.free();
  }

  [Symbol.dispose](): void {
    this.release();
  }
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
  readonly #shared: PoolShared;
  readonly #entry: Entry;
  /** While a request is in use, its pool is not lost. */
  readonly #pool: RequestPool;

  /** @internal */
  constructor(handle: RequestHandle, shared: PoolShared, pool: RequestPool, enter: Enter) {
    this.#handle = handle;
    this.#shared = shared;
    this.#pool = pool;
    this.#entry = enter(this);
  }

  /** The pool it belongs to. */
  get pool(): RequestPool {
    return this.#pool;
  }

  /** Runs the engine; rejects with `busy` while a run of this request is under way. */
  run(feeds: Feeds, frame?: () => FrameReport): Promise<Lease> {
    return this.#begin(() => this.#handle.run(feeds), originOf(this.run), frame);
  }

  /**
   * The same without waiting for the run before: its results are read while the next run computes. At most three runs are under
   * way; `busy` beyond. Results come in the order of the calls, and each makes the one before stale.
   */
  submit(feeds: Feeds): Promise<Lease> {
    return this.#begin(() => this.#handle.submit(feeds), originOf(this.submit));
  }

  async #begin(start: () => Promise<unknown>, origin: Origin, frame?: () => FrameReport): Promise<Lease> {
    const { handles } = this.#entry;
    const started = guardedSync(start);
    handles.ran();
    this.#entry.reopen();
    return guarded(async () => {
      const lease = (await started) as LeaseHandle;
      return new Lease(
        lease,
        this.#shared.outputs,
        this,
        (owner) => handles.lease(this.#entry, owner, origin),
        frame?.(),
      );
    });
  }

  /**
   * The memory that input `name` is read from, as a tensor: what the page's own kernels write to its `buffer`, from `offset` on, needs
   * no copy when the tensor is handed to this request's {@link run}. A run puts other tensors there, too: the input is written anew
   * for each, and outputs that stay on the GPU are read before.
   */
  input(name: string): ExplicitTensor {
    return guardedSync(() => {
      const { inputs, objects } = this.#shared;
      const index = inputs.findIndex((desc) => desc.name === name);
      const desc = inputs[index];
      if (!desc) {
        const hint = `its inputs are: ${inputs.map((input) => input.name).join(", ")}`;
        throw new FramewayError("bad-source", `the model has no input "${name}"`, "input()", hint);
      }
      const { buffer, offset } = this.#handle.input(index) as { buffer: GPUBuffer; offset: number };
      objects.noteInput(buffer, offset);
      return new ExplicitTensor({ shape: desc.shape, dtype: desc.dtype, layout: "row-major", buffer, offset });
    });
  }

  /** True while a run is under way. */
  get busy(): boolean {
    return this.#handle.busy;
  }

  /** Returns the request to its pool. */
  release(): void {
    this.#entry.close();
    this.#handle.release();
  }

  /** @internal A lease gave it back. */
  returned(): void {
    this.#entry.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** What the requests of a pool have in common. */
export interface PoolShared {
  /** The engine's name. */
  readonly name: string;
  readonly inputs: readonly TensorDesc[];
  readonly outputs: readonly TensorDesc[];
  readonly objects: GpuObjects;
  /** The input that takes a stream's frames. */
  readonly input: string;
  /** The engine. */
  readonly owner: object;
  /** The engine's entry. */
  readonly entry: Entry;
  /** Aborted when the engine or its runtime is closed. */
  readonly closing: readonly AbortSignal[];
}

/** What a pool does now. */
export interface PoolReport {
  /** The number of requests. */
  readonly size: number;
  /** Of these, nobody uses so many. */
  readonly idle: number;
  /** How the latest stream fares. */
  readonly stream?: FlowReport;
  /** Why there are so many requests, where the number was measured. */
  readonly choice?: HintChoice;
}

/** Requests of one engine: the weights are shared, each request has an arena of its own. */
export class RequestPool {
  readonly #making: Promise<PoolHandle>;
  readonly #shared: PoolShared;
  readonly #entry: Entry;
  readonly #closing = new AbortController();
  #closed: Promise<unknown> | undefined;
  #handle: PoolHandle | undefined;
  #flow: Flow | undefined;
  /** @internal */
  choice: HintChoice | undefined;
  /** The number of requests. */
  readonly size: number;

  /** @internal */
  constructor(making: Promise<PoolHandle>, size: number, shared: PoolShared, origin: Origin) {
    this.#making = making;
    this.size = size;
    this.#shared = shared;
    this.#entry = shared.entry.child("request pool", shared.name, this, origin);
    // A failure is told to whoever acquires or closes.
    making.then(
      (handle) => {
        this.#handle = handle;
      },
      () => {},
    );
  }

  /** A free request; who asks first gets first. An aborted `signal` rejects with `canceled`. */
  acquire(options: { signal?: AbortSignal } = {}): Promise<InferRequest> {
    return this.#acquire(options.signal, originOf(this.acquire));
  }

  #acquire(signal: AbortSignal | undefined, origin: Origin): Promise<InferRequest> {
    return guarded(async () => {
      const pool = await this.#making;
      if (signal?.aborted) {
        throw new FramewayError(
          "canceled",
          "the wait for a request was canceled before it began",
          "acquire()",
          "hand in a signal that is not aborted yet",
        );
      }
      const cancel = new CancelHandle();
      const abort = () => cancel.cancel();
      signal?.addEventListener("abort", abort, { once: true });
      try {
        const handle = (await pool.acquireUnless(cancel)) as RequestHandle;
        const { name } = this.#shared;
        return new InferRequest(handle, this.#shared, this, (owner) =>
          this.#entry.child("request", name, owner, origin),
        );
      } finally {
        signal?.removeEventListener("abort", abort);
        cancel.free();
      }
    });
  }

  /** @internal Resolves when its memory is there. */
  async made(): Promise<this> {
    await this.#making;
    return this;
  }

  /** Requests that nobody uses; all of them while they are being made. */
  get idle(): number {
    return this.#handle?.idle ?? this.size;
  }

  /**
   * Runs every new frame of a source. Frames that come while all requests are busy are skipped for the newest. A lease is
   * released when the loop asks for the next; leaving the loop ends the stream.
   */
  stream(source: FrameSource, options: StreamOptions = {}): FrameStream {
    const origin = originOf(this.stream);
    const { input, closing, name } = this.#shared;
    const pool = {
      size: this.size,
      acquire: ({ signal }: { signal: AbortSignal }) => this.#acquire(signal, origin),
    };
    const flow = new Flow(pool, source, {
      input: options.input ?? input,
      latest: options.latest ?? true,
      signals: [options.signal, this.#closing.signal, ...closing],
    });
    this.#flow = flow;
    return new FrameStream(flow, (owner) => this.#entry.child("stream", name, owner, origin, () => void flow.stop()));
  }

  /** What the pool does now, and who sets the pace of its latest stream. */
  report(): PoolReport {
    return {
      size: this.size,
      idle: this.idle,
      ...(this.#flow && { stream: this.#flow.report() }),
      ...(this.choice && { choice: this.choice }),
    };
  }

  /** Ends its streams, waits for what is in flight, then frees the arenas. A second call does nothing. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#entry.close();
    // A second call waits for the first.
    this.#closed ??= guarded(async () => (await this.#making).close());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
