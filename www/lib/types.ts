/** Element types, named by WebNN's words. */
export type DType = "float32" | "float16" | "int32" | "uint32" | "int64" | "uint8" | "int8" | "bool";

/** How elements lie in memory: the last dimension contiguous, or channels packed by four. */
export type Layout = "row-major" | "c4";

/** Which memory holds the elements. */
export type Device = "host" | "wasm" | "gpu" | "texture" | "frame";

/** The identity card of a tensor: shape, element type, strides, device. */
export interface TensorDesc {
  /** Its name in the model. */
  readonly name: string;
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
  /** Element type. */
  readonly dtype: DType;
  /** Elements between neighbours of each dimension. */
  readonly strides: readonly number[];
  /** Named layout. */
  readonly layout: Layout;
  /** Where the elements are. */
  readonly device: Device;
  /** Of an input: whether a frame may be handed in, since a pre-processing is there. */
  readonly takesFrames?: boolean;
}

/** Elements on the CPU. int64 is a BigInt64Array, bool a Uint8Array of 0 and 1, float16 a Uint16Array of bits. */
export type TypedArray = Float32Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | Uint8Array | Int8Array;

/** What can be a frame. */
export type FrameSource =
  | HTMLVideoElement
  | VideoFrame
  | ImageBitmap
  | HTMLCanvasElement
  | OffscreenCanvas
  | HTMLImageElement
  | ImageData
  | GPUTexture;

/** A model: an address, its bytes, or something that has them. */
export type ModelSource = URL | string | ArrayBuffer | Uint8Array | Blob | Response;

/** Bytes, or a number with a unit: `"8MiB"`, `"64 KiB"`, `"1GB"`. */
export type Bytes = number | string;

/** Most bytes a pool may hold: of one engine in `compile()`, of all together in `Runtime.create()`. */
export interface MemoryLimits {
  /** Arena of each request. */
  activations?: Bytes;
  /** Scratch of kernels, part of the arena. */
  workspace?: Bytes;
  /** Weights, shared by all requests. */
  weights?: Bytes;
  /** Buffers for reading back. */
  staging?: Bytes;
}

/**
 * A phase of loading a model, in its order: the file comes, is read, the graph is optimised, memory is planned, weights are packed and
 * shaders written, shaders are compiled, weights uploaded; `ready` is what stays.
 */
export type LoadPhase = "fetch" | "import" | "optimize" | "plan" | "lower" | "kernels" | "weights" | "ready";

/** How far a long piece of work has come. */
export interface Progress {
  /** What is being done. */
  readonly phase: LoadPhase;
  /** Units done. */
  readonly done: number;
  /** Units in all; 0 while unknown. */
  readonly total: number;
}

/** What a memory write is. */
export type EdgeKind = "reference" | "copy" | "upload" | "readback" | "convert" | "relayout";

/** One kind of memory write between two places, summed over frames. */
export interface LedgerEdge {
  readonly id: string;
  /** Place the bytes come from. */
  readonly from: string;
  /** Place they go to. */
  readonly to: string;
  readonly kind: EdgeKind;
  /** Mean over the frames so far. */
  readonly bytesPerFrame: number;
  /** Times it happened. */
  readonly count: number;
  /** Bytes in all. */
  readonly bytes: number;
  /** True where nobody asked for it. */
  readonly implicit: boolean;
  /** Why it happened, where it is implicit. */
  readonly reason?: string;
  /** Milliseconds of CPU time, mean per frame. */
  readonly cpuMs: number;
  /** Milliseconds of GPU time, mean per frame, where the adapter has timestamps. */
  readonly gpuMs?: number;
}

/** The ledger at one moment. */
export interface LedgerSnapshot {
  /** The adapter whose account it is. */
  readonly adapter: string;
  /** Frames run so far. */
  readonly frames: number;
  readonly edges: readonly LedgerEdge[];
  /** Bytes that crossed from CPU to GPU memory. */
  readonly toGpuBytes: number;
  /** Bytes that crossed from GPU to CPU memory. */
  readonly toCpuBytes: number;
  /** Buffers made so far. */
  readonly buffersCreated: number;
  /** Bind groups made so far. */
  readonly bindGroupsCreated: number;
}

/** A memory pool that the runtime limits. */
export interface PoolUse {
  readonly pool: keyof MemoryLimits;
  /** Most bytes. */
  readonly limit: number;
  /** Bytes that engines and requests have taken; staging buffers count before they are made. */
  readonly inUse: number;
}

/** GPU and wasm memory at one moment, in bytes. */
export interface MemoryReport {
  readonly gpu: {
    readonly weights: number;
    readonly arena: number;
    readonly staging: number;
    readonly textures: number;
    readonly uniforms: number;
    /** Scratch that lives only while an engine is loaded or measured. */
    readonly build: number;
    readonly total: number;
    readonly peak: number;
  };
  /** Size of the wasm heap, which never shrinks. */
  readonly wasmBytes: number;
  readonly requests: number;
  readonly engines: number;
  /** Runs under way, and callers that wait for a request. */
  readonly queue: { readonly inFlight: number; readonly waiting: number };
  /** The pools that `Runtime.create({ limits })` limits. */
  readonly limits?: readonly PoolUse[];
}

/** A tensor of a layer, and where it lies. */
export interface LayerTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly layout: Layout;
  /** First byte in the arena; absent for a constant. */
  readonly offset?: number;
  readonly bytes: number;
  /** Steps it is needed in, `[first, end)`; both 0 for a constant. */
  readonly life: readonly number[];
}

/** One layer of an engine. */
export interface LayerReport {
  readonly index: number;
  readonly name: string;
  readonly op: string;
  /** Kernel and variant; `view` where no dispatch is made. Left out by `inspect("names")`. */
  readonly kernel?: string;
  /** Element-wise steps fused into it. */
  readonly fused: number;
  /** Kernels it runs; 0 for a view. */
  readonly dispatches: number;
  /** What it reads, constants included; left out where empty and by `inspect("names")`. */
  readonly inputs?: readonly LayerTensor[];
  /** What it writes; left out by `inspect("names")`. */
  readonly outputs?: readonly LayerTensor[];
  readonly workspaceBytes: number;
  /** First byte of the workspace in the arena, where there is one. */
  readonly workspaceOffset?: number;
  /** First and last step its results occupy memory. */
  readonly firstStep: number;
  readonly lastStep: number;
  /** Part of the arena's peak that is its own, 0..1; see {@link MemoryEater}. */
  readonly shareOfPeak: number;
  /** Multiplications and additions, estimated from the shapes; a multiply-add counts two. */
  readonly flops: number;
  /** Bytes of operands, constants and results, each once. */
  readonly trafficBytes: number;
  readonly gpuMs?: number;
}

/** A row of the ranked table of what takes memory. */
export interface MemoryEater {
  /** Index of the layer; absent for an input of the model. */
  readonly layer?: number;
  readonly name: string;
  /** Its operator; `Input` for an input of the model. */
  readonly op: string;
  /** Shapes of what it reads, constants left out. */
  readonly inputs: readonly (readonly number[])[];
  /** Shapes of what it writes. */
  readonly outputs: readonly (readonly number[])[];
  /** Bytes of its results and its workspace. */
  readonly bytes: number;
  /** Bytes of the arena that are its own at the peak, alignment included: the rows add up to the arena's lower bound. */
  readonly peakBytes: number;
  /** Of the peak, 0..1. */
  readonly shareOfPeak: number;
}

/** What a model takes in memory for what it is on disk. */
export interface LoadAccount {
  readonly fileBytes: number;
  /** Weights, parameters and one arena: what a loaded engine with one request holds. */
  readonly residentBytes: number;
  /** Of {@link fileBytes}. */
  readonly multiplier: number;
  /**
   * The most bytes that each phase of loading held for the model, in JavaScript, on the wasm heap and on the GPU, and how many times the
   * file that is. The bytes of a file that the page handed in are the page's own.
   */
  readonly phases: readonly {
    readonly phase: LoadPhase;
    readonly residentBytes: number;
    readonly multiplier: number;
  }[];
}

/** What an engine is made of. */
export interface EngineReport {
  readonly model: string;
  readonly arena: {
    readonly bytes: number;
    readonly lowerBound: number;
    readonly naive: number;
    readonly alignment: number;
    readonly planner: string;
    /** Step at which most memory is alive. */
    readonly peakStep: number;
    /** Number of steps: one a layer. */
    readonly steps: number;
  };
  readonly weights: { readonly bytes: number };
  readonly layers: readonly LayerReport[];
  /** Who takes how much memory: the biggest at the peak first, then the biggest altogether. Left out by `inspect("names")`. */
  readonly eaters?: readonly MemoryEater[];
  readonly accounts: {
    readonly load: LoadAccount;
    readonly batch: readonly { readonly n: number; readonly arenaBytes: number }[];
    /** The ledger's edges so far; absent where there is no GPU. */
    readonly copies?: { readonly edges: readonly LedgerEdge[] };
  };
  /** Sums over the layers. */
  readonly totals: {
    readonly layers: number;
    readonly dispatches: number;
    readonly shaders: number;
    readonly flops: number;
    readonly trafficBytes: number;
  };
}

/** How far a layer's result on the GPU is from the operator's reference on the CPU. */
export interface LayerError {
  readonly index: number;
  readonly name: string;
  readonly op: string;
  readonly kernel: string;
  /** The run in which it was seen, from 0 on. */
  readonly run: number;
  /** The largest difference, as a part of the largest value of the reference. */
  readonly error: number;
  /** Where: a row-major index into the output. */
  readonly element: number;
  /** What the reference has there. */
  readonly expected: number;
  /** What the GPU has there. */
  readonly got: number;
}

/** What {@link Engine.verify} found. */
export interface Verification {
  /** Every layer is within its tolerance in every run. */
  readonly ok: boolean;
  /** Layers held against their reference in each run. */
  readonly layers: number;
  readonly runs: number;
  /** Every layer made the same bits of the same bits in every run. */
  readonly repeatable: boolean;
  /** What {@link LayerError.error} may be for float32; more for float16, nothing for whole numbers. */
  readonly tolerance: number;
  /** The layer that is furthest from its reference. */
  readonly worst: LayerError | null;
  /** The first layer outside its tolerance; absent where `ok`. */
  readonly first?: LayerError;
}

/** The adapter a runtime computes on. */
export interface AdapterInfo {
  readonly vendor: string;
  readonly architecture: string;
  /** True for a software adapter. */
  readonly isFallback: boolean;
  readonly topology: "discrete" | "unknown";
  readonly features: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
}

/** How long the parts of a run took, in milliseconds. Those of the GPU lie within `waitMs`. */
export interface RunTimes {
  /** Number of the frame in the ledger, from 1. */
  readonly frame: number;
  /** Writing tensors. */
  readonly uploadMs: number;
  /** Handing frames over and encoding their pre-processing. */
  readonly preMs: number;
  /** Encoding and submitting the network. */
  readonly encodeMs: number;
  /** From submission until the results could be read. */
  readonly waitMs: number;
  /** What the GPU's own clock says, where the adapter has one. */
  readonly gpu?: { readonly preMs?: number; readonly networkMs?: number; readonly postMs?: number };
}
