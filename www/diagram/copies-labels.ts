/** Where the labels of arrows find room. Pixels. */
import { type Curve, overlaps, pointAt, type Rect, shared } from "./copies-geometry.js";
import type { Form } from "./copies-summary.js";

export interface Label extends Rect {
  /** Where its text begins, and how it is set there. */
  readonly anchor: "start" | "middle" | "end";
  /** Bytes above time, where the two do not fit side by side. */
  readonly stacked?: boolean;
}

/** Small squares along a curve: what a label keeps clear of. */
export function beads(curve: Curve): Rect[] {
  return Array.from({ length: 15 }, (_, i) => {
    const { x, y } = pointAt(curve, (i + 0.5) / 15);
    return { x: x - 3, y: y - 3, width: 6, height: 6 };
  });
}

const ALONG = [0.5, 0.42, 0.58, 0.3, 0.7, 0.24, 0.76, 0.16, 0.84];
/** A crossing is labelled to one side of the border, where it comes from first. */
const BESIDE_BORDER = [0.26, 0.74, 0.2, 0.8, 0.32, 0.68, 0.14, 0.86];

/** How far off its shaft a label stands, and whether the shaft crosses the border. */
export interface Where {
  readonly off: number;
  readonly crosses: boolean;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Room for a label's text, whatever its digits, so that it stays where it is while they change. */
function sizeOf(form: Form, once: boolean, stacked: boolean): Size {
  if (stacked) return { width: form === "reference" ? 58 : 50, height: 26 };
  return { width: form === "reference" ? 56 : once ? 84 : 102, height: 28 };
}

/** The label of an arrow to box `to`: bytes and time side by side, or one above the other where there is less room. */
export function labelFor(
  curve: Curve,
  to: Rect,
  form: Form,
  once: boolean,
  narrow: boolean,
  where: Where,
  taken: readonly Rect[],
): Label {
  if (!narrow) {
    const free = candidatesOf(curve, to, sizeOf(form, once, false), where).find((label) => isFree(label, taken));
    if (free) return free;
  }
  return { ...placeLabel(curve, to, sizeOf(form, once, true), where, taken), stacked: true };
}

/** The first free place for a label of this size, or else the one that covers least. */
export function placeLabel(curve: Curve, to: Rect, size: Size, where: Where, taken: readonly Rect[]): Label {
  const candidates = candidatesOf(curve, to, size, where);
  return candidates.find((label) => isFree(label, taken)) ?? least(candidates, taken);
}

/** Along the curve, to its right or above it first, then at its target. */
function candidatesOf(curve: Curve, to: Rect, size: Size, { off, crosses }: Where): Label[] {
  const x = to.x + to.width / 2 - size.width / 2;
  return [
    ...(crosses ? BESIDE_BORDER : ALONG).flatMap((t) => beside(curve, t, size, off)),
    { x, y: to.y - size.height - 2, ...size, anchor: "middle" },
    { x, y: to.y + to.height + 2, ...size, anchor: "middle" },
  ];
}

function isFree(label: Label, taken: readonly Rect[]): boolean {
  return !taken.some((rect) => overlaps(label, rect, 0));
}

function beside(curve: Curve, t: number, { width, height }: { width: number; height: number }, off: number): Label[] {
  const { x, y } = pointAt(curve, t);
  const [before, after] = [pointAt(curve, t - 0.02), pointAt(curve, t + 0.02)];
  const upright = Math.abs(after.y - before.y) > Math.abs(after.x - before.x);
  if (upright) {
    return [
      { x: x + off, y: y - height / 2, width, height, anchor: "start" },
      { x: x - off - width, y: y - height / 2, width, height, anchor: "end" },
    ];
  }
  return [
    { x: x - width / 2, y: y - off - height, width, height, anchor: "middle" },
    { x: x - width / 2, y: y + off, width, height, anchor: "middle" },
  ];
}

/** Where nothing is quite free, the place that covers least. */
function least(candidates: readonly Label[], taken: readonly Rect[]): Label {
  const covered = (label: Label) => taken.reduce((sum, rect) => sum + shared(label, rect), 0);
  const [first = { x: 0, y: 0, width: 0, height: 0, anchor: "start" as const }, ...rest] = candidates;
  return rest.reduce((best, label) => (covered(label) < covered(best) ? label : best), first);
}

/** A ghost's number sits on its shaft. */
export function badge(curve: Curve, taken: readonly Rect[]): Label {
  const size = 16;
  const on = [0.5, 0.4, 0.6, 0.3, 0.7].map((t): Label => {
    const { x, y } = pointAt(curve, t);
    return { x: x - size / 2, y: y - size / 2, width: size, height: size, anchor: "middle" };
  });
  const others = taken.filter((rect) => rect.width > 8);
  return on.find((label) => !others.some((rect) => overlaps(label, rect, 0))) ?? least(on, others);
}
