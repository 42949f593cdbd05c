/** The arena map as SVG: axes, one rectangle a tensor, the bound across, the peak down. */
import type { ArenaMap, Block } from "./arena-layout.js";
import { describeBlock, ticks } from "./arena-layout.js";
import { setAttributes, svg } from "./dom.js";
import { formatBytes, formatTick } from "./format.js";
import type { EngineReport } from "./types.js";

/** The plotting area within the picture, in pixels. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export interface ArenaView {
  readonly root: SVGSVGElement;
  readonly plot: Plot;
  /** Each block with its rectangle. */
  readonly rects: ReadonlyMap<Block, SVGRectElement>;
  /** Lights the blocks, and the column of the step, of one layer; `undefined` puts the light out. */
  light(lit: ReadonlySet<Block> | undefined, step: number): void;
  /** The step under a point of the page. */
  stepAt(clientX: number): number;
  blockOf(target: EventTarget | null): Block | undefined;
}

export function drawArena(report: EngineReport, map: ArenaMap, width: number, description: string): ArenaView {
  const wide = width >= 540;
  const plot: Plot = { left: 62, top: 24, width: width - 62 - 8, height: wide ? 280 : 230 };
  const top = Math.max(report.arena.bytes, report.arena.lowerBound, map.peak.bytes, 1);
  const x = (step: number) => plot.left + (step / Math.max(1, map.steps)) * plot.width;
  const y = (bytes: number) => plot.top + plot.height * (1 - bytes / top);
  const right = plot.left + plot.width;
  const foot = plot.top + plot.height;
  const root = svg("svg", {
    role: "img",
    "aria-label": description,
    viewBox: `0 0 ${width} ${foot + 34}`,
    width,
    height: foot + 34,
  });

  const column = svg("rect", {
    class: "column",
    y: plot.top,
    height: plot.height,
    width: Math.max(2, x(1) - x(0)),
    visibility: "hidden",
  });
  const rects = new Map(map.blocks.map((block) => [block, rectOf(block, x, y)]));
  const blocks = svg("g", { class: "blocks" }, ...rects.values());
  root.append(
    svg("rect", { class: "ground", x: plot.left, y: plot.top, width: plot.width, height: plot.height }),
    column,
    ...ticks(top, wide ? 4 : 3).flatMap((bytes) => [
      svg("line", { class: "grid", x1: plot.left, x2: right, y1: y(bytes), y2: y(bytes) }),
      svg("text", { class: "tick", x: plot.left - 6, y: y(bytes) + 4, "text-anchor": "end" }, formatTick(bytes)),
    ]),
    ...ticks(map.steps - 1, wide ? 8 : 4).map((step) =>
      svg("text", { class: "tick", x: x(step + 0.5), y: foot + 15, "text-anchor": "middle" }, `${Math.round(step)}`),
    ),
    svg("text", { class: "axis", x: right, y: foot + 30, "text-anchor": "end" }, "steps of the network, in order →"),
    svg("text", { class: "axis", x: 0, y: 11 }, "↑ place in the arena"),
    blocks,
    ...rulers(report, map, plot, x, y, wide),
  );

  const byRect = new Map<EventTarget, Block>([...rects].map(([block, rect]) => [rect, block]));
  return {
    root,
    plot,
    rects,
    light(lit, step) {
      root.classList.toggle("lighting", lit !== undefined);
      for (const [block, rect] of rects) rect.classList.toggle("lit", lit?.has(block) ?? false);
      setAttributes(column, { x: x(step), visibility: lit ? "visible" : "hidden" });
    },
    stepAt(clientX) {
      const box = root.getBoundingClientRect();
      const at = ((clientX - box.left) * (width / (box.width || width)) - plot.left) / plot.width;
      return Math.min(map.steps - 1, Math.max(0, Math.floor(at * map.steps)));
    },
    blockOf: (target) => (target ? byRect.get(target) : undefined),
  };
}

function rectOf(block: Block, x: (step: number) => number, y: (bytes: number) => number): SVGRectElement {
  const { offset, bytes, start, end } = block;
  const rect = svg("rect", {
    class: `block ${block.kind.replace(" ", "-")}`,
    x: x(start),
    y: y(offset + bytes),
    width: Math.max(1, x(end) - x(start)),
    height: Math.max(1, y(offset) - y(offset + bytes)),
    "data-tensor": block.name,
    "data-bytes": bytes,
    "data-offset": offset,
  });
  rect.append(svg("title", {}, `${block.name}: ${describeBlock(block)} (${block.kind})`));
  return rect;
}

function rulers(
  { arena }: EngineReport,
  { peak }: ArenaMap,
  plot: Plot,
  x: (step: number) => number,
  y: (bytes: number) => number,
  wide: boolean,
): SVGElement[] {
  const bound = y(arena.lowerBound);
  const at = x(peak.step + 0.5);
  const right = plot.left + plot.width;
  // The peak's label stands on the side with room; the bound's on the other end of its line.
  const early = at < plot.left + plot.width / 2;
  const peakText = `peak: step ${peak.step}`;
  const boundText = wide
    ? `lower bound ${formatBytes(arena.lowerBound)}: no plan can be lower`
    : `lower bound ${formatBytes(arena.lowerBound)}`;
  return [
    svg("line", { class: "bound", x1: plot.left, x2: right, y1: bound, y2: bound }),
    svg("text", { class: "rule-label", x: right, y: bound - 6, "text-anchor": "end" }, boundText),
    svg("line", { class: "peak", x1: at, x2: at, y1: plot.top, y2: plot.top + plot.height }),
    svg(
      "text",
      {
        class: "rule-label",
        x: at + (early ? 5 : -5),
        y: plot.top + plot.height - 7,
        "text-anchor": early ? "start" : "end",
      },
      peakText,
    ),
  ];
}
