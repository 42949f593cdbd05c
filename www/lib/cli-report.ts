import type { InspectOutput } from "./cli.js";
import type { LayerReport, TensorDesc } from "./types.js";

/** Rows of the table of what takes memory. */
const EATERS = 10;

function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  return n < 1024 * 1024 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1024 / 1024).toFixed(2)} MiB`;
}

function count(n: number): string {
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} k`;
  return n < 1e9 ? `${(n / 1e6).toFixed(1)} M` : `${(n / 1e9).toFixed(2)} G`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((w) => "─".repeat(w))), ...rows.map(line)].join("\n");
}

function dims(shape: readonly number[]): string {
  return shape.join("x") || "scalar";
}

function shapes(tensors: readonly { readonly shape: readonly number[] }[] | undefined): string {
  return (tensors ?? []).map((t) => dims(t.shape)).join(" ");
}

function cards(title: string, tensors: readonly TensorDesc[]): string {
  return tensors.map((t) => `${title} ${t.name}: ${t.dtype}[${t.shape.join(", ")}]`).join("\n");
}

function outputBytes(layer: LayerReport): number {
  return (layer.outputs ?? []).reduce((sum, t) => sum + t.bytes, layer.workspaceBytes);
}

/** The report in words and tables. */
export function describeEngine({ inputs, outputs, report }: InspectOutput): string {
  const { arena, weights, layers, accounts, totals } = report;
  const over =
    arena.bytes === arena.lowerBound
      ? "no plan can be smaller"
      : `${(arena.bytes / arena.lowerBound).toFixed(3)} of the lower bound`;
  const layerRows = layers.map((layer) => [
    String(layer.index),
    layer.op,
    layer.kernel ?? "",
    shapes(layer.inputs?.filter((t) => t.offset !== undefined)),
    shapes(layer.outputs),
    bytes(outputBytes(layer)),
    count(layer.flops),
    bytes(layer.trafficBytes),
    layer.shareOfPeak > 0 ? `${(layer.shareOfPeak * 100).toFixed(0)} %` : "",
  ]);
  const eaters = report.eaters ?? [];
  const eaterRows = eaters
    .slice(0, EATERS)
    .map((row) => [
      row.name,
      row.op,
      row.inputs.map(dims).join(" "),
      row.outputs.map(dims).join(" "),
      (row.bytes / 1e6).toFixed(3),
      (row.peakBytes / 1e6).toFixed(3),
      `${(row.shareOfPeak * 100).toFixed(0)} %`,
    ]);
  const { load, batch } = accounts;
  const phases = load.phases.map(({ phase, multiplier }) => `${phase} ${multiplier.toFixed(2)}`);
  return `${[
    report.model,
    cards("  input ", inputs),
    cards("  output", outputs),
    "",
    table(
      ["#", "operator", "kernel", "inputs", "outputs", "memory", "flops", "traffic", "of peak"],
      layerRows,
      [0, 5, 6, 7, 8],
    ),
    "",
    `What takes memory: ${eaterRows.length} of ${eaters.length}, by what they hold in step ${arena.peakStep}, where most is held`,
    table(["layer", "operator", "inputs", "outputs", "MB written", "MB at peak", "of peak"], eaterRows, [4, 5, 6]),
    "",
    `arena     ${bytes(arena.bytes)}  (a buffer each ${bytes(arena.naive)}, lower bound ${bytes(arena.lowerBound)}: ${over}; ${arena.planner})`,
    `weights   ${bytes(weights.bytes)}, shared by all requests`,
    `load      ${bytes(load.fileBytes)} on disk, ${bytes(load.residentBytes)} in memory: ${load.multiplier.toFixed(2)} times`,
    ...(phases.length > 0 ? [`          while compiling, times the file: ${phases.join(", ")}`] : []),
    `batch     ${batch.map((b) => `${b.n}: ${bytes(b.arenaBytes)}`).join(", ")}`,
    `work      ${totals.layers} layers, ${totals.dispatches} dispatches, ${totals.shaders} shaders, ${count(totals.flops)}FLOP, ${bytes(totals.trafficBytes)} of traffic`,
  ].join("\n")}\n`;
}
