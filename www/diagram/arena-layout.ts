/** Which tensor lies where in the arena, from when to when; derived from an engine's report. Steps and bytes. */
import { count, formatBytes, formatShape } from "./format.js";
import type { EngineReport, LayerReport, TensorReport } from "./types.js";

/** How a block came to its place: written anew, written over an operand that dies there, or scratch of one layer. */
export type BlockKind = "activation" | "in place" | "workspace";

/** One tensor's rectangle: steps to the right, offsets up. */
export interface Block {
  readonly name: string;
  readonly kind: BlockKind;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly offset: number;
  readonly bytes: number;
  /** First step it lives in and the first it does not. */
  readonly start: number;
  readonly end: number;
  /** Position in `layers` of the layer that writes it; -1 for an input of the model. */
  readonly writer: number;
  /** Positions of the layers that read it. */
  readonly readers: readonly number[];
}

export interface ArenaMap {
  readonly blocks: readonly Block[];
  readonly steps: number;
  /** The step with most bytes in use, and how many they are. */
  readonly peak: { readonly step: number; readonly bytes: number };
}

/**
 * Blocks of a report. `inputs` are the names of the model's inputs; any other tensor that no layer writes is a
 * weight, which does not lie in the arena.
 */
export function arenaMap(report: EngineReport, inputs: readonly string[]): ArenaMap {
  const { layers, arena } = report;
  const steps = Math.max(arena.steps ?? 0, ...layers.map((layer) => layer.index + 1), 0);
  const readers = readersOf(layers);
  const blocks: Block[] = [];
  const seen = new Set<string>();
  const add = (tensor: TensorReport, writer: number, kind: BlockKind) => {
    if (seen.has(tensor.name) || !inArena(tensor)) return;
    seen.add(tensor.name);
    const read = readers.get(tensor.name) ?? [];
    const [start, end] = lifeOf(
      tensor,
      layers[writer],
      read.map((at) => layers[at]?.index ?? 0),
      steps,
    );
    const { name, shape, dtype, bytes } = tensor;
    blocks.push({ name, kind, shape, dtype, bytes, offset: tensor.offset ?? 0, start, end, writer, readers: read });
  };

  const written = new Set(layers.flatMap((layer) => layer.outputs?.map(({ name }) => name) ?? []));
  const isInput = ({ name, life }: TensorReport) =>
    inputs.includes(name) || (!written.has(name) && (life?.[1] ?? 0) > 0);
  for (const layer of layers) for (const input of layer.inputs ?? []) if (isInput(input)) add(input, -1, "activation");
  layers.forEach((layer, at) => {
    for (const output of layer.outputs ?? []) add(output, at, isInPlace(layer, output) ? "in place" : "activation");
    const scratch = workspaceOf(layer, at);
    if (scratch) blocks.push(scratch);
  });
  const peak = peakOf(blocks, steps);
  return { blocks, steps, peak: { ...peak, step: arena.peakStep ?? peak.step } };
}

/** The steps a tensor lives in: as the report says, or else from the layer that writes it through the last that reads it. */
function lifeOf(
  tensor: TensorReport,
  writer: LayerReport | undefined,
  readers: readonly number[],
  steps: number,
): [number, number] {
  const [first, last] = tensor.life ?? [];
  if (first !== undefined && last !== undefined && last > first) return [first, last];
  const start = writer?.index ?? 0;
  // What no layer reads is an output of the model, and lives on to be read by the page.
  const reads = readers.length > 0 ? readers : [steps - 1];
  return [start, Math.min(steps, Math.max(start, writer?.lastStep ?? 0, ...reads) + 1)];
}

/** The block that holds most, per step: the union of what is alive, so that views count once. */
export function peakOf(blocks: readonly Block[], steps: number): { step: number; bytes: number } {
  let peak = { step: 0, bytes: 0 };
  for (let step = 0; step < steps; step++) {
    const alive = blocks.filter((block) => block.start <= step && step < block.end).sort((a, b) => a.offset - b.offset);
    let [bytes, top] = [0, 0];
    for (const { offset, bytes: size } of alive) {
      bytes += Math.max(0, offset + size - Math.max(top, offset));
      top = Math.max(top, offset + size);
    }
    if (bytes > peak.bytes) peak = { step, bytes };
  }
  return peak;
}

/** Blocks a layer reads or writes. */
export function blocksOf(map: ArenaMap, layer: number): Block[] {
  return map.blocks.filter((block) => block.writer === layer || block.readers.includes(layer));
}

/** The layer that runs in a step, or the last one before it. */
export function layerAt(layers: readonly LayerReport[], step: number): number {
  let found = 0;
  layers.forEach((layer, at) => {
    if (layer.index <= step) found = at;
  });
  return found;
}

/** "97 tensors share 1.3 MB of arena, 6.2 times less than a buffer each; no plan can do with less." */
export function summarizeArena({ arena }: EngineReport, map: ArenaMap): string {
  const tensors = map.blocks.filter((block) => block.kind !== "workspace").length;
  const shares = `${count(tensors, "tensor")} ${tensors === 1 ? "takes" : "share"} ${formatBytes(arena.bytes)}`;
  const times = arena.bytes > 0 ? arena.naive / arena.bytes : 1;
  const saves = times > 1.05 ? `, ${times.toFixed(1)} times less than a buffer each` : "";
  const over = arena.lowerBound > 0 ? arena.bytes / arena.lowerBound : 1;
  const best = over < 1.0005 ? "no plan can do with less" : `${((over - 1) * 100).toFixed(1)} % above the lower bound`;
  return `${shares}${saves}; ${best}.`;
}

/** "1×24×64×64 float32, 0.4 MB, steps 12 to 15". */
export function describeBlock({ shape, dtype, bytes, start, end }: Block): string {
  const steps = end - start > 1 ? `steps ${start} to ${end - 1}` : `step ${start}`;
  return [shape.length > 0 || dtype ? `${formatShape(shape)} ${dtype}`.trim() : "", formatBytes(bytes), steps]
    .filter(Boolean)
    .join(", ");
}

/** Round marks from 0 to `top` bytes, at most `most` of them above zero. */
export function ticks(top: number, most: number): number[] {
  if (!(top > 0)) return [0];
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((size) => size >= rough) ?? 10 * power;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

function inArena({ offset }: TensorReport): boolean {
  return typeof offset === "number" && offset >= 0;
}

function readersOf(layers: readonly LayerReport[]): Map<string, number[]> {
  const readers = new Map<string, number[]>();
  layers.forEach((layer, at) => {
    for (const { name } of layer.inputs ?? []) {
      const list = readers.get(name);
      if (!list) readers.set(name, [at]);
      else if (list.at(-1) !== at) list.push(at);
    }
  });
  return readers;
}

function isInPlace(layer: LayerReport, { offset, bytes }: TensorReport): boolean {
  return (layer.inputs ?? []).some((input) => inArena(input) && input.offset === offset && input.bytes === bytes);
}

function workspaceOf(layer: LayerReport, at: number): Block | undefined {
  const { workspaceBytes: bytes, workspaceOffset: offset, index: start } = layer;
  if (!(bytes > 0) || typeof offset !== "number" || offset < 0) return undefined;
  return {
    name: `workspace of ${layer.name}`,
    kind: "workspace",
    shape: [],
    dtype: "",
    offset,
    bytes,
    start,
    end: start + 1,
    writer: at,
    readers: [],
  };
}
