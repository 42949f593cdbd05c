import { setText } from "../diagram/dom.js";
import { count } from "../diagram/format.js";
import type { Engine, Runtime } from "../lib/index.js";
import { element, place, words } from "./page.js";

const PERIOD_MS = 500;

/** What happens at a copy that nobody asked for. */
export type Copies = "report" | "strict";

/** What the switch needs of the page. */
export interface StrictTarget {
  readonly runtime: Runtime;
  /** Compiles the same detector. */
  compile(copies: Copies): Promise<Engine>;
  /** Puts it in the place of the one at work, which is closed. */
  exchange(engine: Engine): Promise<void>;
  /** It is at work. */
  exchanged(): void;
}

/** Frames run, and copies that nobody asked for, since the runtime began. */
function account({ ledger }: Runtime): { frames: number; implicit: number } {
  const { frames, edges } = ledger.snapshot();
  return { frames, implicit: edges.reduce((sum, edge) => sum + (edge.implicit ? edge.count : 0), 0) };
}

/** The switch that compiles the detector with `copies: "strict"`. */
export class Strict {
  readonly #target: StrictTarget;
  readonly #input = element<HTMLInputElement>("strict-switch");
  readonly #state = place(element("strict"), "state");
  readonly #count = place(element("strict"), "count");
  #at: Copies = "report";
  #busy = false;
  /** An error stands in the state's place until the switch is thrown. */
  #failed = false;
  #since: { frames: number; implicit: number };

  constructor(target: StrictTarget) {
    this.#target = target;
    this.#since = account(target.runtime);
    this.#input.disabled = false;
    this.#input.addEventListener("change", () => void this.#follow());
    setInterval(() => this.#draw(), PERIOD_MS);
    this.#draw();
  }

  get #wanted(): Copies {
    return this.#input.checked ? "strict" : "report";
  }

  /** Compiles until what is at work is what the switch says; it may be thrown again meanwhile. */
  async #follow(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    this.#failed = false;
    this.#input.setAttribute("aria-busy", "true");
    try {
      while (this.#wanted !== this.#at) {
        const wanted = this.#wanted;
        setText(this.#count, "");
        setText(this.#state, `Compiling the same detector, ${wanted === "strict" ? "strict" : "not strict"} …`);
        const engine = await this.#target.compile(wanted);
        await this.#target.exchange(engine);
        this.#at = wanted;
        this.#since = account(this.#target.runtime);
        this.#target.exchanged();
      }
    } catch (error) {
      this.#input.checked = this.#at === "strict";
      this.#complain(`It stays as it was. ${words(error)}`);
    } finally {
      this.#busy = false;
      this.#input.removeAttribute("aria-busy");
      this.#draw();
    }
  }

  /** Says in its place what the strict detector refused. False where it is not strict, or the error is another. */
  refused(error: unknown): boolean {
    if (this.#at !== "strict" || !words(error).includes("(edge ")) return false;
    this.#complain(`On, and the stream was stopped. ${words(error)} Throw the switch, then choose a source again.`);
    return true;
  }

  /** Says `text` in the state's place from now on: nothing can be switched any more. */
  silence(text: string): void {
    this.#input.disabled = true;
    this.#complain(text);
  }

  /** How the detector at work was compiled. */
  get copies(): Copies {
    return this.#at;
  }

  #complain(text: string): void {
    this.#failed = true;
    setText(this.#count, "");
    setText(this.#state, text);
  }

  #draw(): void {
    if (this.#busy || this.#failed) return;
    const { frames, implicit } = account(this.#target.runtime);
    const [run, copied] = [frames - this.#since.frames, implicit - this.#since.implicit];
    const copies = `${copied === 0 ? "no copy" : count(copied, "copy", "copies")} that nobody asked for`;
    const strict = this.#at === "strict";
    setText(
      this.#state,
      !strict ? "Off." : run === 0 ? "On, waiting for the first frame." : "On, and the stream goes on.",
    );
    setText(this.#count, run === 0 ? "" : `${count(run, "frame")}${strict ? " since" : ""}: ${copies}.`);
  }
}
