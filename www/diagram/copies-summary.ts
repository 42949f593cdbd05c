/** What the ledger says, in words, and which of its edges matter for a frame. */
import { count, formatBytes, formatMs } from "./format.js";
import { placeOf } from "./places.js";
import type { LedgerEdge, LedgerSnapshot } from "./types.js";

/** How an edge is drawn: by reference, within one memory, or across the border. */
export type Form = "reference" | "within" | "crossing";

export function formOf(edge: Pick<LedgerEdge, "from" | "to" | "kind">): Form {
  if (edge.kind === "reference") return "reference";
  return placeOf(edge.from).bank === placeOf(edge.to).bank ? "within" : "crossing";
}

/** An edge that so many frames have not taken is one of the past: the source has changed since. */
const PAST_FRAMES = 30;

/** True for an edge that frames take now; false for what happened once, such as weights, or no longer happens. */
export function isPerFrame(edge: LedgerEdge, frames: number): boolean {
  const { kind, lastFrame } = edge;
  if (lastFrame !== undefined) {
    return lastFrame > 0 && frames - lastFrame < PAST_FRAMES && (kind === "reference" || edge.bytesPerFrame > 0);
  }
  if (kind === "reference") return frames <= 1 || edge.count >= frames / 2;
  return edge.bytesPerFrame > 0;
}

/** The later snapshot, with the times of each edge averaged over what was moved since the earlier one only. */
export function since(earlier: LedgerSnapshot | undefined, later: LedgerSnapshot): LedgerSnapshot {
  if (!earlier) return later;
  const before = new Map(earlier.edges.map((edge) => [edge.id, edge]));
  const edges = later.edges.map((edge) => {
    const old = before.get(edge.id);
    const times = edge.count - (old?.count ?? 0);
    if (!old || times <= 0 || times === edge.count) return edge;
    const mean = (now: number, was: number) => Math.max(0, (now * edge.count - was * old.count) / times);
    const cpuMs = mean(edge.cpuMs, old.cpuMs);
    return edge.gpuMs === undefined || old.gpuMs === undefined
      ? { ...edge, cpuMs }
      : { ...edge, cpuMs, gpuMs: mean(edge.gpuMs, old.gpuMs) };
  });
  return { ...later, edges };
}

/** Bytes that cross into GPU memory and back, over all edges. */
export function crossed(edges: readonly LedgerEdge[]): { toGpu: number; toCpu: number } {
  let toGpu = 0;
  let toCpu = 0;
  for (const edge of edges) {
    if (formOf(edge) !== "crossing") continue;
    if (placeOf(edge.to).bank === "gpu") toGpu += edge.bytes;
    else toCpu += edge.bytes;
  }
  return { toGpu, toCpu };
}

/** "One frame: 1 reference in, 0 copies on the CPU, 1.2 KB back." */
export function summarize({ edges, frames }: Pick<LedgerSnapshot, "edges" | "frames">): string {
  const live = edges.filter((edge) => isPerFrame(edge, frames));
  const into = (edge: LedgerEdge) => placeOf(edge.from).bank === "cpu" && placeOf(edge.to).bank === "gpu";
  const references = live.filter((edge) => edge.kind === "reference" && into(edge)).length;
  const uploads = live.filter((edge) => formOf(edge) === "crossing" && into(edge));
  const backs = live.filter((edge) => formOf(edge) === "crossing" && !into(edge));
  const onCpu = live.filter((edge) => formOf(edge) === "within" && placeOf(edge.from).bank === "cpu");
  const implicit = live.filter((edge) => edge.implicit);

  const parts: string[] = [];
  if (references > 0) parts.push(`${count(references, "reference")} in`);
  if (uploads.length > 0) parts.push(`${count(uploads.length, "upload")} of ${bytesOf(uploads)} in`);
  if (parts.length === 0) parts.push("nothing in");
  parts.push(`${count(onCpu.length, "copy", "copies")} on the CPU${onCpu.length > 0 ? ` (${bytesOf(onCpu)})` : ""}`);
  parts.push(backs.length > 0 ? `${bytesOf(backs)} back` : "0 bytes back");
  if (implicit.length > 0) parts.push(`${count(implicit.length, "implicit copy", "implicit copies")}`);
  return `One frame: ${parts.join(", ")}.`;
}

/** "The usual canvas way: 7 copies, 12.3 MB, 8.1 ms." */
export function summarizeComparison(edges: readonly LedgerEdge[]): string {
  const copies = edges.filter((edge) => edge.kind !== "reference");
  const ms = copies.reduce((sum, edge) => sum + timeOf(edge), 0);
  return `The usual canvas way: ${count(copies.length, "copy", "copies")}, ${bytesOf(copies)}, ${formatMs(ms)}.`;
}

/** Milliseconds one passage takes: the GPU's where it was measured, else the CPU's. */
export function timeOf(edge: LedgerEdge): number {
  return edge.gpuMs ?? edge.cpuMs;
}

/** What stands beside an arrow: bytes and time of one frame, or of the one time it happened. */
export function labelOf(edge: LedgerEdge, frames: number): { bytes: string; time: string } {
  if (edge.kind === "reference") return { bytes: "no bytes", time: "" };
  if (!isPerFrame(edge, frames)) {
    return { bytes: formatBytes(edge.bytes), time: edge.bytesPerFrame > 0 && edge.count > 1 ? "earlier" : "once" };
  }
  return { bytes: formatBytes(edge.bytesPerFrame), time: formatMs(timeOf(edge)) };
}

/** An arrow's width in pixels: 1.5 for a few bytes, one more for each tenfold. */
export function widthOf(bytes: number): number {
  if (bytes <= 0) return 1.5;
  return Math.min(9, 1.5 + Math.log10(1 + bytes / 16));
}

function bytesOf(edges: readonly LedgerEdge[]): string {
  return formatBytes(edges.reduce((sum, edge) => sum + edge.bytesPerFrame, 0));
}
