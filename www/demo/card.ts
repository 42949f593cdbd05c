import { html, setText } from "../diagram/dom.js";
import type { Engine } from "../lib/index.js";
import { EXAMPLES, type Example, type Handed, type Making } from "./examples.js";
import { element, place, within, words } from "./page.js";
import { describeVerdict } from "./verdicts.js";

/** The four lines, with what each of them says. */
const LINES = [
  { name: "shape", says: "how many each way" },
  { name: "dtype", says: "what a number is kept as" },
  { name: "strides", says: "how far apart neighbours lie" },
  { name: "device", says: "whose memory it is" },
] as const;

/** What the panel needs of the page. */
export interface CardTarget extends Omit<Making, "port"> {
  readonly engine: Engine;
  /** Whether it refuses copies that nobody asked for. */
  readonly strict: boolean;
  /** Hands it to the detector at work; says what came of it. */
  run(value: Handed["value"]): Promise<string>;
}

/** Examples of what may be handed in, each held against the detector's input line by line. */
export class CardCheck {
  readonly #root = element("check");
  readonly #run: HTMLButtonElement = within(this.#root, '[data-do="run"]');
  readonly #outcome = place(this.#root, "outcome");
  readonly #target: CardTarget;
  readonly #lines: ReadonlyMap<string, HTMLElement>;
  #example: Example | undefined;
  #handed: Handed | undefined;

  constructor(target: CardTarget) {
    this.#target = target;
    const list = element<HTMLFieldSetElement>("examples");
    for (const [i, example] of EXAMPLES.entries()) {
      const input = html("input", { type: "radio", name: "example", value: example.id, checked: i === 0 });
      input.addEventListener("change", () => void this.#show(example));
      list.append(html("label", {}, input, ` ${example.label}`));
    }
    this.#lines = new Map(LINES.map(({ name }) => [name, html("dd")]));
    place(this.#root, "lines").replaceChildren(
      ...LINES.map(({ name, says }) =>
        html(
          "div",
          { "data-line": name },
          html("dt", {}, html("b", {}, name), html("small", {}, says)),
          this.#lines.get(name) ?? "",
        ),
      ),
    );
    list.disabled = false;
    this.#run.addEventListener("click", () => void this.#handIn());
    // The first picture may come later than the detector.
    target.video.addEventListener("loadeddata", () => {
      if (this.#example?.id === "video") void this.#show(this.#example);
    });
    const [first] = EXAMPLES;
    if (first) void this.#show(first);
  }

  /** Looks again: another detector is at work. */
  again(): void {
    if (this.#example) void this.#show(this.#example);
  }

  async #show(example: Example): Promise<void> {
    const { runtime, video, engine } = this.#target;
    const [port] = engine.inputs;
    if (!port) return;
    this.#example = example;
    this.#handed?.free?.();
    this.#handed = undefined;
    this.#run.disabled = true;
    setText(this.#outcome, "");
    try {
      const handed = await example.make({ runtime, video, port });
      if (this.#example !== example) {
        handed.free?.();
        return;
      }
      this.#handed = handed;
      const check = runtime.check(handed.value, port);
      for (const { name } of LINES) this.#line(name, check[name].ok, check[name].message);
      const { word, path } = describeVerdict(check.verdict, this.#target.strict);
      this.#say(word, path);
      this.#root.dataset["zeroCopy"] = String(check.verdict.zeroCopy);
      this.#run.disabled = false;
    } catch (error) {
      if (this.#example !== example) return;
      for (const { name } of LINES) this.#line(name, undefined, "–");
      this.#say("It cannot be looked at.", words(error));
    }
  }

  #line(name: string, ok: boolean | undefined, message: string): void {
    const line = this.#lines.get(name);
    if (!line) return;
    const root = line.parentElement;
    if (ok === undefined) delete root?.dataset["ok"];
    else if (root) root.dataset["ok"] = String(ok);
    setText(line, message);
  }

  #say(word: string, path: string): void {
    setText(place(this.#root, "verdict"), word);
    setText(place(this.#root, "path"), path);
  }

  async #handIn(): Promise<void> {
    const [handed, example] = [this.#handed, this.#example];
    if (!handed || this.#run.getAttribute("aria-disabled") === "true") return;
    this.#run.setAttribute("aria-disabled", "true");
    setText(this.#outcome, "Running …");
    let said: string;
    try {
      said = await this.#target.run(handed.value);
    } catch (error) {
      said = words(error);
    }
    this.#run.removeAttribute("aria-disabled");
    if (this.#example === example) setText(this.#outcome, said);
  }
}
