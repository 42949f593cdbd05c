/**
 * `<frameway-watermarks>`: GPU memory by class over the last two minutes, the wasm heap as a line, the queue below, and
 * in words whether anything climbs, and because of whom. Drawn from `runtime.memory()` alone.
 */

import { judge, type Verdict } from "../lib/slope.js";
import { html, setAttributes, setText, table } from "./dom.js";
import { DiagramElement, define, noticeOf } from "./element.js";
import { formatBytes } from "./format.js";
import type { MemorySample, RuntimeLike } from "./types.js";
import {
  CLASSES,
  countOf,
  gpuTotal,
  queueOf,
  readingOf,
  recent,
  summarizeMemory,
  topOf,
  WINDOW,
} from "./watermarks-series.js";
import { drawWatermarks } from "./watermarks-view.js";

const STYLE = `
.verdict { display: flex; gap: 8px; align-items: baseline; }
.state { flex: none; width: 1em; text-align: center; color: var(--fw-soft); }
.state.flat { color: var(--fw-green); }
.state.climbing { color: var(--fw-vermillion); }
.ground { fill: light-dark(#f5f7f9, #1a2027); }
.grid { stroke: var(--fw-faint); stroke-width: 1; }
.tick { font-size: 11px; fill: var(--fw-soft); }
.area { fill: var(--tone); stroke: var(--fw-paper); stroke-width: .5; }
.weights { --tone: #0072b2; } .arena { --tone: #56b4e9; } .staging { --tone: #e69f00; }
.textures { --tone: #cc79a7; } .uniforms { --tone: #f0e442; } .build { --tone: #98a2ad; }
.heap { fill: none; stroke: var(--fw-ink); stroke-width: 2; stroke-linejoin: round; }
.limit { stroke: var(--fw-vermillion); stroke-width: 2; stroke-dasharray: 7 4; }
.rule-label { font-size: 11px; font-weight: 600; paint-order: stroke; stroke: var(--fw-paper); stroke-width: 4px; stroke-linejoin: round; }
.running { fill: var(--fw-sky); }
.waiting { fill: var(--fw-vermillion); }
.now { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 3px 20px; margin-top: 10px; font-size: 12px; }
.now div { display: flex; align-items: center; gap: 7px; }
.now dt { color: var(--fw-soft); flex: 1; }
.now dd { font-weight: 600; }
.now .swatch { background: var(--tone); }
.now .heap-swatch { width: 12px; border-top: 2px solid var(--fw-ink); flex: none; }
.now .none { background: none; }
.now .split { background: linear-gradient(to top, var(--fw-sky) 60%, var(--fw-vermillion) 60%); }
`;

const DEFAULT_PERIOD = 1000;
const MARKS: Readonly<Record<Verdict["state"], string>> = { waiting: "○", flat: "●", moving: "○", climbing: "▲" };

/** `<frameway-watermarks>`: memory by class over the last two minutes, with a verdict in words. */
export class FramewayWatermarks extends DiagramElement {
  static override readonly observedAttributes = ["notice", "period", "limit"];
  protected readonly properties = ["runtime", "limit", "period", "notice"];

  #runtime: RuntimeLike | undefined;
  #samples: MemorySample[] = [];
  #top = 0;
  #lost = "";
  #verdict: Verdict | undefined;

  readonly #mark = html("span", { class: "state", "aria-hidden": "true" });
  readonly #sentence = html("span");
  readonly #picture = html("div");
  readonly #values = new Map<string, HTMLElement>();
  readonly #tablePlace = html("div", { class: "scroll" });
  readonly #details: HTMLDetailsElement = html(
    "details",
    {},
    html("summary", {}, "The last samples as a table"),
    this.#tablePlace,
  );
  readonly #body: HTMLElement = html(
    "div",
    {},
    html(
      "div",
      { class: "head" },
      html("p", { class: "sentence verdict" }, this.#mark, this.#sentence),
      html(
        "p",
        { class: "caption" },
        "GPU memory by what it is for, stacked; the wasm heap as a line. A page that frees what it makes stays flat.",
      ),
    ),
    this.#picture,
    this.#legend(),
    this.#details,
  );
  readonly #missing = html("div", { hidden: true });

  constructor() {
    super(STYLE);
    this.shadow.append(html("figure", {}, this.#missing, this.#body));
    this.#details.addEventListener("toggle", () => this.#drawTable());
  }

  /** The runtime whose memory is watched. */
  get runtime(): RuntimeLike | undefined {
    return this.#runtime;
  }
  set runtime(runtime: RuntimeLike | undefined) {
    this.#runtime = runtime ?? undefined;
    this.#samples = [];
    this.#top = 0;
    this.#lost = "";
    const source = this.newSource();
    runtime?.lost?.then(
      ({ message, reason }) => {
        if (this.isCurrent(source)) this.#lost = message || reason;
      },
      () => {},
    );
    if (this.isConnected) this.refresh();
  }

  /** Bytes drawn as a rule across; 0 for none. */
  get limit(): number {
    const limit = Number(this.getAttribute("limit") ?? 0);
    return Number.isFinite(limit) && limit > 0 ? limit : 0;
  }
  set limit(bytes: number) {
    if (bytes > 0) this.setAttribute("limit", `${bytes}`);
    else this.removeAttribute("limit");
  }

  /** Milliseconds between two samples, at least 100; 1000 when not said. */
  get period(): number {
    const period = Number(this.getAttribute("period") ?? DEFAULT_PERIOD);
    return Number.isFinite(period) ? Math.max(100, period) : DEFAULT_PERIOD;
  }
  set period(ms: number) {
    this.setAttribute("period", `${ms}`);
  }

  /** The samples drawn, oldest first. */
  get samples(): readonly MemorySample[] {
    return this.#samples;
  }

  /** What is said of them. */
  get verdict(): Verdict | undefined {
    return this.#verdict;
  }

  protected get every(): number {
    return this.period;
  }

  protected tick(): void {
    const runtime = this.#runtime;
    if (!runtime) return;
    if (runtime.watermarks && runtime.watermarks.running !== false) {
      this.#samples = [...recent(runtime.watermarks.samples())];
      return;
    }
    const report = runtime.memory?.();
    if (!report) return;
    const time = performance.now();
    const last = this.#samples.at(-1);
    // A redraw between two ticks brings no sample of its own: the period is fixed.
    if (last && time - last.time < this.period * 0.5) return;
    this.#samples = [...recent([...this.#samples, { ...report, time }])];
  }

  protected draw(): void {
    const last = this.#samples.at(-1);
    const missing = this.#reasonForNothing();
    this.#missing.hidden = missing === undefined;
    this.#body.hidden = missing !== undefined;
    if (missing || !last) {
      this.#missing.replaceChildren(missing ?? "");
      return;
    }
    const verdict = judge(this.#samples.map(readingOf));
    this.#verdict = verdict;
    const sentence = summarizeMemory(last, verdict);
    setText(this.#sentence, sentence);
    setText(this.#mark, MARKS[verdict.state]);
    setAttributes(this.#mark, { class: `state ${verdict.state}` });
    this.setAttribute("data-state", verdict.state);
    this.#top = topOf(this.#samples, this.limit, this.#top);
    this.#picture.replaceChildren(
      drawWatermarks(this.#samples, this.#top, this.limit, this.width, `Memory over the last two minutes. ${sentence}`),
    );
    this.#drawValues(last);
    this.#drawTable();
  }

  #reasonForNothing(): HTMLElement | undefined {
    if (this.notice) return noticeOf("Nothing to show here", this.notice);
    if (this.trouble) return noticeOf("The runtime cannot be read", this.trouble);
    if (this.#lost)
      return noticeOf(
        "The GPU was lost",
        `${this.#lost}. Reload the page; if it happens again, close other pages that use the GPU.`,
      );
    if (this.#samples.length === 0)
      return noticeOf(
        "No runtime yet",
        "Once one is made, this shows what memory it takes, second by second, and whether that grows.",
      );
    return undefined;
  }

  /** Every curve with its value now. */
  #legend(): HTMLElement {
    const row = (id: string, swatch: HTMLElement, label: string) => {
      const value = html("dd");
      this.#values.set(id, value);
      return html("div", {}, swatch, html("dt", {}, label), value);
    };
    return html(
      "dl",
      { class: "now" },
      ...CLASSES.map(({ id, label }) => row(id, html("i", { class: `swatch ${id}` }), label)),
      row("wasm", html("i", { class: "heap-swatch" }), "wasm heap"),
      row("queue", html("i", { class: "swatch split" }), "running, waiting"),
      row("engines", html("i", { class: "swatch none" }), "engines"),
      row("requests", html("i", { class: "swatch none" }), "requests"),
    );
  }

  #drawValues(sample: MemorySample): void {
    const set = (id: string, text: string) => {
      const value = this.#values.get(id);
      if (value) setText(value, text);
    };
    for (const { id } of CLASSES) set(id, formatBytes(sample.gpu[id] ?? 0));
    set("wasm", formatBytes(sample.wasmBytes));
    const { running, waiting } = queueOf(sample);
    set("queue", `${running}, ${waiting}`);
    set("engines", `${countOf(sample.engines)}`);
    set("requests", `${countOf(sample.requests)}`);
  }

  #drawTable(): void {
    if (!this.#details.open) return;
    const newest = this.#samples.at(-1)?.time ?? 0;
    const every = Math.max(1, Math.round(this.#samples.length / 12));
    const rows = this.#samples
      .filter((_, i) => (this.#samples.length - 1 - i) % every === 0)
      .reverse()
      .map((sample) => {
        const ago = Math.round((newest - sample.time) / 1000);
        return [
          ago === 0 ? "now" : `${ago} s ago`,
          formatBytes(gpuTotal(sample)),
          ...CLASSES.map(({ id }) => formatBytes(sample.gpu[id] ?? 0)),
          formatBytes(sample.wasmBytes),
        ];
      });
    const head = ["When", "GPU", ...CLASSES.map(({ label }) => label), "wasm heap"];
    this.#tablePlace.replaceChildren(
      table(`Memory over the last ${WINDOW} seconds`, head, rows, [1, 2, 3, 4, 5, 6, 7, 8]),
    );
  }
}

define("frameway-watermarks", FramewayWatermarks);

declare global {
  interface HTMLElementTagNameMap {
    "frameway-watermarks": FramewayWatermarks;
  }
}
