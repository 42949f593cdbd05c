import { type Check, check } from "./check.js";
import { Engine, type Feeds } from "./engine.js";
import { guarded, guardedSync } from "./errors.js";
import { GpuObjects } from "./gpu-objects.js";
import { type Entry, Handles, type LeakReport, type Origin, originOf } from "./leaks.js";
import { Ledger } from "./ledger.js";
import type { Postprocess } from "./postprocess.js";
import type { Preprocess } from "./preprocess.js";
import { isDynamic, Profiles, type Shapes, type StatedInput } from "./profiles.js";
import { readModel } from "./source.js";
import { ExplicitTensor, report, type TensorInit } from "./tensor.js";
import { tune } from "./tuning.js";
import type {
  AdapterInfo,
  EngineReport,
  MemoryLimits,
  MemoryReport,
  ModelSource,
  PoolUse,
  Progress,
  TensorDesc,
  Verification,
} from "./types.js";
import type { LoadedHandle, RuntimeHandle } from "./wasm/frameway.js";
import { wasm } from "./wasm.js";
import { Watermarks } from "./watermarks.js";

/** Options of {@link Runtime.create}. */
export interface RuntimeOptions {
  /** Which adapter to prefer where there are several. */
  powerPreference?: GPUPowerPreference;
  /** A device of the page's own, which then stays the page's. */
  device?: GPUDevice;
  /** Most bytes of each memory pool, summed over all engines and requests of the runtime. */
  limits?: MemoryLimits;
}

/** Options of {@link Runtime.compile}. */
export interface CompileOptions {
  /** Found out from the bytes when absent. */
  format?: "onnx" | "tflite" | "plan";
  /** Fixes dynamic dimensions, by input. */
  shapes?: Readonly<Record<string, readonly number[]>>;
  /** How a frame becomes an input. */
  preprocess?: Readonly<Record<string, Preprocess>>;
  /** What happens to the outputs on the GPU. */
  postprocess?: Postprocess;
  /** Most bytes of each memory pool. */
  limits?: MemoryLimits;
  /** `strict`: a copy or re-layout that nobody asked for is an error that names the edge. */
  copies?: "report" | "strict";
  /** Precision of the intermediates. */
  precision?: "float32" | "float16" | "auto";
  /** Where each output is wanted; `cpu` when absent. */
  outputs?: Readonly<Record<string, "cpu" | "gpu">>;
  /** The model's name for reports. */
  name?: string;
  /** Told how far the work has come. */
  onProgress?: (progress: Progress) => void;
}

/** Lets the page draw: compiling holds its thread for a moment. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A GPU device with its ledger and its compiler. */
export class Runtime {
  readonly #handle: RuntimeHandle;
  readonly #objects: GpuObjects;
  readonly #handles = new Handles();
  readonly #entry: Entry;
  readonly #closing = new AbortController();
  #closed: Promise<unknown> | undefined;
  #tuned: Promise<void> | undefined;
  /** The account of every byte that moves. */
  readonly ledger: Ledger;
  /** Resolves when the device is gone, also when the runtime is closed (`reason` is then "closed"). */
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>;

  /** Memory over time, once it is started. */
  readonly watermarks: Watermarks;

  private constructor(handle: RuntimeHandle, ownDevice: boolean, origin: Origin) {
    this.#handle = handle;
    this.#objects = new GpuObjects(this.device, ownDevice);
    const watermarks = new Watermarks(() => report(handle.memory()), this.#handles);
    this.watermarks = watermarks;
    this.#entry = this.#handles.open("runtime", "GPU", this, origin, undefined, () => watermarks.stop());
    this.ledger = new Ledger(handle);
    this.lost = guarded(async () => report((await handle.lost()) as string));
  }

  /** Finds an adapter and opens a device; rejects with `no-webgpu` and advice where there is none. */
  static async create(options: RuntimeOptions = {}): Promise<Runtime> {
    const origin = originOf(Runtime.create);
    return guarded(async () => {
      const { RuntimeHandle } = await wasm();
      const { device, ...rest } = options;
      return new Runtime((await RuntimeHandle.create(JSON.stringify(rest), device)) as RuntimeHandle, !device, origin);
    }, "no-webgpu");
  }

  /** The adapter it computes on. */
  get adapter(): AdapterInfo {
    return report(this.#handle.adapter);
  }

  /** The GPUDevice, for a page that draws with it. */
  get device(): GPUDevice {
    return this.#handle.device as GPUDevice;
  }

  /** What is alive, in bytes. */
  memory(): MemoryReport {
    const limits = report<PoolUse[]>(this.#handle.pools());
    return { ...report<MemoryReport>(this.#handle.memory()), ...(limits.length > 0 && { limits }) };
  }

  /** Errors of the GPU that no call reported; none are expected. */
  errors(): readonly string[] {
    return report(this.#handle.errors());
  }

  /**
   * Handles that the garbage collector found open, that pile up, or that are made anew for every run, by the line of code that
   * made them. Each is also warned of once on the console.
   */
  leaks(): readonly LeakReport[] {
    return this.#handles.report();
  }

  /** Compiles a model for this adapter and loads it. */
  async compile(source: ModelSource, options: CompileOptions = {}): Promise<Engine> {
    const origin = originOf(this.compile);
    return guarded(async () => {
      const { onProgress, ...rest } = options;
      const tuned = this.#tune();
      const file = await readModel(source, onProgress);
      const tell =
        onProgress &&
        ((phase: Progress["phase"], done: number, total: number) => {
          onProgress({ phase, done, total });
        });
      await breathe();
      await tuned;
      const given = options.shapes ?? {};
      const { statedInputs } = await wasm();
      const open = report<StatedInput[]>(statedInputs(file.bytes())).filter(
        (input) => isDynamic(input) && !given[input.name],
      );
      const optionsFor = (shapes: Shapes) => JSON.stringify({ ...rest, shapes: { ...given, ...shapes } });
      const make = async (shapes: Shapes) => {
        // With fixed shapes the file is read once, and not kept while the rest is loaded.
        const compiled = this.#handle.compile(open.length > 0 ? file.bytes() : file.take(), optionsFor(shapes), tell);
        return (await this.#handle.load(compiled, tell)) as LoadedHandle;
      };
      const context = {
        ledger: () => this.ledger.snapshot(),
        gpuBytes: () => this.memory().gpu.total,
        entry: this.#entry,
        closing: this.#closing.signal,
        file,
        objects: this.#objects,
        verify: async (handle: LoadedHandle, shapes: Shapes, feeds: Feeds, runs: number) => {
          const bytes = await file.again();
          return report<Verification>(
            (await this.#handle.verify(handle, bytes, optionsFor(shapes), feeds, runs)) as string,
          );
        },
      };
      if (open.length === 0) return new Engine(await make({}), context, origin);
      return new Engine(new Profiles(open, options.preprocess ?? {}, make), context, origin);
    }, "invalid-model");
  }

  /**
   * What a model would be made of on this adapter. It is compiled and not loaded: nothing is made on the GPU, and nothing that runs
   * is disturbed. Rejects as {@link compile} does, for limits of activations, workspace and weights with the smallest that would do.
   */
  async inspect(source: ModelSource, options: Omit<CompileOptions, "onProgress"> = {}): Promise<EngineReport> {
    return guarded(async () => {
      const tuned = this.#tune();
      const file = await readModel(source);
      await breathe();
      await tuned;
      const compiled = this.#handle.compile(file.take(), JSON.stringify(options), undefined);
      try {
        return report<EngineReport>(compiled.inspect("names"));
      } finally {
        compiled.free();
      }
    }, "invalid-model");
  }

  /** Measures the kernel variants, once. The adapter has nothing to do while the model is fetched. */
  #tune(): Promise<void> {
    this.#tuned ??= wasm().then(({ version }) => tune(this.#handle, this.adapter, version()));
    this.#tuned.catch(() => {});
    return this.#tuned;
  }

  /**
   * A tensor whose identity card is written out: shape, element type, strides or layout, and the place of its elements. Throws for a
   * part that is missing or that the memory does not hold. Nothing is copied; nothing of it is converted behind the caller's back.
   */
  tensor(init: TensorInit): ExplicitTensor {
    const tensor = guardedSync(() => new ExplicitTensor(init));
    void this.#objects.ask(tensor.buffer);
    return tensor;
  }

  /**
   * Holds what a run would be fed with against an input's identity card, part by part, and says whether it is read where it lies.
   * Nothing is run. An engine compiled with `copies: "strict"` refuses what is converted or laid again here.
   *
   * Whether a texture, or a buffer where the device is the page's own, is another device's, is asked of the device when it is first
   * seen here or by {@link tensor}; until the answer is there, it counts as this device's. A run always finds out.
   */
  check(value: Feeds[string], port: TensorDesc): Check {
    return check(this.#handle, this.#objects, value, port);
  }

  /** Ends every stream and the watermarks, waits for what is in flight, then frees everything. A second call does nothing. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#entry.close();
    this.watermarks.stop();
    // A second call waits for the first.
    this.#closed ??= guarded(() => this.#handle.close());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
