/** Made-up data for the gallery and the tests. Nothing a user sees is drawn from it. */
import type { EngineReport, LayerReport, LedgerEdge, LedgerSnapshot, MemorySample, TensorReport } from "./types.js";

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
    { from: "video", to: "canvas-2d", kind: "copy", bytesPerFrame: 1_228_800, cpuMs: 0.9, reason: "drawImage" },
    {
      from: "canvas-2d",
      to: "canvas-small",
      kind: "copy",
      bytesPerFrame: 65_536,
      cpuMs: 0.6,
      reason: "drawImage at the model's size",
    },
    {
      from: "canvas-small",
      to: "javascript",
      kind: "readback",
      bytesPerFrame: 65_536,
      cpuMs: 1.8,
      reason: "getImageData",
    },
    {
      from: "javascript",
      to: "float-array",
      kind: "convert",
      bytesPerFrame: 196_608,
      cpuMs: 1.1,
      reason: "Float32Array, in a loop",
    },
    {
      from: "float-array",
      to: "wasm",
      kind: "copy",
      bytesPerFrame: 196_608,
      cpuMs: 0.1,
      reason: "new Tensor, into the wasm heap",
    },
    { from: "wasm", to: "input", kind: "upload", bytesPerFrame: 196_608, cpuMs: 0.2, reason: "upload" },
    {
      from: "result",
      to: "javascript",
      kind: "readback",
      bytesPerFrame: 57_344,
      cpuMs: 0.5,
      reason: "every raw output is read back",
    },
  ] satisfies Sketch[]
).map((sketch, i) => ({ ...edge(sketch, 1), id: `usual-${i + 1}` }));

/** A network with residual blocks, placed first-fit by size: `blocks` of three layers each. */
export function network(blocks: number): EngineReport {
  interface Draft extends TensorReport {
    readonly start: number;
    end: number;
    offset: number;
  }
  const tensors: Draft[] = [];
  const layers: LayerReport[] = [];
  const tensor = (name: string, channels: number, size: number): Draft => {
    const bytes = Math.ceil((channels * size * size * 4) / 256) * 256;
    const draft = {
      name,
      shape: [1, channels, size, size],
      dtype: "float32",
      layout: "C4",
      bytes,
      start: layers.length,
      end: layers.length,
      offset: -1,
    };
    tensors.push(draft);
    return draft;
  };
  const layer = (op: string, inputs: Draft[], output: Draft, workspaceBytes = 0) => {
    for (const input of inputs) input.end = layers.length;
    const index = layers.length;
    const weight = { name: `w${index}`, shape: [64, 64, 3, 3], dtype: "float32", offset: index * 256, bytes: 4096 };
    layers.push({
      index,
      name: `${op.toLowerCase()}_${index}`,
      op,
      kernel: "conv_direct 4x4",
      inputs: [...inputs, weight],
      outputs: [output],
      workspaceBytes,
      firstStep: index,
      lastStep: index,
      shareOfPeak: 0,
    });
  };

  let [channels, size] = [24, 64];
  let x = tensor("images", 3, 128);
  const stem = tensor("stem", channels, size);
  layer("Conv", [x], stem);
  x = stem;
  for (let i = 0; i < blocks; i++) {
    const shrink = i % 4 === 3;
    if (shrink) [channels, size] = [channels + 24, Math.max(4, size / 2)];
    const wide = tensor(`block${i}/expand`, channels * 2, size);
    layer("Conv", [x], wide);
    const narrow = tensor(`block${i}/project`, channels, size);
    layer("DepthwiseConv", [wide], narrow);
    const sum = tensor(`block${i}/add`, channels, size);
    // Half of the additions write in place of an operand.
    if (i % 2 === 0 && !shrink) Object.assign(sum, { inPlaceOf: narrow });
    layer("Add", shrink ? [narrow] : [x, narrow], sum, i === 2 ? 120_000 : 0);
    x = sum;
  }
  for (const draft of tensors) if (draft === x) draft.end = layers.length - 1;

  const operand = (draft: Draft) => (draft as Draft & { inPlaceOf?: Draft }).inPlaceOf;
  for (const draft of tensors) {
    const over = operand(draft);
    if (over) over.end = draft.end;
  }
  const placed: Draft[] = [];
  for (const draft of tensors.filter((t) => !operand(t)).sort((a, b) => b.bytes - a.bytes)) {
    const rivals = placed
      .filter((other) => other.start <= draft.end && draft.start <= other.end)
      .sort((a, b) => a.offset - b.offset);
    let at = 0;
    for (const rival of rivals) {
      if (at + draft.bytes <= rival.offset) break;
      at = Math.max(at, rival.offset + rival.bytes);
    }
    draft.offset = at;
    placed.push(draft);
  }
  for (const draft of tensors) {
    const over = operand(draft);
    if (over) draft.offset = over.offset;
  }
  const top = placed.reduce((most, t) => Math.max(most, t.offset + t.bytes), 0);
  const bytes = top + 120_064;
  const live = (step: number) =>
    placed.filter((t) => t.start <= step && step <= t.end).reduce((sum, t) => sum + t.bytes, 0);
  const lowerBound = Math.max(...layers.map((_, step) => live(step)));
  const peakStep = layers.findIndex((_, step) => live(step) === lowerBound);
  const naive = tensors.reduce((sum, t) => sum + t.bytes, 0);
  const finished = layers.map((l) => (l.workspaceBytes > 0 ? { ...l, workspaceOffset: top } : l));
  const eaters = finished.map(({ index, name, op, inputs = [], outputs = [], workspaceBytes }) => {
    const held = placed.filter((t) => outputs.includes(t) && t.start <= peakStep && peakStep <= t.end);
    const peakBytes = held.reduce((sum, t) => sum + t.bytes, 0);
    return {
      layer: index,
      name,
      op,
      inputs: inputs.map(({ shape }) => shape),
      outputs: outputs.map(({ shape }) => shape),
      bytes: outputs.reduce((sum, t) => sum + t.bytes, workspaceBytes),
      peakBytes,
      shareOfPeak: peakBytes / lowerBound,
    };
  });
  return {
    model: "residual",
    arena: { bytes, lowerBound, naive, alignment: 256, planner: "greedy by size" },
    layers: finished,
    eaters: eaters.sort((a, b) => b.peakBytes - a.peakBytes || b.bytes - a.bytes),
  };
}

/** Two minutes of a page that loads a model after twenty seconds; `leak` bytes a second stay behind with each request. */
export function samples(leak: number): MemorySample[] {
  return Array.from({ length: 121 }, (_, second) => {
    const loaded = second >= 20;
    const weights = loaded ? 412_672 * 8 : 0;
    const arena = loaded ? 2 * 1_310_720 + leak * (second - 20) : 0;
    const staging = loaded ? 3 * 65_536 : 0;
    const textures = loaded ? 1_228_800 : 0;
    const uniforms = loaded ? 262_144 : 0;
    const build = second === 20 ? 1_500_000 : 0;
    const total = weights + arena + staging + textures + uniforms + build;
    return {
      time: second * 1000,
      gpu: { weights, arena, staging, textures, uniforms, build, total, peak: total },
      wasmBytes: loaded ? 4_718_592 : 2_097_152,
      requests: loaded ? 2 + Math.round((leak / 1_310_720) * (second - 20)) : 0,
      engines: loaded ? 1 : 0,
      queue: { inFlight: loaded ? 1 + (second % 3 === 0 ? 1 : 0) : 0, waiting: loaded && second % 17 < 3 ? 1 : 0 },
    };
  });
}
