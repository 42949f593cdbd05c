/** Where everything in the copy-point diagram stands, from the edges and the width alone. Pixels. */
import {
  arrival,
  type Curve,
  center,
  crossing,
  type Point,
  pathOf,
  pointAt,
  type Rect,
  route,
  shorten,
} from "./copies-geometry.js";
import { type Box, placeNarrow, placeWide } from "./copies-grid.js";
import { badge, beads, type Label, labelFor, placeLabel } from "./copies-labels.js";
import { spread } from "./copies-ports.js";
import { type Form, formOf, widthOf } from "./copies-summary.js";
import type { LedgerEdge } from "./types.js";

/** The banks stand side by side from this width on; below it the CPU's lies on top of the GPU's. */
export const WIDE = 540;

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

/** What leads from place to place without a write of ours: the network itself, the browser's decoder. */
export interface Link {
  readonly path: string;
  readonly label: Label;
  readonly text: string;
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
  readonly links: readonly Link[];
}

/** Lays out `edges`, and `ghosts` over them in grey, in `width` pixels; `camera` says that the video shows one. */
export function layoutCopies(
  edges: readonly LedgerEdge[],
  ghosts: readonly LedgerEdge[],
  width: number,
  camera = false,
): CopiesLayout {
  const wide = width >= WIDE;
  const sources = camera ? ["camera", "video"] : [];
  const frame = (wide ? placeWide : placeNarrow)(width, edges, ghosts, sources);
  const byId = new Map(frame.boxes.map((box) => [box.place.id, box]));
  const stages = stagesOf(edges);
  const ghostStages = stagesOf(ghosts);

  const taken: Rect[] = [...frame.boxes, ...frame.taken, ...outside(width, frame.height)];
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
    return [{ edge, ghost, index, from, to, curve: route(from, to, frame.boxes, lane, !wide) }];
  });
  const curves = spread(routed);
  // Every arrow keeps its labels off every other arrow where it can, so shafts are taken before any label is set.
  for (const curve of curves) taken.push(...beads(curve));
  const links = linksOf(edges, byId, frame.boxes, wide);
  taken.push(...links.map((link) => link.label));

  const arrows = routed.map(({ edge, ghost, index, to, curve: alone }, i): Arrow => {
    const curve = curves[i] ?? alone;
    const form = formOf(edge);
    const bytes = edge.bytesPerFrame > 0 ? edge.bytesPerFrame : edge.bytes;
    const bold = form === "crossing" ? 1.5 : 0;
    const shaft = ghost ? 2 : form === "reference" ? 2.5 : widthOf(bytes) + bold;
    const headLength = 7 + shaft * 0.9;
    const at = center(frame.border);
    const gate = form === "within" ? undefined : crossing(curve, wide ? "x" : "y", wide ? at.x : at.y);
    const number = ghost ? index - edges.length + 1 : 0;
    const narrow = !wide || (form === "crossing" && frame.gap < 264);
    const where = { off: edge.implicit ? 15 : 9, crosses: gate !== undefined };
    const once = edge.bytesPerFrame === 0;
    const label = ghost ? badge(curve, taken) : labelFor(curve, to, form, once, narrow, where, taken);
    taken.push(label);
    return {
      edge,
      form,
      ghost,
      number,
      path: pathOf(shorten(curve, headLength * 0.8)),
      width: shaft,
      head: headOf(curve, headLength, shaft),
      label,
      gate,
      middle: pointAt(curve, 0.5),
      stage: (ghost ? ghostStages : stages).get(edge) ?? 0,
    };
  });

  const { height, cpu, gpu, border, boxes } = frame;
  return { width, height, wide, cpu, gpu, border, boxes, arrows, links };
}

function samePair(a: LedgerEdge, b: LedgerEdge): boolean {
  return (a.from === b.from && a.to === b.to) || (a.from === b.to && a.to === b.from);
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

/** The gap in the chain of edges that the network itself fills, and the way from a camera to its video. */
function linksOf(
  edges: readonly LedgerEdge[],
  byId: ReadonlyMap<string, Box>,
  boxes: readonly Box[],
  wide: boolean,
): Link[] {
  const leaves = (id: string) => edges.some((edge) => edge.from === id);
  const reaches = (id: string) => edges.some((edge) => edge.to === id);
  const link = (from: Box | undefined, to: Box | undefined, text: string): Link[] => {
    if (!from || !to || from === to) return [];
    const curve = route(from, to, boxes, 0, !wide);
    const { x, y } = pointAt(curve, 0.5);
    const size = { width: 6 * text.length, height: 14 };
    const left: Label = { x: x - size.width - 8, y: y - 7, ...size, anchor: "end" };
    const label = wide && left.x > 0 ? left : placeLabel(curve, to, size, { off: 5, crosses: false }, boxes);
    return [{ path: pathOf(shorten(curve, 6)), label, text }];
  };
  const last = ["input", "arena"].find((id) => byId.has(id) && reaches(id) && !leaves(id));
  const first = ["arena", "result", "staging"].find((id) => byId.has(id) && leaves(id) && !reaches(id));
  const decoded = leaves("camera") ? undefined : byId.get("camera");
  return [
    ...link(byId.get(last ?? ""), byId.get(first ?? ""), "the network runs"),
    ...link(decoded, byId.get("video"), "the browser decodes"),
  ];
}

/** Beyond the picture's sides there is no room for labels. */
function outside(width: number, height: number): Rect[] {
  const far = 100;
  const aside = [-far, width - 1].map((x) => ({ x, y: -far, width: far + 1, height: height + 2 * far }));
  const beyond = [-far, height - 3].map((y) => ({ x: -far, y, width: width + 2 * far, height: far + 1 }));
  return [...aside, ...beyond];
}

function headOf(curve: Curve, length: number, shaft: number): string {
  const [, , , tip] = curve;
  const u = arrival(curve);
  const half = shaft / 2 + 3.2;
  const back = { x: tip.x - u.x * length, y: tip.y - u.y * length };
  const p = (x: number, y: number) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${p(tip.x, tip.y)} L${p(back.x - u.y * half, back.y + u.x * half)} L${p(back.x + u.y * half, back.y - u.x * half)} Z`;
}
