/** The verdicts of `runtime.check()` and `engine.verify()` in words. */
import { count, formatBytes, NBSP, shortName } from "../diagram/format.js";
import type { Check, LayerError, Verification } from "../lib/index.js";

const BECAUSE: Readonly<Record<Check["verdict"]["failed"][number], string>> = {
  "shared-memory": "the kernels cannot read it where it lies",
  "type-and-shape": "shape or dtype is another",
  layout: "its elements lie in another order",
};

/** The verdict of a check: the word, and what a run does with the thing. `strict`: a re-layout is refused. */
export function describeVerdict(
  { zeroCopy, failed, path, bytes }: Check["verdict"],
  strict = false,
): { word: string; path: string } {
  const way = `${path.charAt(0).toUpperCase()}${path.slice(1)}.`;
  if (zeroCopy) return { word: "Zero copy.", path: way };
  // Nothing is written only where a run is refused; the lines say why.
  if (bytes === 0) return { word: "Not at all.", path: way };
  const reasons = failed.map((condition) => BECAUSE[condition]).join("; ");
  const refusal =
    strict && failed.includes("layout") ? " Strict, as the detector is now, refuses to lay it again." : "";
  return {
    word: "Not without a copy.",
    path: `${way} ${formatBytes(bytes)} are written before the first kernel. Why not as it is: ${reasons}.${refusal}`,
  };
}

/** A part of a layer's largest value: `0.01 %`, `0.00003 %`. */
export function share(part: number): string {
  const percent = part * 100;
  // One digit that is not 0, however small.
  const decimals = percent >= 1 || percent === 0 ? 0 : Math.min(20, Math.ceil(-Math.log10(percent)));
  return `${percent.toFixed(decimals)}${NBSP}%`;
}

/** Numbers of float32 hold seven digits. */
function digits(value: number): string {
  return `${Number(value.toPrecision(7))}`;
}

function layer({ index, op, name, kernel }: LayerError): string {
  return `layer ${index}, ${op} “${shortName(name)}” (kernel ${kernel})`;
}

/** What a verification found, in words: the verdict and what stands behind it. */
export function describeVerification(found: Verification): { verdict: string; sentence: string } {
  const { layers, runs, repeatable, tolerance, worst, first } = found;
  const same = repeatable
    ? `The ${count(runs, "run")} gave the same bits.`
    : `The ${count(runs, "run")} did not give the same bits: something on this adapter depends on time.`;
  if (first) {
    // Numbers that are none, and outputs of another length, are told as a difference without bounds.
    const off = first.error < 1e6 ? `${share(first.error)} of the layer's largest value` : "more than any tolerance";
    return {
      verdict: "It differs.",
      sentence:
        `The first to differ is ${layer(first)}: ${digits(first.got)} where the reference has ${digits(first.expected)}, ` +
        `off by ${off}; ${share(tolerance)} is allowed. ${same}`,
    };
  }
  const most = worst && worst.error > 0 ? ` Furthest off, by ${share(worst.error)}: ${layer(worst)}.` : "";
  return {
    verdict: repeatable ? "It computes right." : "Right, but not repeatable.",
    sentence:
      `Each of the ${count(layers, "layer")} agrees with its reference within ${share(tolerance)} of its largest value.` +
      `${most} ${same}`,
  };
}
