/**
 * The shapes the diagrams read, as the package's public API gives them. Structural on purpose: an element
 * takes anything that answers like a runtime or an engine, so it can be used, and tested, on its own.
 *
 * Units: bytes are bytes, times are milliseconds, steps count from zero.
 */

/** How bytes got from one place to another. Only a `reference` moves none. */
export type EdgeKind = "reference" | "copy" | "upload" | "readback" | "convert" | "relayout";

/** One row of the ledger: every write from one place to another, summed since the runtime was made. */
export interface LedgerEdge {
  readonly id: string;
  /** Place ids: see `places.ts`; an unknown id lies in CPU memory unless it begins with `gpu:`. */
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  /** Bytes the last frame that took this edge moved along it; 0 for what belongs to no frame, such as weights. */
  readonly bytesPerFrame: number;
  /** How often this edge was taken, and the bytes it moved in all. */
  readonly count: number;
  readonly bytes: number;
  /** True when the runtime made this copy without being told to; `reason` says why it had to. */
  readonly implicit: boolean;
  readonly reason?: string | undefined;
  /** Mean time a taking costs, in milliseconds: on the CPU and, where the adapter has timestamps, on the GPU. */
  readonly cpuMs: number;
  readonly gpuMs?: number | undefined;
  /** Number of the last frame that took this edge; 0 where none did. Tells what is in use from what was. */
  readonly lastFrame?: number;
}

/** `runtime.ledger.snapshot()`. */
export interface LedgerSnapshot {
  readonly frames: number;
  readonly edges: readonly LedgerEdge[];
  readonly toGpuBytes: number;
  readonly toCpuBytes: number;
  readonly buffersCreated?: number;
  readonly bindGroupsCreated?: number;
}

/** Bytes of GPU memory by class. */
export interface GpuMemory {
  readonly weights: number;
  readonly arena: number;
  readonly staging: number;
  readonly textures: number;
  readonly uniforms: number;
  /** Scratch that lives only while an engine is loaded. */
  readonly build?: number;
  readonly total?: number;
  readonly peak?: number;
}

/** Runs under way and waiting, now. */
export interface QueueReport {
  /** Runs handed to the GPU whose results are not there yet. */
  readonly inFlight?: number;
  /** Callers that wait for a request. */
  readonly waiting?: number;
}

/** `runtime.memory()`. */
export interface MemoryReport {
  readonly gpu: GpuMemory;
  readonly wasmBytes: number;
  /** Live requests and engines, counted or listed. */
  readonly requests: number | readonly unknown[];
  readonly engines: number | readonly unknown[];
  readonly queue?: QueueReport | undefined;
}

/** A memory report with the time it was taken, in milliseconds of any one clock. */
export interface MemorySample extends MemoryReport {
  readonly time: number;
}

/** What the elements use of a runtime. Each element needs only its own part. */
export interface RuntimeLike {
  readonly ledger?: { snapshot(): LedgerSnapshot };
  memory?(): MemoryReport;
  /** A sampler of the runtime's own; while it runs, the watermark chart takes no samples itself. */
  readonly watermarks?: { samples(): readonly MemorySample[]; readonly running?: boolean } | undefined;
  readonly lost?: Promise<{ reason: string; message: string }> | undefined;
}

/** One tensor as a layer sees it. `offset` is its place in the arena; absent for weights. */
export interface TensorReport {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly layout?: string;
  readonly offset?: number | null;
  readonly bytes: number;
  /** Steps in which it is needed, `[first, end)`; both 0 for weights. */
  readonly life?: readonly number[];
}

/** One layer of `engine.inspect("detailed")`; its index is its step. An empty list may be left out. */
export interface LayerReport {
  readonly index: number;
  readonly name: string;
  readonly op: string;
  readonly kernel?: string | undefined;
  readonly inputs?: readonly TensorReport[];
  readonly outputs?: readonly TensorReport[];
  readonly workspaceBytes: number;
  readonly workspaceOffset?: number | null;
  /** First and last step in which its results occupy memory. */
  readonly firstStep: number;
  readonly lastStep: number;
  readonly shareOfPeak?: number;
  readonly gpuMs?: number | undefined;
}

/** A row of the ranked table of what takes memory. */
export interface MemoryEater {
  /** Index of the layer; absent for an input of the model. */
  readonly layer?: number;
  readonly name: string;
  readonly op: string;
  /** Shapes of what it reads and writes. */
  readonly inputs: readonly (readonly number[])[];
  readonly outputs: readonly (readonly number[])[];
  /** Bytes it writes, workspace included, and those of the arena that are its own at the peak. */
  readonly bytes: number;
  readonly peakBytes: number;
  readonly shareOfPeak: number;
}

/** `engine.inspect("detailed")`, as far as the arena map reads it. */
export interface EngineReport {
  readonly model?: unknown;
  readonly arena: {
    readonly bytes: number;
    readonly lowerBound: number;
    readonly naive: number;
    readonly alignment?: number;
    readonly planner?: string;
    readonly peakStep?: number;
    readonly steps?: number;
  };
  readonly layers: readonly LayerReport[];
  /** Who takes how much memory, ranked. */
  readonly eaters?: readonly MemoryEater[];
}

/** What the arena map uses of an engine. */
export interface EngineLike {
  /** The model's inputs, which tell them from weights. */
  readonly inputs?: readonly { readonly name: string }[];
  inspect(detail: "detailed"): EngineReport | Promise<EngineReport>;
}
