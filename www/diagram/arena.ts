/**
 * `<frameway-arena>`: lifetimes to the right, offsets up, each tensor a rectangle for as long as it lives; above it
 * what one buffer each, this plan, and any plan would take. Drawn from `engine.inspect("detailed")` alone.
 */
import {
  type ArenaMap,
  arenaMap,
  type Block,
  blocksOf,
  describeBlock,
  layerAt,
  summarizeArena,
} from "./arena-layout.js";
import { type ArenaView, drawArena } from "./arena-view.js";
import { html, setAttributes, setText, table } from "./dom.js";
import { DiagramElement, define, noticeOf } from "./element.js";
import { formatBytes, formatShape, shortName } from "./format.js";
import type { EngineLike, EngineReport, LayerReport, MemoryEater } from "./types.js";

const STYLE = `
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: 4px 10px; align-items: center; margin-bottom: 14px; }
.bars dt { color: var(--fw-soft); font-size: 12px; }
.bars dd { display: contents; }
.bars i { height: 12px; border-radius: 3px; min-width: 2px; background: var(--tone); }
.bars b { font-weight: 600; font-size: 12px; text-align: end; }
.naive { --tone: light-dark(#aab2bb, #5b6672); } .plan { --tone: var(--fw-sky); } .least { --tone: var(--fw-vermillion); }
.ground { fill: light-dark(#f5f7f9, #1a2027); }
.grid { stroke: var(--fw-faint); stroke-width: 1; }
.tick, .axis { font-size: 11px; fill: var(--fw-soft); }
.block { stroke: var(--fw-paper); stroke-width: .75; cursor: pointer; }
.activation { --tone: var(--fw-sky); } .in-place { --tone: #009e73; } .workspace { --tone: var(--fw-orange); }
.block { fill: var(--tone); }
.lighting .block { fill-opacity: .22; }
.lighting .block.lit { fill-opacity: 1; stroke: var(--fw-ink); stroke-width: 1.5; }
.column { fill: var(--fw-ink); opacity: .1; }
.bound { stroke: var(--fw-vermillion); stroke-width: 2; stroke-dasharray: 7 4; }
.peak { stroke: var(--fw-ink); stroke-width: 1.5; stroke-dasharray: 2 3; }
.rule-label { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: var(--fw-paper); stroke-width: 4px; stroke-linejoin: round; pointer-events: none; }
.line { stroke: var(--tone); stroke-width: 2; }
input[type=range] { display: block; height: 20px; margin: 0; accent-color: var(--fw-blue); cursor: pointer; }
.layer { min-height: 7.6em; margin-top: 6px; padding: 8px 10px; border-radius: 8px; background: light-dark(#f5f7f9, #1a2027); }
.layer h3 { font-size: 13px; font-weight: 600; margin: 0 0 3px; overflow-wrap: anywhere; }
.layer ul { list-style: none; font-size: 12px; display: grid; gap: 1px; }
.layer li { overflow-wrap: anywhere; padding-inline-start: 15px; text-indent: -15px; }
@container (max-width: 480px) { .layer { min-height: 14em; } }
.layer li span { color: var(--fw-soft); }
.layer .dot { display: inline-block; width: 9px; height: 9px; border-radius: 2px; background: var(--tone); margin-inline-end: 6px; }
.rule { width: 18px; border-top: 2px dashed var(--fw-vermillion); }
.rule.down { width: 0; height: 14px; border-top: 0; border-left: 2px dotted var(--fw-ink); margin: 0 6px; }
`;

/** `<frameway-arena>`: the arena's tensors as lifetimes × offsets, beside the naive sum and the lower bound. */
export class FramewayArena extends DiagramElement {
  protected readonly properties = ["engine", "selected", "notice"];
  protected readonly every = 0;

  #engine: EngineLike | undefined;
  #report: EngineReport | undefined;
  #map: ArenaMap | undefined;
  #view: ArenaView | undefined;
  #drawn = "";
  #failure = "";
  #selected = -1;

  readonly #sentence = html("p", { class: "sentence" });
  readonly #caption = html(
    "p",
    { class: "caption" },
    "Each block is one tensor: as long as it is needed, as high as it is big. Blocks that are never needed together share the same bytes.",
  );
  readonly #bars = html("dl", { class: "bars" });
  readonly #picture = html("div");
  readonly #slider = html("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Layer" });
  readonly #panel = html("div", { class: "layer" });
  readonly #tablePlace = html("div", { class: "scroll" });
  readonly #table: HTMLDetailsElement = html(
    "details",
    {},
    html("summary", {}, "What takes the memory, as a table"),
    this.#tablePlace,
  );
  readonly #body: HTMLElement = html(
    "div",
    {},
    html("div", { class: "head" }, this.#sentence, this.#caption),
    this.#bars,
    this.#picture,
    this.#slider,
    this.#panel,
    legend(),
    this.#table,
  );
  readonly #missing = html("div", { hidden: true });

  constructor() {
    super(STYLE);
    this.shadow.append(html("figure", {}, this.#missing, this.#body));
    this.#slider.addEventListener("input", () => this.#select(this.#slider.valueAsNumber));
    this.#slider.addEventListener("focus", () => this.#select(this.#slider.valueAsNumber));
    this.#slider.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#select(-1);
    });
    this.#picture.addEventListener("pointermove", (event) => this.#light(this.#layerUnder(event)));
    this.#picture.addEventListener("pointerleave", () => this.#light(this.#selected));
    this.#picture.addEventListener("click", (event) => this.#select(this.#layerUnder(event)));
  }

  /** The engine whose arena is drawn. */
  get engine(): EngineLike | undefined {
    return this.#engine;
  }
  set engine(engine: EngineLike | undefined) {
    this.#engine = engine ?? undefined;
    this.#report = undefined;
    this.#failure = "";
    this.#selected = -1;
    this.#drawn = "";
    if (this.isConnected) this.refresh();
  }

  /** Index of the layer whose tensors are lit; -1 for none. */
  get selected(): number {
    return this.#selected;
  }
  set selected(layer: number) {
    this.#select(layer);
  }

  /** The rectangles drawn, for an application's own tests. */
  get blocks(): readonly Block[] {
    return this.#map?.blocks ?? [];
  }

  protected tick(): void {
    const engine = this.#engine;
    if (!engine || this.#report || this.#failure) return;
    const source = this.newSource();
    const take = (report: EngineReport) => {
      if (!this.isCurrent(source)) return;
      this.#report = report;
      const inputs = engine.inputs?.map((input) => input.name) ?? [];
      this.#map = arenaMap(report, inputs);
      if (this.width > 0) this.draw();
    };
    const fail = (error: unknown) => {
      if (!this.isCurrent(source)) return;
      this.#failure = error instanceof Error ? error.message : String(error);
      if (this.width > 0) this.draw();
    };
    try {
      const report = engine.inspect("detailed");
      if (report instanceof Promise) report.then(take, fail);
      else take(report);
    } catch (error) {
      fail(error);
    }
  }

  protected draw(): void {
    const [report, map] = [this.#report, this.#map];
    const missing = this.#reasonForNothing();
    this.#missing.hidden = missing === undefined;
    this.#body.hidden = missing !== undefined;
    if (missing || !report || !map) {
      this.#missing.replaceChildren(missing ?? "");
      return;
    }
    const key = `${this.width}`;
    if (key === this.#drawn) return;
    this.#drawn = key;
    const sentence = summarizeArena(report, map);
    setText(this.#sentence, sentence);
    this.#bars.replaceChildren(...barsOf(report));
    const view = drawArena(report, map, this.width, `Map of the arena, ${map.steps} steps. ${sentence}`);
    this.#view = view;
    this.#picture.replaceChildren(view.root);
    // The thumb's middle runs over the middles of the first and last column.
    const thumb = 16;
    const column = view.plot.width / Math.max(1, map.steps);
    this.#slider.style.width = `${view.plot.width - column + thumb}px`;
    this.#slider.style.marginInlineStart = `${view.plot.left + column / 2 - thumb / 2}px`;
    setAttributes(this.#slider, { max: report.layers.length - 1 });
    if (this.#selected >= 0) this.#slider.value = `${this.#selected}`;
    this.#table.hidden = report.eaters === undefined;
    this.#tablePlace.replaceChildren(tableOf(report.eaters ?? []));
    this.#light(this.#selected);
  }

  #reasonForNothing(): HTMLElement | undefined {
    if (this.notice) return noticeOf("Nothing to show here", this.notice);
    if (!this.#engine)
      return noticeOf(
        "No model yet",
        "Once a model is compiled, this shows where each of its tensors lies in memory, and when.",
      );
    if (this.#failure) return noticeOf("The model could not be inspected", this.#failure);
    if (!this.#report) return noticeOf("Reading the plan", "The map appears as soon as the model is compiled.");
    if (this.#report.layers.length === 0)
      return noticeOf("An empty model", "It has no layers, so it needs no memory between them.");
    return undefined;
  }

  #layerUnder(event: PointerEvent | MouseEvent): number {
    const [view, report] = [this.#view, this.#report];
    if (!view || !report) return -1;
    const block = view.blockOf(event.target);
    if (block && block.writer >= 0) return block.writer;
    return layerAt(report.layers, view.stepAt(event.clientX));
  }

  #select(layer: number): void {
    this.#selected = Number.isFinite(layer) && layer >= 0 ? Math.trunc(layer) : -1;
    if (this.#selected >= 0) this.#slider.value = `${this.#selected}`;
    this.#light(this.#selected);
  }

  /** Lights a layer's tensors and says what they are. */
  #light(at: number): void {
    const [report, map, view] = [this.#report, this.#map, this.#view];
    if (!report || !map || !view) return;
    const layer = report.layers[at];
    if (!layer) {
      view.light(undefined, 0);
      this.#panel.replaceChildren(
        html(
          "p",
          { class: "caption" },
          "Point at a block, or move the slider with the arrow keys, to see a layer and its tensors.",
        ),
      );
      setAttributes(this.#slider, { "aria-valuetext": "no layer selected" });
      return;
    }
    const lit = blocksOf(map, at);
    view.light(new Set(lit), layer.index);
    setAttributes(this.#slider, {
      "aria-valuetext": [
        titleOf(layer, report),
        ...lit.map((block) => `${shortName(block.name)}, ${describeBlock(block)}`),
      ].join("; "),
    });
    this.#panel.replaceChildren(
      html("h3", {}, titleOf(layer, report)),
      html("ul", {}, ...lit.map((block) => itemOf(block, at))),
    );
  }
}

function titleOf(layer: LayerReport, { layers }: EngineReport): string {
  const kernel = layer.kernel ? `, kernel ${layer.kernel}` : "";
  const time = layer.gpuMs === undefined ? "" : `, ${layer.gpuMs.toFixed(2)} ms`;
  return `Layer ${layer.index} of ${layers.length}: ${layer.op} “${shortName(layer.name)}”${kernel}${time}`;
}

function itemOf(block: Block, layer: number): HTMLElement {
  const role = block.kind === "workspace" ? "scratch" : block.writer === layer ? "writes" : "reads";
  const how = block.writer === layer && block.kind === "in place" ? " in place" : "";
  const dot = html("i", { class: `dot ${block.kind.replace(" ", "-")}` });
  return html(
    "li",
    { title: block.name },
    dot,
    `${role}${how} `,
    html("b", {}, block.kind === "workspace" ? "" : shortName(block.name)),
    html("span", {}, ` ${describeBlock(block)}`),
  );
}

function barsOf({ arena }: EngineReport): HTMLElement[] {
  const most = Math.max(arena.naive, arena.bytes, arena.lowerBound, 1);
  const bar = (name: string, tone: string, bytes: number) => {
    const fill = html("i", { class: tone });
    fill.style.width = `${(100 * bytes) / most}%`;
    return [html("dt", {}, name), html("dd", {}, fill, html("b", {}, formatBytes(bytes)))];
  };
  return [
    ...bar("A buffer each", "naive", arena.naive),
    ...bar("This plan", "plan", arena.bytes),
    ...bar("Lower bound", "least", arena.lowerBound),
  ];
}

function legend(): HTMLElement {
  const swatch = (kind: string, text: string) => {
    const square = html("i", { class: `swatch ${kind}` });
    square.style.background = "var(--tone)";
    return html("span", {}, square, text);
  };
  return html(
    "div",
    { class: "legend" },
    swatch("activation", "activation"),
    swatch("in-place", "written in place of an operand"),
    swatch("workspace", "workspace of one layer"),
    html("span", {}, html("i", { class: "rule" }), "lower bound"),
    html("span", {}, html("i", { class: "rule down" }), "peak step"),
  );
}

/** Who takes how much memory, as the report ranks them. */
function tableOf(eaters: readonly MemoryEater[]): HTMLTableElement {
  const shapes = (list: MemoryEater["inputs"]) => list.map(formatShape).join(", ");
  const rows = eaters.map((row) => [
    row.layer === undefined ? "" : `${row.layer}`,
    shortName(row.name),
    row.op,
    shapes(row.inputs),
    shapes(row.outputs),
    formatBytes(row.bytes),
    formatBytes(row.peakBytes),
    `${(100 * row.shareOfPeak).toFixed(0)} %`,
  ]);
  return table(
    "What takes memory",
    ["Layer", "Name", "Op", "Input", "Output", "Writes", "At the peak", "Of peak"],
    rows,
    [0, 5, 6, 7],
  );
}

define("frameway-arena", FramewayArena);

declare global {
  interface HTMLElementTagNameMap {
    "frameway-arena": FramewayArena;
  }
}
