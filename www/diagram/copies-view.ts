/** The copy-point diagram as SVG: built when its structure changes, else only its numbers are set. */
import type { Rect } from "./copies-geometry.js";
import type { Box } from "./copies-grid.js";
import type { Label } from "./copies-labels.js";
import type { Arrow, CopiesLayout, Link } from "./copies-layout.js";
import { crossed, isPerFrame, labelOf } from "./copies-summary.js";
import { setAttributes, setText, svg } from "./dom.js";
import { formatBytes } from "./format.js";
import { placeOf } from "./places.js";
import type { LedgerEdge } from "./types.js";

/** What a person calls each kind. */
export const KIND_WORDS: Readonly<Record<LedgerEdge["kind"], string>> = {
  reference: "reference",
  copy: "copy",
  upload: "upload",
  readback: "read back",
  convert: "convert",
  relayout: "re-layout",
};

interface ArrowView {
  readonly group: SVGGElement;
  readonly shaft: SVGPathElement;
  readonly tip: SVGPathElement;
  readonly pulse: SVGPathElement | undefined;
  /** Above all boxes, which lie above all shafts. */
  readonly labels: readonly SVGElement[];
  readonly texts: readonly SVGElement[];
  readonly title: SVGTitleElement;
}

export class CopiesView {
  readonly root: SVGSVGElement = svg("svg", { role: "img" });
  #structure = "";
  #arrows: ArrowView[] = [];
  #counters: SVGTextElement[] = [];

  /** Shows a layout; `warned` numbers the implicit edges. */
  show(layout: CopiesLayout, frames: number, description: string, warned: ReadonlyMap<LedgerEdge, number>): void {
    const structure = structureOf(layout, frames);
    if (structure !== this.#structure) {
      this.#structure = structure;
      this.#build(layout, frames, warned);
    }
    setAttributes(this.root, { "aria-label": description });
    layout.arrows.forEach((arrow, i) => {
      const view = this.#arrows[i];
      if (view) update(view, arrow, frames);
    });
    const { toGpu, toCpu } = crossed(layout.arrows.filter((arrow) => !arrow.ghost).map((arrow) => arrow.edge));
    const [into, back] = layout.wide ? ["→", "←"] : ["↓", "↑"];
    const [first, second] = this.#counters;
    if (first) setText(first, `${into} ${formatBytes(toGpu)}`);
    if (second) setText(second, `${back} ${formatBytes(toCpu)}`);
  }

  /** One frame runs along the arrows, each after those before it. */
  pulse(layout: CopiesLayout, frames: number): void {
    const step = 260;
    layout.arrows.forEach((arrow, i) => {
      const path = this.#arrows[i]?.pulse;
      if (!path || !isPerFrame(arrow.edge, frames)) return;
      path.animate(
        [
          { strokeDashoffset: "5", opacity: 0 },
          { strokeDashoffset: "-5", opacity: 1, offset: 0.1 },
          { strokeDashoffset: "-92", opacity: 1, offset: 0.9 },
          { strokeDashoffset: "-100", opacity: 0 },
        ],
        { duration: step * 1.5, delay: arrow.stage * step, easing: "ease-in-out" },
      );
    });
  }

  #build(layout: CopiesLayout, frames: number, warned: ReadonlyMap<LedgerEdge, number>): void {
    const { width, height } = layout;
    setAttributes(this.root, {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: layout.wide ? "wide" : "narrow",
    });
    const views = layout.arrows.map((arrow) => arrowView(arrow, layout, frames));
    this.#arrows = views;
    const counters = counterView(layout);
    this.#counters = counters.texts;
    this.root.replaceChildren(
      bank(layout.cpu, "cpu", "CPU memory", layout),
      bank(layout.gpu, "gpu", "GPU memory", layout),
      ...borderView(layout),
      ...layout.links.map(({ path }) => svg("path", { class: "link", d: path, "aria-hidden": "true" })),
      ...views.map((view) => view.group),
      ...layout.boxes.map((box) => boxView(box, layout.wide)),
      ...layout.links.map(linkLabel),
      ...views.flatMap((view) => view.labels),
      ...counters.nodes,
      ...layout.arrows.flatMap((arrow) => markView(arrow, warned.get(arrow.edge))),
    );
  }
}

/** Everything that decides which nodes there are and where; numbers are left out. */
function structureOf({ arrows, boxes, width, height }: CopiesLayout, frames: number): string {
  const edges = arrows.map(({ edge, ghost }) =>
    [edge.id, edge.from, edge.to, edge.kind, edge.implicit, isPerFrame(edge, frames), ghost].join(),
  );
  return [width, height, ...boxes.map((box) => `${box.place.id}${box.ghost}`), ...edges].join("|");
}

function bank(rect: Rect, name: "cpu" | "gpu", title: string, { wide }: CopiesLayout): SVGGElement {
  const end = wide && name === "gpu";
  const below = !wide && name === "gpu";
  return svg(
    "g",
    {},
    svg("rect", { class: `bank ${name}`, ...rect, rx: 12 }),
    svg(
      "text",
      {
        class: "bank-title",
        x: end ? rect.x + rect.width - 14 : rect.x + 14,
        y: below ? rect.y + rect.height - 12 : rect.y + 21,
        "text-anchor": end ? "end" : "start",
      },
      title,
    ),
  );
}

function boxView({ x, y, width, height, place, ghost }: Box, wide: boolean): SVGGElement {
  const note = wide ? place.note : "";
  const middle = x + width / 2;
  return svg(
    "g",
    { class: `place${ghost ? " ghost" : ""}`, "data-place": place.id },
    svg("rect", { x, y, width, height, rx: 7 }),
    svg("text", { class: "name", x: middle, y: y + height / 2 - (note ? 2 : -4.5) }, place.label),
    svg("text", { class: "note", x: middle, y: y + height / 2 + 13 }, note),
  );
}

function arrowView(arrow: Arrow, layout: CopiesLayout, frames: number): ArrowView {
  const { edge, form, ghost, number } = arrow;
  const once = !isPerFrame(edge, frames);
  const shaft = svg("path", { class: "shaft" });
  const tip = svg("path", { class: "tip" });
  const title = svg("title");
  const group = svg(
    "g",
    { class: ["arrow", form, ghost ? "ghost" : "", once ? "once" : ""].join(" ").trim() },
    title,
    shaft,
    tip,
  );
  if (ghost) {
    setAttributes(group, { "data-ghost-edge": edge.id });
    const { x, y, width, height } = arrow.label;
    const middle = x + width / 2;
    const badge = svg(
      "g",
      { class: "badge" },
      svg("circle", { cx: middle, cy: y + height / 2, r: 8 }),
      svg("text", { x: middle, y: y + height / 2 + 3.7 }, `${number}`),
    );
    return { group, shaft, tip, title, pulse: undefined, labels: [badge], texts: [] };
  }
  const pulse = svg("path", { class: "pulse", pathLength: 100, "aria-hidden": "true" });
  const { nodes, texts } = labelView(arrow.label, layout, once);
  setAttributes(group, {
    "data-edge": edge.id,
    "data-kind": edge.kind,
    "data-form": form,
    "data-from": edge.from,
    "data-to": edge.to,
  });
  group.append(pulse);
  return { group, shaft, tip, pulse, labels: nodes, texts, title };
}

function linkLabel({ label, text }: Link): SVGTextElement {
  return svg("text", { class: "link-label", x: anchorOf(label), y: label.y + 11, "text-anchor": label.anchor }, text);
}

function anchorOf({ x, width, anchor }: Label): number {
  return anchor === "start" ? x : anchor === "end" ? x + width : x + width / 2;
}

/** Two lines: side by side the kind and the numbers, stacked the bytes and the time. */
function labelView(
  label: Label,
  layout: CopiesLayout,
  past: boolean,
): { nodes: SVGTextElement[]; texts: SVGElement[] } {
  const { x, y, width, anchor } = label;
  const at = anchorOf(label);
  const within = (layout.wide ? x + width / 2 > layout.gpu.x : y > layout.border.y) ? "gpu" : "cpu";
  const [first, second] = label.stacked ? ["", "minor"] : ["minor", ""];
  const line = (className: string, dy: number) => svg("tspan", { class: className, x: at, y: y + dy });
  const texts = [line(first, 11), line(second, 25)];
  return {
    nodes: [svg("text", { class: `label ${within}${past ? " past" : ""}`, "text-anchor": anchor }, ...texts)],
    texts,
  };
}

function update(view: ArrowView, arrow: Arrow, frames: number): void {
  const { edge } = arrow;
  setAttributes(view.shaft, { d: arrow.path, "stroke-width": arrow.width });
  setAttributes(view.tip, { d: arrow.head });
  const label = labelOf(edge, frames);
  const numbers = label.time ? `${label.bytes} · ${label.time}` : label.bytes;
  const ends = `${placeOf(edge.from).label} → ${placeOf(edge.to).label}`;
  setText(view.title, `${ends}: ${KIND_WORDS[edge.kind]}, ${numbers}${edge.reason ? ` (${edge.reason})` : ""}`);
  if (arrow.ghost) return;
  setAttributes(view.group, {
    "data-bytes": `${edge.bytes}`,
    "data-bytes-per-frame": `${edge.bytesPerFrame}`,
    "data-count": `${edge.count}`,
  });
  if (view.pulse) setAttributes(view.pulse, { d: arrow.path, "stroke-width": Math.max(3, arrow.width * 0.55) });
  const lines = !arrow.label.stacked
    ? [KIND_WORDS[edge.kind], numbers]
    : [edge.kind === "reference" ? "reference" : label.bytes, edge.kind === "reference" ? label.bytes : label.time];
  for (const [i, text] of view.texts.entries()) setText(text, lines[i] ?? "");
}

/** The border, open where arrows pass, with a post at either side of each gate. */
function borderView({ border, arrows, wide }: CopiesLayout): SVGElement[] {
  const gates = arrows.flatMap(({ gate, width, form, ghost }) =>
    gate ? [{ at: wide ? gate.y : gate.x, half: width / 2 + 6, strong: form === "crossing" && !ghost }] : [],
  );
  gates.sort((a, b) => a.at - b.at);
  const nodes: SVGElement[] = [svg("rect", { class: "border", ...border })];
  for (const { at, half, strong } of gates) {
    const across = wide ? border.width : border.height;
    const place = (from: number, length: number, out: number) =>
      wide
        ? { x: border.x - out, y: from, width: across + 2 * out, height: length }
        : { x: from, y: border.y - out, width: length, height: across + 2 * out };
    nodes.push(svg("rect", { class: "gate", ...place(at - half, 2 * half, 0) }));
    if (!strong) continue;
    nodes.push(
      svg("rect", { class: "post", ...place(at - half - 4, 4, 4), rx: 1.5 }),
      svg("rect", { class: "post", ...place(at + half, 4, 4), rx: 1.5 }),
    );
  }
  return nodes;
}

/** How many bytes have crossed so far, each way: on the border's top, or in the corner where it lies. */
function counterView({ border, wide, width }: CopiesLayout): { nodes: SVGElement[]; texts: SVGTextElement[] } {
  if (wide) {
    const x = border.x + border.width / 2;
    const texts = [
      svg("text", { class: "counter", x: x - 6, y: 21, "text-anchor": "end" }),
      svg("text", { class: "counter", x: x + 6, y: 21 }),
    ];
    const pill = svg("rect", { class: "pill", x: x - 80, y: 5, width: 160, height: 24, rx: 12 });
    const note = svg("text", { class: "counter-note", x: x + 12, y: 42 }, "crossed so far");
    return { nodes: [pill, ...texts, note], texts };
  }
  const texts = [
    svg("text", { class: "counter", x: width - 14, y: 21, "text-anchor": "end" }),
    svg("text", { class: "counter", x: width - 84, y: 21, "text-anchor": "end" }),
  ].reverse();
  const note = svg("text", { class: "counter-note", x: width - 152, y: 21, "text-anchor": "end" }, "crossed");
  return { nodes: [note, ...texts], texts };
}

/** The warning mark of an implicit copy, with its number in the list below. */
function markView({ edge, form, ghost, label, middle }: Arrow, number: number | undefined): SVGElement[] {
  if (ghost || number === undefined || !edge.implicit) return [];
  const y = label.y + 12;
  const x = form === "crossing" || label.anchor === "middle" ? label.x - 4 : middle.x;
  const at = label.anchor === "middle" || form === "crossing" ? { x, y } : middle;
  return [
    svg(
      "g",
      { class: "mark", "data-implicit": edge.id, transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})` },
      svg("path", { d: "M0 -11 L11 8 L-11 8 Z" }),
      svg("text", { y: 6 }, "!"),
      svg("title", {}, `Implicit copy ${number}: ${edge.reason ?? "no reason given"}`),
    ),
  ];
}
