// What `npm run bench` prints: tables, ratios, and whether the targets hold.

/** The targets: how many times faster than onnxruntime-web's WebGPU, milliseconds to the first result, bytes of wasm and JavaScript. */
export const TARGETS = { ratio: 10, firstMs: 2_000, downloadBytes: 400_000 };

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** Median, least and number of some times. */
export function summary(times) {
  return { median: median(times), min: Math.min(...times), runs: times.length };
}

const ms = (n) => (n === undefined ? "-" : n < 100 ? `${n.toFixed(1)} ms` : `${n.toFixed(0)} ms`);
const kb = (n) => (n === undefined ? "-" : `${(n / 1000).toFixed(0)} kB`);
const times = (n) => (n === undefined ? "-" : `${n < 10 ? n.toFixed(2) : n.toFixed(1)}x`);

/** Rows of cells as aligned lines; the first row is the head, columns after the first `left` stand right. */
export function table(rows, left = 1) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => `${row[column]}`.length)));
  const line = (row) =>
    row.map((cell, i) => (i < left ? `${cell}`.padEnd(widths[i]) : `${cell}`.padStart(widths[i]))).join("  ");
  const [head, ...body] = rows.map((row) => line(row).trimEnd());
  return [head, "-".repeat(Math.max(...rows.map((row) => line(row).length))), ...body].join("\n");
}

/** By how much `ours` is faster than `theirs`, medians. */
const ratio = (ours, theirs) => (ours && theirs ? theirs.median / ours.median : undefined);

/** The table of one report: a line for each model and back end. */
export function compare(report) {
  const head = [
    "model",
    "back end",
    "steady",
    "least",
    "runs",
    "ours is",
    "first result",
    "ours is",
    "apart",
    "brotli",
  ];
  const rows = [head];
  for (const model of report.models) {
    const ours = model.results.frameway;
    for (const [name, result] of Object.entries(model.results)) {
      if (result.error) {
        rows.push([model.name, name, "failed", "", "", "", "", "", "", "", ""]);
        continue;
      }
      rows.push([
        model.name,
        name,
        ms(result.steady?.median),
        ms(result.steady?.min),
        result.steady?.runs ?? "-",
        name === "frameway" ? "" : times(ratio(ours?.steady, result.steady)),
        ms(result.first?.median),
        ms(result.first?.cpuMs),
        name === "frameway" ? "" : times(ratio(ours?.first, result.first)),
        result.apart ? `${result.apart.absolute.toExponential(1)} of ${result.apart.greatest.toPrecision(2)}` : "",
        kb(report.downloads[name]?.bytes),
      ]);
    }
  }
  return table(rows, 2);
}

/** Where the time to the first result goes, for one back end. */
export function firstParts(report, name) {
  const all = report.models.map((model) => [model.name, model.results[name]?.first]).filter(([, first]) => first);
  if (all.length === 0) return "";
  const parts = Object.keys(all[0][1].parts);
  const rows = all.map(([model, first]) => [
    model,
    ...parts.map((part) => ms(first.parts[part])),
    ms(first.runMs),
    ms(first.median),
  ]);
  return table([[name, ...parts, "run", "first result"], ...rows]);
}

/** Each target with what was measured; `holds` is undefined where it was not measured. */
export function targets(report) {
  const found = [];
  for (const { name, results } of report.models) {
    const measured = ratio(results.frameway?.steady, results["ort-webgpu"]?.steady);
    const text = `${name}: at least ${TARGETS.ratio}x faster than onnxruntime-web's WebGPU`;
    found.push({ text, measured: times(measured), holds: measured && measured >= TARGETS.ratio });
  }
  for (const { name, results } of report.models) {
    const first = results.frameway?.first?.median;
    const text = `${name}: first result in less than ${TARGETS.firstMs / 1000} s`;
    found.push({ text, measured: ms(first), holds: first && first < TARGETS.firstMs });
  }
  const bytes = report.downloads.frameway?.bytes;
  const text = `wasm and JavaScript at most ${TARGETS.downloadBytes / 1000} kB, brotli`;
  found.push({ text, measured: kb(bytes), holds: bytes && bytes <= TARGETS.downloadBytes });
  return found;
}

/** The targets as lines. */
export function targetLines(found) {
  const word = ({ holds }) => (holds === undefined ? "not measured" : holds ? "yes" : "no");
  return table([["target", "measured", "holds"], ...found.map((t) => [t.text, t.measured, word(t)])]);
}

const shape = (tensor) => (tensor ? tensor.shape.join("x") : "");

/** Joins dispatches with the layers they belong to: both are in order, and a layer says how many are its own. */
export function withLayers(dispatches, layers) {
  const owners = layers.flatMap((layer) =>
    Array.from({ length: layer.dispatches }, (_, i) => ({ layer, isFirst: i === 0 })),
  );
  return dispatches.map((dispatch, i) => ({ ...dispatch, ...owners[i] }));
}

/** The dearest dispatches, and the sums by kernel. */
export function layerTables({ times: dispatches, layers, kernels, whole }, top = 16) {
  const joined = withLayers(dispatches, layers);
  const total = joined.reduce((sum, { ms }) => sum + ms, 0);
  const rate = ({ ms, layer, isFirst }) =>
    isFirst && layer?.flops && ms > 0 ? (layer.flops / ms / 1e6).toFixed(2) : "";
  const dearest = [...joined].sort((a, b) => b.ms - a.ms).slice(0, top);
  const rows = dearest.map((d) => [
    d.layer?.index ?? "",
    d.label,
    shape(d.layer?.inputs[0]),
    d.layer?.op.startsWith("Conv") ? shape(d.layer.inputs[1]) : "",
    shape(d.layer?.outputs[0]),
    d.groups.join("x"),
    d.ms.toFixed(2),
    `${((100 * d.ms) / total).toFixed(0)} %`,
    rate(d),
  ]);
  const byKernel = new Map();
  for (const { label, ms, layer, isFirst } of joined) {
    const sum = byKernel.get(label) ?? { ms: 0, count: 0, flops: 0 };
    byKernel.set(label, {
      ms: sum.ms + ms,
      count: sum.count + 1,
      flops: sum.flops + (isFirst ? (layer?.flops ?? 0) : 0),
    });
  }
  const compile = new Map();
  for (const { label, ms } of kernels) {
    const sum = compile.get(label) ?? { ms: 0, count: 0 };
    compile.set(label, { ms: sum.ms + ms, count: sum.count + 1 });
  }
  const sums = [...byKernel].sort(([, a], [, b]) => b.ms - a.ms);
  const kernelRows = sums.map(([label, { ms, count, flops }]) => [
    label,
    count,
    ms.toFixed(2),
    flops ? (flops / ms / 1e6).toFixed(2) : "",
    compile.get(label)?.count ?? "",
    compile.get(label)?.ms.toFixed(1) ?? "",
  ]);
  const compiling = kernels.reduce((sum, { ms }) => sum + ms, 0);
  return [
    `a run ${ms(median(whole))} (least ${ms(Math.min(...whole))}); its ${joined.length} dispatches one by one ${ms(total)}; ` +
      `its ${kernels.length} kernels compile in ${ms(compiling)}`,
    table([["layer", "kernel", "input", "weights", "output", "groups", "ms", "part", "GFLOP/s"], ...rows], 5),
    table([["kernel", "dispatches", "ms", "GFLOP/s", "pipelines", "compile ms"], ...kernelRows]),
  ].join("\n\n");
}
