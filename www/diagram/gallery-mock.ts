/** Made-up data for the gallery and the tests. Nothing a user sees is drawn from it. */
import type { LedgerEdge, LedgerSnapshot } from "./types.js";

type Sketch = Pick<LedgerEdge, "from" | "to" | "kind"> & Partial<LedgerEdge>;

/** A ledger's edge from what matters of it, after `frames` frames. */
export function edge(sketch: Sketch, frames = 300): LedgerEdge {
  const bytesPerFrame = sketch.bytesPerFrame ?? 0;
  return {
    id: `${sketch.from}-${sketch.to}-${sketch.kind}`,
    bytesPerFrame,
    count: frames,
    bytes: bytesPerFrame * frames,
    implicit: false,
    cpuMs: 0.1,
    ...sketch,
  };
}

export function ledger(sketches: readonly Sketch[], frames = 300): LedgerSnapshot {
  const edges = sketches.map((sketch) => edge(sketch, frames));
  const sum = (kind: LedgerEdge["kind"]) =>
    edges.filter((e) => e.kind === kind).reduce((total, e) => total + e.bytes, 0);
  return {
    frames,
    edges,
    toGpuBytes: sum("upload"),
    toCpuBytes: sum("readback"),
    buffersCreated: 24,
    bindGroupsCreated: 61,
  };
}

const WEIGHTS: Sketch = {
  from: "wasm",
  to: "weights",
  kind: "upload",
  count: 1,
  bytes: 412_672,
  bytesPerFrame: 0,
  cpuMs: 0.6,
};

/** A frame taken by reference, as on a browser with external textures. */
export const BY_REFERENCE: readonly Sketch[] = [
  { from: "camera", to: "video", kind: "reference" },
  { from: "video", to: "texture", kind: "reference" },
  { from: "texture", to: "input", kind: "convert", bytesPerFrame: 196_608, cpuMs: 0.02, gpuMs: 0.38 },
  { from: "result", to: "staging", kind: "copy", bytesPerFrame: 1216, cpuMs: 0.01, gpuMs: 0.02 },
  { from: "staging", to: "javascript", kind: "readback", bytesPerFrame: 1216, cpuMs: 0.05 },
  WEIGHTS,
];

/** The copying path, with a tensor whose strides are wrong: two copies more than needed, one of them implicit. */
export const WITH_COPIES: readonly Sketch[] = [
  { from: "camera", to: "video", kind: "reference" },
  { from: "video", to: "texture", kind: "upload", bytesPerFrame: 1_228_800, cpuMs: 0.82 },
  { from: "texture", to: "input", kind: "convert", bytesPerFrame: 196_608, cpuMs: 0.02, gpuMs: 0.38 },
  { from: "javascript", to: "input", kind: "upload", bytesPerFrame: 602_112, cpuMs: 0.31 },
  {
    from: "input",
    to: "arena",
    kind: "relayout",
    bytesPerFrame: 602_112,
    cpuMs: 0.01,
    gpuMs: 0.22,
    implicit: true,
    reason: "strides [150528,1,672,3] are NHWC, the port wants NCHW",
  },
  { from: "result", to: "staging", kind: "copy", bytesPerFrame: 57_344, cpuMs: 0.01, gpuMs: 0.03 },
  { from: "staging", to: "javascript", kind: "readback", bytesPerFrame: 57_344, cpuMs: 0.12 },
  { from: "result", to: "canvas", kind: "copy", bytesPerFrame: 1_228_800, cpuMs: 0.02, gpuMs: 0.4 },
  WEIGHTS,
];

/** The usual way, step by step. */
export const USUAL: readonly LedgerEdge[] = (
  [
    { from: "video", to: "canvas2d", kind: "copy", bytesPerFrame: 1_228_800, cpuMs: 0.9, reason: "drawImage" },
    { from: "canvas2d", to: "imagedata", kind: "copy", bytesPerFrame: 1_228_800, cpuMs: 2.4, reason: "getImageData" },
    {
      from: "imagedata",
      to: "float32",
      kind: "convert",
      bytesPerFrame: 196_608,
      cpuMs: 1.1,
      reason: "Float32Array, in a loop",
    },
    {
      from: "float32",
      to: "wasm",
      kind: "copy",
      bytesPerFrame: 196_608,
      cpuMs: 0.1,
      reason: "new Tensor, into the wasm heap",
    },
    { from: "wasm", to: "input", kind: "upload", bytesPerFrame: 196_608, cpuMs: 0.2, reason: "upload" },
    {
      from: "result",
      to: "staging",
      kind: "copy",
      bytesPerFrame: 57_344,
      cpuMs: 0.05,
      reason: "whole output to staging",
    },
    { from: "staging", to: "javascript", kind: "readback", bytesPerFrame: 57_344, cpuMs: 0.4, reason: "read back" },
  ] satisfies Sketch[]
).map((sketch, i) => ({ ...edge(sketch, 1), id: `usual-${i + 1}` }));
