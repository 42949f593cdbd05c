/**
 * `<frameway-copies>`: every memory write of a frame as an arrow between two banks, CPU memory and GPU memory, with
 * the crossings of the border between them unmistakable. Drawn from `runtime.ledger.snapshot()` alone.
 */
import { type CopiesLayout, layoutCopies } from "./copies-layout.js";
import { STYLE } from "./copies-style.js";
import { type Form, formOf, isPerFrame, labelOf, since, summarize, summarizeComparison } from "./copies-summary.js";
import { CopiesView, KIND_WORDS } from "./copies-view.js";
import { html, setText, svg, table } from "./dom.js";
import { DiagramElement, define, noticeOf } from "./element.js";
import { count, formatBytes } from "./format.js";
import { placeOf } from "./places.js";
import type { LedgerEdge, LedgerSnapshot, RuntimeLike } from "./types.js";

/** The usual way, measured by the page: the same edges a ledger has, one after the other. */
export interface Comparison {
  readonly edges: readonly LedgerEdge[];
}

/** An edge as it is drawn. The sum of `bytes` is the ledger's. */
export interface DrawnEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly kind: LedgerEdge["kind"];
  readonly form: Form;
  readonly bytesPerFrame: number;
  readonly bytes: number;
  readonly implicit: boolean;
}

/** Numbers stand for half a second. */
const PERIOD = 500;
/** Pulses never run more often than this, in milliseconds; on a fast machine one stands for several frames. */
const PULSE_PERIOD = 900;
const BUNDLES = [1, 2, 3, 5, 10, 15, 20, 30, 60, 120];

/** `<frameway-copies>`: what one frame moves between CPU and GPU memory, drawn from the ledger. */
export class FramewayCopies extends DiagramElement {
  static override readonly observedAttributes = ["notice", "camera"];
  protected readonly properties = ["runtime", "camera", "comparison", "comparing", "notice"];
  protected readonly every = PERIOD;

  #runtime: RuntimeLike | undefined;
  #comparison: Comparison | undefined;
  #snapshot: LedgerSnapshot | undefined;
  #lost = "";
  #layout: CopiesLayout | undefined;
  #pulseTimer: ReturnType<typeof setTimeout> | undefined;
  #rate = 0;
  /** The reading of half a second ago. */
  #seen: { readonly time: number; readonly snapshot: LedgerSnapshot } | undefined;

  readonly #view = new CopiesView();
  readonly #sentence = html("p", { class: "sentence" });
  readonly #caption = html(
    "p",
    { class: "caption" },
    "Every arrow is memory written again. The fewer and thinner they are, above all across the border, the cheaper a frame is.",
  );
  readonly #toggle = html("input", { type: "checkbox", role: "switch" });
  readonly #switch = html(
    "label",
    { class: "switch", hidden: true },
    this.#toggle,
    "Compare with the usual canvas way, measured on this machine",
  );
  readonly #versus = html("p", { class: "versus", hidden: true });
  readonly #head: HTMLElement = html(
    "div",
    { class: "head" },
    this.#sentence,
    this.#caption,
    this.#switch,
    this.#versus,
  );
  readonly #place = html("div");
  readonly #warnings = html("ul", { class: "warnings", hidden: true });
  readonly #steps = html("ol", { class: "steps", hidden: true });
  readonly #pulseNote = html("span", { class: "pulse" });
  readonly #legend = legend(this.#pulseNote);
  readonly #tablePlace = html("div", { class: "scroll" });
  readonly #details: HTMLDetailsElement = html(
    "details",
    {},
    html("summary", {}, "The same as a table"),
    this.#tablePlace,
  );

  constructor() {
    super(STYLE);
    this.#toggle.addEventListener("change", () => this.refresh());
    this.#details.addEventListener("toggle", () => this.refresh());
    this.shadow.append(
      html("figure", {}, this.#head, this.#place, this.#warnings, this.#steps, this.#legend, this.#details),
    );
  }

  /** The runtime whose ledger is drawn. */
  get runtime(): RuntimeLike | undefined {
    return this.#runtime;
  }
  set runtime(runtime: RuntimeLike | undefined) {
    this.#runtime = runtime ?? undefined;
    this.#snapshot = undefined;
    this.#seen = undefined;
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

  /** Whether the video shows a camera, which is then drawn before it. */
  get camera(): boolean {
    return this.hasAttribute("camera");
  }
  set camera(on: boolean) {
    this.toggleAttribute("camera", on);
  }

  /** What the usual canvas way moves, in the same form; without it the switch is hidden. */
  get comparison(): Comparison | undefined {
    return this.#comparison;
  }
  set comparison(comparison: Comparison | undefined) {
    this.#comparison = comparison ?? undefined;
    if (this.isConnected) this.refresh();
  }

  /** Whether the usual way is drawn over the picture. */
  get comparing(): boolean {
    return this.#toggle.checked;
  }
  set comparing(on: boolean) {
    this.#toggle.checked = on;
    if (this.isConnected) this.refresh();
  }

  /** What is drawn now, for an application's own tests. */
  get edges(): DrawnEdge[] {
    return (this.#snapshot?.edges ?? []).map((edge) => {
      const { id, from, to, kind, bytesPerFrame, bytes, implicit } = edge;
      return { id, from, to, kind, form: formOf(edge), bytesPerFrame, bytes, implicit };
    });
  }

  /** The ledger as it was when the picture was drawn. */
  get snapshot(): LedgerSnapshot | undefined {
    return this.#snapshot;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#schedulePulse();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#pulseTimer);
  }

  protected tick(): void {
    const snapshot = this.#runtime?.ledger?.snapshot();
    if (!snapshot) return;
    const time = performance.now();
    const seen = this.#seen;
    this.#snapshot = since(seen?.snapshot, snapshot);
    if (!seen || snapshot.frames < seen.snapshot.frames) this.#seen = { time, snapshot };
    else if (time - seen.time >= PERIOD * 0.9) {
      this.#rate = (1000 * (snapshot.frames - seen.snapshot.frames)) / (time - seen.time);
      this.#seen = { time, snapshot };
    }
  }

  protected draw(): void {
    const missing = this.#missing();
    for (const part of [this.#head, this.#legend, this.#details]) part.hidden = missing !== undefined;
    const snapshot = this.#snapshot;
    if (missing || !snapshot) {
      for (const part of [this.#warnings, this.#steps]) part.hidden = true;
      this.#layout = undefined;
      this.#place.replaceChildren(missing ?? "");
      return;
    }
    const ghosts = this.#drawComparison();
    const layout = layoutCopies(snapshot.edges, ghosts, this.width, this.camera);
    const sentence = summarize(snapshot);
    setText(this.#sentence, sentence);
    const implicit = snapshot.edges.filter((edge) => edge.implicit);
    const warned = new Map(implicit.map((edge, i) => [edge, i + 1]));
    this.#view.show(
      layout,
      snapshot.frames,
      `Memory writes of one frame, between CPU memory and GPU memory. ${sentence}`,
      warned,
    );
    if (this.#view.root.parentNode !== this.#place) this.#place.replaceChildren(this.#view.root);
    this.#drawWarnings(implicit);
    if (this.#details.open) this.#tablePlace.replaceChildren(tableOf(snapshot));
    this.#layout = layout;
  }

  /** What stands in the diagram's place when there is nothing to draw. */
  #missing(): HTMLElement | undefined {
    if (this.notice) return noticeOf("Nothing to show here", this.notice);
    if (this.trouble) return noticeOf("The runtime cannot be read", this.trouble);
    if (this.#lost)
      return noticeOf(
        "The GPU was lost",
        `${this.#lost}. Reload the page; if it happens again, close other pages that use the GPU.`,
      );
    if (!this.#runtime)
      return noticeOf(
        "No runtime yet",
        "Start the camera or the sample clip: each memory write of a frame appears here as an arrow.",
      );
    if (!this.#snapshot || this.#snapshot.edges.length === 0) {
      return noticeOf(
        "No frame has run yet",
        "Start the camera or the sample clip: each memory write of a frame appears here as an arrow.",
      );
    }
    return undefined;
  }

  #drawComparison(): readonly LedgerEdge[] {
    const edges = this.#comparison?.edges ?? [];
    const on = edges.length > 0 && this.comparing;
    this.#switch.hidden = edges.length === 0;
    this.#versus.hidden = !on;
    this.#steps.hidden = !on;
    if (!on) return [];
    setText(this.#versus, summarizeComparison(edges));
    const items = edges.map((edge, i) => {
      const { bytes, time } = labelOf(edge, 1);
      const what = edge.reason ?? `${placeOf(edge.from).label} → ${placeOf(edge.to).label}`;
      return html("li", {}, html("b", {}, `${i + 1}`), `${what}: ${time ? `${bytes} · ${time}` : bytes}`);
    });
    this.#steps.replaceChildren(...items);
    return edges;
  }

  #drawWarnings(implicit: readonly LedgerEdge[]): void {
    this.#warnings.hidden = implicit.length === 0;
    const texts = implicit.map((edge) => {
      const ends = `${placeOf(edge.from).label} → ${placeOf(edge.to).label}`;
      return `Implicit ${KIND_WORDS[edge.kind]}, ${ends}: ${edge.reason ?? "no reason given"} (${formatBytes(edge.bytesPerFrame || edge.bytes)})`;
    });
    if (texts.join("\n") === [...this.#warnings.children].map((item) => item.lastChild?.textContent).join("\n")) return;
    this.#warnings.replaceChildren(
      ...texts.map((text) =>
        html("li", {}, html("span", { class: "sign", "aria-hidden": "true" }, "!"), html("span", {}, text)),
      ),
    );
  }

  /** Pulses at the rate frames come, bundled where that would flicker. */
  #schedulePulse(): void {
    const perFrame = this.#rate > 0 ? 1000 / this.#rate : 0;
    const bundle = BUNDLES.find((n) => n * perFrame >= PULSE_PERIOD) ?? 120;
    const wait = perFrame > 0 ? Math.min(bundle * perFrame, 4000) : PERIOD;
    this.#pulseTimer = setTimeout(() => this.#schedulePulse(), wait);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const moving = perFrame > 0 && !still;
    // Its room stays, so that nothing below moves.
    this.#pulseNote.style.visibility = moving ? "visible" : "hidden";
    setText(this.#pulseNote, bundle === 1 ? "a pulse is one frame" : `a pulse is ${count(bundle, "frame")}`);
    const layout = this.#layout;
    if (moving && layout && !document.hidden) this.#view.pulse(layout, this.#snapshot?.frames ?? 0);
  }
}

function tableOf({ edges, frames }: LedgerSnapshot): HTMLTableElement {
  const rows = edges.map((edge) => {
    const { bytes, time } = labelOf(edge, frames);
    const note = [edge.implicit ? "implicit" : "", edge.reason ?? ""].filter(Boolean).join(": ");
    const frame = isPerFrame(edge, frames) ? bytes : "";
    return [
      placeOf(edge.from).label,
      placeOf(edge.to).label,
      KIND_WORDS[edge.kind],
      frame,
      time,
      formatBytes(edge.bytes),
      note,
    ];
  });
  return table("Memory writes", ["From", "To", "Kind", "A frame", "Time", "In all", "Note"], rows, [3, 4, 5]);
}

function legend(pulseNote: HTMLElement): HTMLElement {
  const sample = (form: Form) => {
    const shaft = svg("path", {
      class: "shaft",
      d: "M2 8 H28",
      "stroke-width": form === "crossing" ? 6 : form === "within" ? 3.5 : 2.5,
    });
    const tip = svg("path", { class: "tip", d: "M37 8 L27 2.5 L27 13.5 Z" });
    const posts = form === "crossing" ? [svg("path", { class: "border", d: "M12 -2h6v5h-6z M12 13h6v5h-6z" })] : [];
    return svg(
      "svg",
      { width: 38, height: 16, viewBox: "0 0 38 16", "aria-hidden": "true" },
      svg("g", { class: `arrow ${form}` }, shaft, tip),
      ...posts,
    );
  };
  const mark = svg(
    "svg",
    { width: 18, height: 16, viewBox: "-11 -12 22 21", "aria-hidden": "true" },
    svg("g", { class: "mark" }, svg("path", { d: "M0 -11 L11 8 L-11 8 Z" }), svg("text", { y: 6 }, "!")),
  );
  return html(
    "div",
    { class: "legend" },
    html("span", {}, sample("reference"), "reference: no bytes move"),
    html("span", {}, sample("within"), "copy inside one memory"),
    html("span", {}, sample("crossing"), "crosses the border, counted at its gate"),
    html("span", {}, mark, "a copy nobody asked for"),
    pulseNote,
  );
}

define("frameway-copies", FramewayCopies);

declare global {
  interface HTMLElementTagNameMap {
    "frameway-copies": FramewayCopies;
  }
}
