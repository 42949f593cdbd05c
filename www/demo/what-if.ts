import { html, setText } from "../diagram/dom.js";
import { count, formatBytes } from "../diagram/format.js";
import { type Engine, type EngineReport, FramewayError } from "../lib/index.js";
import { answer, type Need, scaleOf } from "./budget.js";
import { element, place, within, words } from "./page.js";

/** The compiler is asked once the slider has stood still for so long. */
const STILL_MS = 120;
/** Steps of the slider. */
const STEPS = 240;

/** Asks the runtime's compiler what the model would be made of under a limit. */
export type Ask = (activations: number) => Promise<EngineReport>;

interface Row {
  readonly need: Need;
  readonly root: HTMLElement;
  readonly input: HTMLInputElement;
  readonly bar: HTMLElement;
  readonly mark: HTMLElement;
}

/** What would fit under a limit of activations, for one picture or several at once. */
export class WhatIf {
  readonly #root = element("what-if");
  readonly #slider = element<HTMLInputElement>("limit");
  readonly #enough: HTMLButtonElement = within(this.#root, '[data-do="enough"]');
  readonly #ask: Ask;
  readonly #weights: number;
  readonly #rows: readonly Row[];
  #limit: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #questions = 0;
  /** What the compiler said of one picture. */
  #compiled: { readonly fits: boolean; readonly words: string } | undefined;

  constructor(engine: Engine, ask: Ask) {
    const { accounts, weights } = engine.inspect("names");
    this.#ask = ask;
    this.#weights = weights.bytes;
    const scale = scaleOf(accounts.batch);
    this.#rows = accounts.batch.map((need, i) => this.#row(need, i === 0, scale));
    const bar = html("i", { class: "bar-of weights" });
    bar.style.width = `${(100 * this.#weights) / scale}%`;
    place(this.#root, "rows").replaceChildren(
      html(
        "div",
        { class: "row flat" },
        html("span", {}, "Weights"),
        html("span", { class: "track" }, bar),
        html("span", { class: "mark" }, `${formatBytes(this.#weights)}, the same`),
      ),
      ...this.#rows.map(({ root }) => root),
    );
    this.#limit = scale / 3;
    Object.assign(this.#slider, { min: "0", max: `${scale}`, step: `${scale / STEPS}`, value: `${this.#limit}` });
    this.#slider.addEventListener("input", () => this.#setLimit(this.#slider.valueAsNumber));
    this.#enough.addEventListener("click", () => {
      const { arenaBytes } = this.#chosen.need;
      this.#slider.value = `${arenaBytes}`;
      this.#setLimit(arenaBytes);
    });
    for (const { input } of this.#rows) input.addEventListener("change", () => this.#draw());
    element<HTMLFieldSetElement>("budget").disabled = false;
    this.#setLimit(this.#limit);
  }

  #row(need: Need, checked: boolean, scale: number): Row {
    const input = html("input", { type: "radio", name: "pictures", value: need.n, checked });
    const bar = html("i", { class: "bar-of" });
    bar.style.width = `${(100 * need.arenaBytes) / scale}%`;
    const mark = html("span", { class: "mark" });
    const root = html(
      "label",
      { class: "row" },
      html("span", {}, input, ` ${count(need.n, "picture")}`),
      html("span", { class: "track" }, bar),
      mark,
    );
    return { need, root, input, bar, mark };
  }

  get #chosen(): Row {
    const row = this.#rows.find(({ input }) => input.checked) ?? this.#rows[0];
    if (!row) throw new Error("the engine has no account of its batches");
    return row;
  }

  #setLimit(limit: number): void {
    this.#limit = Math.round(limit);
    this.#root.style.setProperty("--limit", `${this.#limit / Number(this.#slider.max)}`);
    this.#slider.setAttribute("aria-valuetext", formatBytes(this.#limit));
    setText(place(this.#root, "limit"), formatBytes(this.#limit));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#compile(), STILL_MS);
  }

  async #compile(): Promise<void> {
    this.#questions += 1;
    const question = this.#questions;
    let compiled: { readonly fits: boolean; readonly words: string };
    try {
      const { arena } = await this.#ask(this.#limit);
      const bound = arena.bytes === arena.lowerBound ? ", and no plan could do with less" : "";
      compiled = { fits: true, words: `compiled, with an arena of ${arena.bytes.toLocaleString("en")} bytes${bound}.` };
    } catch (error) {
      if (question !== this.#questions) return;
      if (!(error instanceof FramewayError) || error.kind !== "memory-limit") {
        setText(place(this.#root, "compiler"), `The compiler could not be asked: ${words(error)}`);
        return;
      }
      compiled = { fits: false, words: words(error) };
    }
    if (question !== this.#questions) return;
    this.#compiled = compiled;
    this.#draw();
  }

  #draw(): void {
    if (!this.#compiled) return;
    for (const row of this.#rows) {
      const { fits } = this.#answer(row);
      row.bar.classList.toggle("over", !fits);
      setText(row.mark, `${formatBytes(row.need.arenaBytes)} ${fits ? "✓ fits" : "✗ too much"}`);
    }
    const { fits, verdict, sentence } = this.#answer(this.#chosen);
    this.#root.dataset["fits"] = String(fits);
    setText(place(this.#root, "verdict"), verdict);
    setText(place(this.#root, "sentence"), sentence);
    setText(place(this.#root, "compiler"), `The compiler on one picture under this limit: ${this.#compiled.words}`);
  }

  /** Of one picture the compiler's own word counts, of several the sizes it planned. */
  #answer({ need }: Row) {
    return answer(need, this.#weights, this.#limit, need.n === 1 ? this.#compiled?.fits : undefined);
  }
}
