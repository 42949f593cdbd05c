/** Memory samples as curves: classes stacked, the wasm heap beside them, the queue below. Bytes, seconds. */
import { type Reading, readMemory, type Verdict } from "../lib/slope.js";
import { formatBytes } from "./format.js";
import type { MemorySample } from "./types.js";

/** How far back the chart reaches, in seconds. */
export const WINDOW = 120;

/** The classes in the order in which they are stacked, from below, with what a person calls them. */
export const CLASSES = [
  { id: "weights", label: "weights" },
  { id: "arena", label: "arena" },
  { id: "staging", label: "staging" },
  { id: "textures", label: "textures" },
  { id: "uniforms", label: "uniforms" },
  { id: "build", label: "build scratch" },
] as const;

export type ClassId = (typeof CLASSES)[number]["id"];

/** One class from sample to sample: where its band begins and ends. */
export interface Band {
  readonly id: ClassId;
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** The samples of the last two minutes, the newest included. */
export function recent(samples: readonly MemorySample[]): readonly MemorySample[] {
  const newest = samples.at(-1);
  if (!newest) return [];
  const from = newest.time - WINDOW * 1000;
  const at = samples.findIndex((sample) => sample.time >= from);
  return samples.slice(Math.max(0, at));
}

/** Bands of all classes, each on top of the one before. */
export function stack(samples: readonly MemorySample[]): Band[] {
  let low = samples.map(() => 0);
  return CLASSES.map(({ id }) => {
    const high = samples.map((sample, i) => (low[i] ?? 0) + (sample.gpu[id] ?? 0));
    const band = { id, low, high };
    low = high;
    return band;
  });
}

/** Bytes of all classes together. */
export function gpuTotal(sample: MemorySample): number {
  return CLASSES.reduce((sum, { id }) => sum + (sample.gpu[id] ?? 0), 0);
}

/** How many there are, given as a number or as a list. */
export function countOf(items: number | readonly unknown[]): number {
  return typeof items === "number" ? items : items.length;
}

/** Runs under way and callers waiting. */
export function queueOf({ queue }: MemorySample): { running: number; waiting: number } {
  return { running: queue?.inFlight ?? 0, waiting: queue?.waiting ?? 0 };
}

/** A sample as the verdict reads it. */
export function readingOf(sample: MemorySample): Reading {
  return readMemory({ ...sample, requests: countOf(sample.requests), engines: countOf(sample.engines) });
}

/** Share of the limit within which the limit is drawn true to scale; one far above is only named. */
const LIMIT_IN_SIGHT = 3;

/**
 * The chart's upper end: round, above everything, and, unless it is far too high, the one that was there, so that the scale does not
 * jump with every sample.
 */
export function topOf(samples: readonly MemorySample[], limit: number, before: number): number {
  const most = samples.reduce((top, sample) => Math.max(top, gpuTotal(sample), sample.wasmBytes), 1);
  const highest = limit > 0 && limit <= most * LIMIT_IN_SIGHT ? Math.max(most, limit) : most;
  const wanted = roundUp(highest * 1.08);
  return before >= wanted && before <= wanted * 2.2 ? before : wanted;
}

/** "GPU 6.5 MB, wasm heap 8.4 MB: flat for 90 s." */
export function summarizeMemory(sample: MemorySample, verdict: Verdict): string {
  return `GPU ${formatBytes(gpuTotal(sample))}, wasm heap ${formatBytes(sample.wasmBytes)}: ${verdict.text}.`;
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((n) => n * power >= value) ?? 10) * power;
}
