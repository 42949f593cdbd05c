import { FramewayError } from "./errors.js";
import type { InferRequest, RequestPool } from "./requests.js";
import type { Bytes, DType, TensorDesc, TypedArray } from "./types.js";

/** How many requests an engine gets, when that is measured. */
export interface RequestsOptions {
  /** `latency`: as few as answer soonest. `throughput`: as many as make more runs a second. */
  hint: "latency" | "throughput";
  /** Most GPU bytes of all requests together, weights not counted: a number, or `"8MiB"`. */
  budget?: Bytes;
  /** Most requests; 4 when absent. */
  most?: number;
}

/** What so many requests at once achieved. */
export interface Measured {
  readonly requests: number;
  /** Median of a run, from its start until its results were there. */
  readonly latencyMs: number;
  readonly perSecond: number;
}

/** Why a pool has as many requests as it has. */
export interface HintChoice {
  readonly hint: "latency" | "throughput";
  readonly requests: number;
  /** GPU bytes of one request. */
  readonly bytesPerRequest: number;
  /** What the budget and the runtime's limits allowed. */
  readonly most: number;
  readonly measured: readonly Measured[];
}

/** What measuring needs of an engine. */
export interface Measurable {
  readonly name: string;
  readonly inputs: readonly TensorDesc[];
  readonly arenaBytes: number;
  /** GPU bytes alive now. */
  gpuBytes(): number;
  pool(n: number): RequestPool;
}

const MOST = 4;
/** One request more must bring so much: a twentieth. */
const WORTH = 1.05;
/** A number of requests is measured for so long, in milliseconds... */
const MEASURE_MS = 150;
/** ...and for so many runs of each request at least. */
const LEAST_RUNS = 3;

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
};

/** The number that `"8MiB"` is. */
export function parseBytes(bytes: Bytes): number {
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(String(bytes)) ?? [];
  const factor = UNITS[(unit ?? "?").toLowerCase()];
  if (number !== undefined && factor !== undefined) return Math.floor(Number(number) * factor);
  throw new FramewayError("bad-source", `"${bytes}" is no size`, "budget", 'write bytes, or "8MiB"');
}

/** The number of requests that a hint asks for, given what each achieved; fewest first. */
export function chooseCount(hint: "latency" | "throughput", measured: readonly Measured[]): number {
  const [first, ...more] = measured;
  if (!first) return 1;
  let best = first;
  for (const one of more) {
    const better = hint === "latency" ? one.latencyMs * WORTH < best.latencyMs : one.perSecond > best.perSecond * WORTH;
    if (better) best = one;
  }
  return best.requests;
}

/** How many requests of `bytes` fit `budget`, at most `most`; `memory-limit` where not one does. */
export function affordable(name: string, bytes: number, budget: number, most: number): number {
  const fits = bytes > 0 ? Math.floor(budget / bytes) : most;
  if (fits >= 1) return Math.min(fits, most);
  throw new FramewayError(
    "memory-limit",
    `one request of "${name}" needs ${bytes} bytes, the budget is ${budget}`,
    "budget",
    `allow ${bytes} bytes for one request, ${2 * bytes} for two; or compile a smaller input shape`,
  );
}

/** Zeros of an input's type and shape. */
function zeros(dtype: DType, elements: number): TypedArray {
  switch (dtype) {
    case "float32":
      return new Float32Array(elements);
    case "float16":
      return new Uint16Array(elements);
    case "int32":
      return new Int32Array(elements);
    case "uint32":
      return new Uint32Array(elements);
    case "int64":
      return new BigInt64Array(elements);
    case "int8":
      return new Int8Array(elements);
    default:
      return new Uint8Array(elements);
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

async function measure(requests: readonly InferRequest[], feeds: Record<string, TypedArray>): Promise<Measured> {
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(
    requests.map(async (request) => {
      for (let run = 0; run < LEAST_RUNS || performance.now() - began < MEASURE_MS; run++) {
        const start = performance.now();
        await request.run(feeds);
        times.push(performance.now() - start);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  return { requests: requests.length, latencyMs: median(times), perSecond: times.length / seconds };
}

/** A pool of `most` requests, or of as many as the runtime's limits have room for; none where that is fewer than two. */
async function roomFor(engine: Measurable, most: number): Promise<RequestPool | undefined> {
  for (let n = most; n > 1; n--) {
    const pool = engine.pool(n);
    try {
      return await pool.made();
    } catch (error) {
      if (!(error instanceof FramewayError && error.kind === "memory-limit")) throw error;
      // A pool that was never made has nothing to free, and says so.
      await pool.close().catch(() => {});
    }
  }
  return undefined;
}

/** A pool of as many requests as serve the hint best within the budget, measured with zeros for inputs. */
export async function poolByHint(engine: Measurable, options: RequestsOptions): Promise<RequestPool> {
  const { hint, most = MOST } = options;
  if (hint !== "latency" && hint !== "throughput") {
    throw new FramewayError("bad-source", `there is no hint "${hint}"`, "hint", 'say "latency" or "throughput"');
  }
  const budget = options.budget === undefined ? Number.POSITIVE_INFINITY : parseBytes(options.budget);
  // What the arenas alone need is known before anything is made.
  const wanted = affordable(engine.name, engine.arenaBytes, budget, Math.max(1, Math.floor(most)));
  const feeds = Object.fromEntries(
    engine.inputs.map(({ name, dtype, shape }) => [
      name,
      zeros(
        dtype,
        shape.reduce((n, dim) => n * dim, 1),
      ),
    ]),
  );
  const before = engine.gpuBytes();
  const trial = engine.pool(1);
  const measured: Measured[] = [];
  let bytesPerRequest = engine.arenaBytes;
  try {
    const first = await trial.acquire();
    await first.run(feeds);
    bytesPerRequest = Math.max(bytesPerRequest, engine.gpuBytes() - before);
    measured.push(await measure([first], feeds));
    first.release();
  } finally {
    await trial.close();
  }
  const pool = await roomFor(engine, affordable(engine.name, bytesPerRequest, budget, wanted));
  const affords = pool?.size ?? 1;
  if (pool) {
    try {
      const requests: InferRequest[] = [];
      for (let n = 1; n <= affords; n++) {
        const request = await pool.acquire();
        requests.push(request);
        await request.run(feeds);
        if (n > 1) measured.push(await measure(requests, feeds));
      }
      for (const request of requests) request.release();
    } finally {
      await pool.close();
    }
  }
  const requests = chooseCount(hint, measured);
  const chosen = engine.pool(requests);
  chosen.choice = { hint, requests, bytesPerRequest, most: affords, measured };
  return chosen.made();
}
