/**
 * Does memory climb, and if it does, what makes it climb? Pure arithmetic over samples of one clock.
 *
 * A curve that rises once (a model was loaded) and then holds is flat. A curve that rises again and again without
 * giving back is climbing, even when it rests between the rises, as a leak of one engine every twenty seconds does.
 */
import { formatBytes, formatSeconds } from "./format.js";

/** One reading: total bytes, the classes they are made of, and how many things are alive. */
export interface Reading {
  /** Seconds. */
  readonly time: number;
  /** Bytes by class, such as `weights`, `arena`, `wasm`. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly engines: number;
  readonly queue: number;
}

/** What of a memory report becomes a reading; `time` in milliseconds. */
export interface Readable {
  readonly time: number;
  readonly gpu: Readonly<Partial<Record<GpuClass, number>>>;
  readonly wasmBytes: number;
  readonly requests: number;
  readonly engines: number;
  readonly queue?: { readonly inFlight?: number; readonly waiting?: number } | undefined;
}

/** What GPU memory is used for; together they are all of it. */
export const GPU_CLASSES = ["weights", "arena", "staging", "textures", "uniforms", "build"] as const;

/** One use of GPU memory. */
export type GpuClass = (typeof GPU_CLASSES)[number];

/** A memory report as a verdict reads it. */
export function readMemory(report: Readable): Reading {
  const bytes: Record<string, number> = { wasm: report.wasmBytes };
  for (const name of GPU_CLASSES) bytes[name] = report.gpu[name] ?? 0;
  const { time, requests, engines, queue } = report;
  return { time: time / 1000, bytes, requests, engines, queue: (queue?.inFlight ?? 0) + (queue?.waiting ?? 0) };
}

/** Who is likely behind a climb. */
export type Suspect = "sessions" | "queue" | "requests" | "results" | "frames";

/** What a memory curve does. */
export interface Verdict {
  readonly state: "waiting" | "flat" | "climbing" | "moving";
  /** For how long it has been so, in seconds. */
  readonly seconds: number;
  /** Rate while climbing, else 0. */
  readonly bytesPerMinute: number;
  readonly suspect?: Suspect;
  /** The class that grows most, while climbing. */
  readonly grows?: string;
  /** In words: "flat for 90 s"; "climbing 2.0 MB/min: requests made per frame". */
  readonly text: string;
}

/** Below this a change is noise: 4 KiB, or a thousandth of the level. */
const NOISE_BYTES = 4096;
const NOISE_SHARE = 0.001;
/** A climb has at least so many rises; one or two are a start, not a slope. */
const MIN_RISES = 3;
/** A verdict needs so many seconds of history. */
const MIN_SECONDS = 5;
/** The rises lie at least so many seconds apart, first to last: a model that streams in is no slope. */
const MIN_SPAN = 10;
/** A climb has ended once it has rested so many times its mean gap. */
const REST = 2.5;
/** A rise counts once it has stayed for so many seconds: a model that is exchanged is there twice for a moment. */
const CONFIRMED = 4;

interface Climb {
  /** Index of the reading before the first rise. */
  readonly from: number;
  /** Bytes that rose since and were not given back. */
  readonly kept: number;
}

/** Judges the readings, oldest first. */
export function judge(readings: readonly Reading[]): Verdict {
  const last = readings.at(-1);
  const first = readings[0];
  if (!first || !last || last.time - first.time < MIN_SECONDS) {
    return { state: "waiting", seconds: 0, bytesPerMinute: 0, text: "watching: a verdict takes 5 s" };
  }
  const totals = readings.map(total);
  const climb = findClimb(readings, totals);
  if (climb !== undefined) {
    const span = readings.slice(climb.from);
    const seconds = last.time - (span[0]?.time ?? last.time);
    const rate = (60 * climb.kept) / seconds;
    const { grows, suspect, words } = accuse(span);
    const text = `climbing ${formatBytes(rate)}/min: ${words}`;
    return { state: "climbing", seconds, bytesPerMinute: rate, suspect, grows, text };
  }
  const seconds = last.time - flatSince(readings, totals);
  if (seconds >= MIN_SECONDS) {
    return { state: "flat", seconds, bytesPerMinute: 0, text: `flat for ${formatSeconds(seconds)}` };
  }
  return { state: "moving", seconds, bytesPerMinute: 0, text: "just changed, settling" };
}

/** All bytes of a reading. */
export function total(reading: Reading): number {
  let sum = 0;
  for (const bytes of Object.values(reading.bytes)) sum += bytes;
  return sum;
}

/** Slope of a least-squares line, in units a second; 0 for fewer than two distinct times. */
export function slopePerSecond(times: readonly number[], values: readonly number[]): number {
  const n = Math.min(times.length, values.length);
  if (n < 2) return 0;
  const mean = (list: readonly number[]) => list.slice(0, n).reduce((a, b) => a + b, 0) / n;
  const meanTime = mean(times);
  const meanValue = mean(values);
  let above = 0;
  let below = 0;
  for (let i = 0; i < n; i++) {
    const dt = (times[i] ?? 0) - meanTime;
    above += dt * ((values[i] ?? 0) - meanValue);
    below += dt * dt;
  }
  return below === 0 ? 0 : above / below;
}

/** For every reading, the least of it and all later ones: what rose and was given back since does not show in it. */
function floorOf(totals: readonly number[]): number[] {
  let least = Number.POSITIVE_INFINITY;
  return totals
    .map((_, i) => {
      least = Math.min(least, totals.at(-1 - i) ?? least);
      return least;
    })
    .reverse();
}

interface Rise {
  readonly at: number;
  readonly size: number;
}

/** Where the floor rises by more than the noise. What rises before the first rest, while a model is loaded, is one rise. */
function risesOf(times: readonly number[], floor: readonly number[]): Rise[] {
  const noise = noiseOf(floor);
  // Steps smaller than the noise add up too: compare with the level last taken, not with the reading before.
  let level = floor[0] ?? 0;
  const rises: Rise[] = [];
  floor.forEach((value, at) => {
    if (value - level <= noise) return;
    rises.push({ at, size: value - level });
    level = value;
  });
  const time = (rise: Rise | undefined) => times[rise?.at ?? 0] ?? 0;
  const rested = rises.findIndex((rise, i) => i > 0 && time(rise) - time(rises[i - 1]) >= MIN_SECONDS);
  const loading = rises.slice(0, rested === -1 ? rises.length : rested);
  if (loading.length < 2 || time(loading.at(-1)) - time(loading[0]) >= MIN_SPAN) return rises;
  const size = loading.reduce((sum, rise) => sum + rise.size, 0);
  return [{ at: loading[0]?.at ?? 0, size }, ...rises.slice(loading.length)];
}

/** Where a climb that still goes on began, and how much it has kept; undefined when there is none. */
function findClimb(readings: readonly Reading[], totals: readonly number[]): Climb | undefined {
  const times = readings.map(({ time }) => time);
  const floor = floorOf(totals);
  const now = times.at(-1) ?? 0;
  const rises = risesOf(times, floor);
  const rose = rises.reduce((sum, rise) => sum + rise.size, 0);
  // One rise larger than all others together is a start (a model was loaded), not part of a slope.
  const start = rises.find((rise) => rise.size > rose / 2);
  const after = rises.filter((rise) => rise.at > (start?.at ?? -1));
  const steady = after.length >= MIN_RISES ? after : rises.filter((rise) => rise !== start);
  const [first, last] = [steady[0], steady.at(-1)];
  const confirmed = steady.filter(({ at }) => now - (times[at] ?? now) >= CONFIRMED);
  if (first === undefined || last === undefined || confirmed.length < MIN_RISES) return undefined;

  const span = (times[last.at] ?? 0) - (times[first.at] ?? 0);
  const rest = now - (times[last.at] ?? 0);
  const meanGap = span / (steady.length - 1);
  const goesOn = rest <= Math.max(MIN_SPAN, REST * meanGap);
  if (span < MIN_SPAN || !goesOn) return undefined;
  const from = first.at - 1;
  return { from, kept: (floor.at(-1) ?? 0) - (floor[from] ?? 0) };
}

/** Time since when the total has stayed within the noise of what it is now. */
function flatSince(readings: readonly Reading[], totals: readonly number[]): number {
  const noise = noiseOf(totals);
  let low = totals.at(-1) ?? 0;
  let high = low;
  let since = readings.at(-1)?.time ?? 0;
  for (let i = totals.length - 1; i >= 0; i--) {
    const value = totals[i] ?? low;
    low = Math.min(low, value);
    high = Math.max(high, value);
    if (high - low > noise) break;
    since = readings[i]?.time ?? since;
  }
  return since;
}

function noiseOf(totals: readonly number[]): number {
  let top = 0;
  for (const value of totals) top = Math.max(top, value);
  return Math.max(NOISE_BYTES, NOISE_SHARE * top);
}

/** Names the suspect: what is counted alive is better evidence than the class of the bytes. */
function accuse(span: readonly Reading[]): { grows: string; suspect: Suspect; words: string } {
  const times = span.map((r) => r.time);
  const slopeOf = (value: (r: Reading) => number) => slopePerSecond(times, span.map(value));
  const first = span[0];
  const last = span.at(-1);
  let grows = "memory";
  let most = 0;
  for (const name of Object.keys(last?.bytes ?? {})) {
    const slope = slopeOf((r) => r.bytes[name] ?? 0);
    if (slope > most) [grows, most] = [name, slope];
  }
  const more = (value: (r: Reading) => number) => (first && last ? value(last) - value(first) : 0);
  const found = (suspect: Suspect, words: string) => ({ grows, suspect, words });

  if (more((r) => r.engines) >= 2) return found("sessions", "engines made again and again, not closed");
  const requests = more((r) => r.requests);
  if (requests >= 2) {
    const perFrame = slopeOf((r) => r.requests) >= 1;
    return found("requests", perFrame ? "requests made per frame" : "requests made and not closed");
  }
  if (more((r) => r.queue) >= 2) return found("queue", "the queue grows: results are taken too slowly");
  switch (grows) {
    case "weights":
      return found("sessions", "weights: engines not closed");
    case "arena":
    case "uniforms":
      return found("requests", `${grows}: requests not closed`);
    case "staging":
      return found("queue", "staging: results not read or released");
    case "textures":
      return found("frames", "textures: frames not released");
    default:
      return found("results", "wasm heap: results or models kept");
  }
}
