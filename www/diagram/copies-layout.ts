/** Where everything in the copy-point diagram stands, from the edges and the width alone. Pixels. */
import {
  arrival,
  type Curve,
  center,
  crossing,
  overlaps,
  type Point,
  pathOf,
  pointAt,
  type Rect,
  route,
  shared,
  shorten,
} from "./copies-geometry.js";
import { type Form, formOf, widthOf } from "./copies-summary.js";
import { type Bank, isKnown, type Place, placeOf, type Slot } from "./places.js";
import type { LedgerEdge } from "./types.js";

/** The banks stand side by side from this width on; below it the CPU's lies on top of the GPU's. */
export const WIDE = 540;

export interface Box extends Rect {
  readonly place: Place;
  /** Drawn only for the comparison, in grey. */
  readonly ghost: boolean;
}

export interface Arrow {
  readonly edge: LedgerEdge;
  readonly form: Form;
  readonly ghost: boolean;
  /** Number of a ghost in the list of steps below the picture, from 1. */
  readonly number: number;
  /** Shaft, without the head. */
  readonly path: string;
  readonly width: number;
  /** Outline of the head. */
  readonly head: string;
  readonly label: Label;
  /** Where a crossing passes the border. */
  readonly gate?: Point | undefined;
  readonly middle: Point;
  /** How many arrows a frame has passed before this one. */
  readonly stage: number;
}

export interface Label extends Rect {
  /** Where its text begins, and how it is set there. */
  readonly anchor: "start" | "middle" | "end";
  /** Bytes above time, where the two do not fit side by side. */
  readonly stacked?: boolean;
}

export interface CopiesLayout {
  readonly width: number;
  readonly height: number;
  readonly wide: boolean;
  readonly cpu: Rect;
  readonly gpu: Rect;
  /** The border's own strip between the banks. */
  readonly border: Rect;
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  /** From the last tensor written before the network to the first written after it; no bytes move there. */
  readonly network?: { readonly path: string; readonly label: Label } | undefined;
}

interface Measures {
  readonly box: { readonly width: number; readonly height: number };
  /** Between rows of boxes, where arrows and their labels are. */
  readonly rowGap: number;
  readonly title: number;
  readonly pad: number;
}

const WIDE_MEASURES: Measures = { box: { width: 116, height: 42 }, rowGap: 40, title: 36, pad: 14 };
const NARROW_MEASURES: Measures = { box: { width: 96, height: 32 }, rowGap: 40, title: 30, pad: 8 };

/** Room for a label's text, whatever its digits, so that it stays where it is while they change. */
function labelSize(form: Form, once: boolean, stacked: boolean): { width: number; height: number } {
  if (stacked) return { width: form === "reference" ? 58 : 50, height: 26 };
  return { width: form === "reference" ? 56 : once ? 84 : 102, height: 28 };
}

/** Lays out `edges`, and `ghosts` over them in grey, in `width` pixels. `sources` are drawn even when unused. */
export function layoutCopies(
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  width: number,
  sources: readonly string[] = ["camera", "video"],
): CopiesLayout {
  const wide = width >= WIDE;
  const measures = wide ? WIDE_MEASURES : NARROW_MEASURES;
  const frame = wide
    ? placeWide(width, measures, edges, ghosts, sources)
    : placeNarrow(width, measures, edges, ghosts, sources);
  const byId = new Map(frame.boxes.map((box) => [box.place.id, box]));
  const stages = stagesOf(edges);
  const ghostStages = stagesOf(ghosts);

  // Beyond the picture's sides there is no room for labels either.
  const outside = [-100, width - 1].map((x) => ({ x, y: 0, width: 101, height: frame.height }));
  const taken: Rect[] = [...frame.boxes, ...frame.taken, ...outside];
  const all = [...edges.map((edge) => ({ edge, ghost: false })), ...ghosts.map((edge) => ({ edge, ghost: true }))];
  const routed = all.flatMap(({ edge, ghost }, index) => {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
    if (!from || !to) return [];
    const real = edges.filter((other) => samePair(other, edge));
    const ghostly = ghosts.filter((other) => samePair(other, edge));
    // The ledger's own arrows stay where they are when a ghost joins them.
    const lane = ghost
      ? (ghostly.indexOf(edge) + real.length / 2 + (real.length > 0 ? 0.5 : 0)) * 18
      : (real.indexOf(edge) - (real.length - 1) / 2) * 18;
    return [{ edge, ghost, index, to, curve: route(from, to, frame.boxes, lane, !wide) }];
  });
  // Every arrow keeps its labels off every other arrow where it can, so shafts are taken before any label is set.
  for (const { curve } of routed) taken.push(...beads(curve));
  const between = networkOf(edges, byId, frame.boxes, wide);
  if (between) taken.push(between.label);

  const arrows = routed.map(({ edge, ghost, index, to, curve }): Arrow => {
    const form = formOf(edge);
    const bytes = edge.bytesPerFrame > 0 ? edge.bytesPerFrame : edge.bytes;
    const bold = form === "crossing" ? 1.5 : 0;
    const shaft = ghost ? 2 : form === "reference" ? 2.5 : widthOf(bytes) + bold;
    const headLength = 7 + shaft * 0.9;
    const at = center(frame.border);
    const gate = form === "within" ? undefined : crossing(curve, wide ? "x" : "y", wide ? at.x : at.y);
    const number = ghost ? index - edges.length + 1 : 0;
    const stacked = !wide || (form === "crossing" && frame.gap < 264);
    const size = labelSize(form, edge.bytesPerFrame === 0, stacked);
    const off = edge.implicit ? 15 : 9;
    const label = ghost ? badge(curve, taken) : placeLabel(curve, to, size, off, taken, gate !== undefined);
    taken.push(label);
    return {
      edge,
      form,
      ghost,
      number,
      path: pathOf(shorten(curve, headLength * 0.8)),
      width: shaft,
      head: headOf(curve, headLength, shaft),
      label: { ...label, stacked },
      gate,
      middle: pointAt(curve, 0.5),
      stage: (ghost ? ghostStages : stages).get(edge) ?? 0,
    };
  });

  const { height, cpu, gpu, border, boxes } = frame;
  return { width, height, wide, cpu, gpu, border, boxes, arrows, network: between };
}

interface Placed {
  readonly height: number;
  /** Between the columns at either side of the border. */
  readonly gap: number;
  readonly cpu: Rect;
  readonly gpu: Rect;
  readonly border: Rect;
  readonly boxes: readonly Box[];
  /** Kept free of labels. */
  readonly taken: readonly Rect[];
}

function placeWide(
  width: number,
  m: Measures,
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
): Placed {
  const slots = assign(edges, ghosts, sources, "wide");
  const rows = sorted(slots.map(({ slot }) => slot.row));
  const far = (bank: Bank) => slots.some(({ place, slot }) => place.bank === bank && slot.column > 0);
  // Room for labels beside the column farthest right; a far column leaves that room between its rows.
  const beside = far("gpu") ? 0 : 62;
  const stride = m.box.width + 36;
  const columns = (bank: Bank) => m.box.width + (far(bank) ? stride : 0);
  const room = width - 2 * m.pad - columns("cpu") - columns("gpu") - beside;
  const gap = Math.max(124, Math.min(330, room));
  const left = Math.max(m.pad, (width - columns("cpu") - columns("gpu") - gap - beside) / 2);
  const nearCpu = left + columns("cpu") - m.box.width;
  const nearGpu = nearCpu + m.box.width + gap;
  const top = m.title + 10;
  const boxes = slots.map(({ place, slot, ghost }): Box => {
    const step = stride * slot.column;
    const x = place.bank === "cpu" ? nearCpu - step : nearGpu + step;
    return { place, ghost, x, y: top + rows.indexOf(slot.row) * (m.box.height + m.rowGap), ...m.box };
  });
  const height = top + rows.length * (m.box.height + m.rowGap) - m.rowGap + m.pad + 4;
  const middle = nearCpu + m.box.width + gap / 2;
  const border = { x: middle - 5, y: 0, width: 10, height };
  const cpu = { x: 0, y: 0, width: border.x, height };
  const gpu = { x: border.x + border.width, y: 0, width: width - border.x - border.width, height };
  const counter = { x: middle - 80, y: 0, width: 160, height: 46 };
  return { height, gap, cpu, gpu, border, boxes, taken: [border, counter] };
}

function placeNarrow(
  width: number,
  m: Measures,
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
): Placed {
  const slots = assign(edges, ghosts, sources, "narrow");
  const columns = sorted(slots.map(({ slot }) => slot.column));
  const box = {
    width: Math.min(m.box.width, (width - 2 * m.pad) / Math.max(3, columns.length) - 12),
    height: m.box.height,
  };
  const strip = 12;
  const rowsOf = (bank: Bank) => sorted(slots.filter(({ place }) => place.bank === bank).map(({ slot }) => slot.row));
  const deep = (rows: number) => Math.max(1, rows) * (box.height + m.rowGap) - m.rowGap;
  const [cpuRows, gpuRows] = [rowsOf("cpu"), rowsOf("gpu")];
  const cpuTop = m.title;
  const cpuHeight = cpuTop + deep(cpuRows.length) + m.rowGap;
  const gpuTop = cpuHeight + strip + m.rowGap;
  const height = gpuTop + deep(gpuRows.length) + m.title + 6;
  // Labels stand to the right of their arrows, those of the last column too.
  const span = width - 2 * m.pad - 6 - box.width;
  const boxes = slots.map(({ place, slot, ghost }): Box => {
    const column = columns.indexOf(slot.column);
    const x = m.pad + (columns.length > 1 ? (span * column) / (columns.length - 1) : 0);
    const [top, rows] = place.bank === "cpu" ? [cpuTop, cpuRows] : [gpuTop, gpuRows];
    return { place, ghost, x, y: top + rows.indexOf(slot.row) * (box.height + m.rowGap), ...box };
  });
  const border = { x: 0, y: cpuHeight, width, height: strip };
  const cpu = { x: 0, y: 0, width, height: cpuHeight };
  const gpu = { x: 0, y: cpuHeight + strip, width, height: height - cpuHeight - strip };
  return { height, gap: strip, cpu, gpu, border, boxes, taken: [border] };
}

interface Assigned {
  readonly place: Place;
  readonly slot: Slot;
  readonly ghost: boolean;
}

/** A slot for every place in use: its own, or for an unknown one the first free row of its bank. */
function assign(
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  sources: readonly string[],
  way: "wide" | "narrow",
): Assigned[] {
  const ends = (list: readonly LedgerEdge[]) => list.flatMap(({ from, to }) => [from, to]);
  const used = new Set([...sources, ...ends(edges)]);
  const ids = [...new Set([...used, ...ends(ghosts)])];
  const known = ids.filter(isKnown).map(placeOf);
  const strangers = ids.filter((id) => !isKnown(id)).map(placeOf);
  const taken = new Set(known.map((place) => key(place.bank, place[way])));
  const free = (bank: Bank): Slot => {
    for (let row = 2; ; row++) {
      for (let column = 0; column < (way === "wide" ? 1 : 3); column++) {
        if (!taken.has(key(bank, { column, row }))) return { column, row };
      }
    }
  };
  const assigned = known.map((place) => ({ place, slot: place[way], ghost: !used.has(place.id) }));
  for (const place of strangers) {
    const slot = free(place.bank);
    taken.add(key(place.bank, slot));
    assigned.push({ place, slot, ghost: !used.has(place.id) });
  }
  return assigned;
}

const key = (bank: Bank, { column, row }: Slot) => `${bank} ${column} ${row}`;

function samePair(a: LedgerEdge, b: LedgerEdge): boolean {
  return (a.from === b.from && a.to === b.to) || (a.from === b.to && a.to === b.from);
}

function sorted(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

/** How many edges lie before each one on the way of a frame. Cycles are cut where they close. */
export function stagesOf(edges: readonly LedgerEdge[]): Map<LedgerEdge, number> {
  const depth = new Map<string, number>();
  const targets = new Set(edges.map((edge) => edge.to));
  for (const { from } of edges) if (!targets.has(from)) depth.set(from, 0);
  if (depth.size === 0 && edges[0]) depth.set(edges[0].from, 0);
  for (let round = 0; round < edges.length; round++) {
    for (const { from, to } of edges) {
      const before = depth.get(from);
      if (before !== undefined && !depth.has(to)) depth.set(to, before + 1);
    }
  }
  // The network stands between the input and what is read from it, where no edge is.
  const base = edges.some((edge) => edge.to === "input") ? (depth.get("input") ?? 0) + 1 : 0;
  const after = new Set(["arena", "result", "staging", "javascript", "canvas"]);
  const reached = edges.some((edge) => edge.from === "input");
  return new Map(
    edges.map((edge) => {
      const shift = !reached && after.has(edge.from) ? base : 0;
      return [edge, (depth.get(edge.from) ?? 0) + shift];
    }),
  );
}

/** The gap in the chain of edges that the network itself fills. */
function networkOf(edges: readonly LedgerEdge[], byId: ReadonlyMap<string, Box>, boxes: readonly Box[], wide: boolean) {
  const leaves = (id: string) => edges.some((edge) => edge.from === id);
  const reaches = (id: string) => edges.some((edge) => edge.to === id);
  const last = ["input", "arena"].find((id) => byId.has(id) && reaches(id) && !leaves(id));
  const first = ["arena", "result", "staging"].find((id) => byId.has(id) && leaves(id) && !reaches(id));
  const [from, to] = [byId.get(last ?? ""), byId.get(first ?? "")];
  if (!from || !to || from === to) return undefined;
  const curve = route(from, to, boxes, 0, !wide);
  const { x, y } = pointAt(curve, 0.5);
  const size = { width: 92, height: 14 };
  const label: Label = wide
    ? { x: x - size.width - 8, y: y - 7, ...size, anchor: "end" }
    : placeLabel(curve, to, size, 3, boxes, false);
  return { path: pathOf(shorten(curve, 6)), label };
}

function headOf(curve: Curve, length: number, shaft: number): string {
  const [, , , tip] = curve;
  const u = arrival(curve);
  const half = shaft / 2 + 3.2;
  const back = { x: tip.x - u.x * length, y: tip.y - u.y * length };
  const p = (x: number, y: number) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${p(tip.x, tip.y)} L${p(back.x - u.y * half, back.y + u.x * half)} L${p(back.x + u.y * half, back.y - u.x * half)} Z`;
}

/** Small squares along a curve: what a label keeps clear of. */
function beads(curve: Curve): Rect[] {
  return Array.from({ length: 15 }, (_, i) => {
    const { x, y } = pointAt(curve, (i + 0.5) / 15);
    return { x: x - 3, y: y - 3, width: 6, height: 6 };
  });
}

const ALONG = [0.5, 0.42, 0.58, 0.3, 0.7, 0.24, 0.76, 0.16, 0.84];
/** A crossing is labelled to one side of the border, where it comes from first. */
const BESIDE_BORDER = [0.26, 0.74, 0.2, 0.8, 0.32, 0.68, 0.14, 0.86];

/** The first place along a curve, to its right or above it first, then at its target, where a label of this size is free. */
function placeLabel(
  curve: Curve,
  to: Rect,
  size: { width: number; height: number },
  off: number,
  taken: readonly Rect[],
  crosses: boolean,
): Label {
  const along = (crosses ? BESIDE_BORDER : ALONG).flatMap((t) => beside(curve, t, size, off));
  const x = to.x + to.width / 2 - size.width / 2;
  const above: Label = { x, y: to.y - size.height - 2, ...size, anchor: "middle" };
  const below: Label = { x, y: to.y + to.height + 2, ...size, anchor: "middle" };
  const candidates = [...along, above, below];
  return candidates.find((label) => !taken.some((rect) => overlaps(label, rect, 0))) ?? least(candidates, taken);
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
function badge(curve: Curve, taken: readonly Rect[]): Label {
  const size = 16;
  const on = [0.5, 0.4, 0.6, 0.3, 0.7].map((t): Label => {
    const { x, y } = pointAt(curve, t);
    return { x: x - size / 2, y: y - size / 2, width: size, height: size, anchor: "middle" };
  });
  const others = taken.filter((rect) => rect.width > 8);
  return on.find((label) => !others.some((rect) => overlaps(label, rect, 0))) ?? least(on, others);
}
