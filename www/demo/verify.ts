import { setText } from "../diagram/dom.js";
import { count, shortName } from "../diagram/format.js";
import type { LayerError, Verification } from "../lib/index.js";
import { element, place, within, words } from "./page.js";

/** A part of a layer's largest value: `0.01 %`, `0.00003 %`. */
export function share(part: number): string {
  if (part === 0) return "0\u00a0%";
  const percent = part * 100;
  return `${percent >= 0.1 ? percent.toFixed(1) : Number(percent.toPrecision(1)).toLocaleString("en", { maximumFractionDigits: 12 })}\u00a0%`;
}

function layer({ index, op, name, kernel }: LayerError): string {
  return `layer ${index}, ${op} “${shortName(name)}” (kernel ${kernel})`;
}

/** What a verification found, in words: the verdict and what stands behind it. */
export function describeVerification(found: Verification): { verdict: string; sentence: string } {
  const { ok, layers, runs, repeatable, tolerance, worst, first } = found;
  const same = repeatable
    ? `The ${count(runs, "run")} gave the same bits.`
    : `The ${count(runs, "run")} did not give the same bits: something on this adapter depends on time.`;
  if (!ok && first) {
    const off =
      Number.isFinite(first.error) && first.error < 1e6 ? share(first.error) : "more than can be said in numbers";
    return {
      verdict: "It differs.",
      sentence:
        `The first to differ is ${layer(first)}: ${first.got} where the reference has ${first.expected}, off by ${off} of the ` +
        `layer's largest value; ${share(tolerance)} is allowed. ${same}`,
    };
  }
  const most = worst ? ` Furthest off, by ${share(worst.error)}: ${layer(worst)}.` : "";
  return {
    verdict: ok ? "It computes right." : "It differs.",
    sentence: `Each of the ${count(layers, "layer")} agrees with its reference within ${share(tolerance)} of its largest value.${most} ${same}`,
  };
}

/** The button that holds every layer against its reference on this adapter. */
export class Verify {
  readonly #root = element("verify");
  readonly #button: HTMLButtonElement = within(this.#root, '[data-do="verify"]');
  readonly #progress: HTMLProgressElement = within(this.#root, "progress");

  /** `verify` runs it; it rejects where there is no picture, or the runtime cannot. */
  constructor(verify: () => Promise<Verification>) {
    this.#button.disabled = false;
    this.#button.addEventListener("click", () => void this.#run(verify));
  }

  async #run(verify: () => Promise<Verification>): Promise<void> {
    if (this.#button.getAttribute("aria-disabled") === "true") return;
    // Disabled in name only, so that the keyboard's focus stays where it is.
    this.#button.setAttribute("aria-disabled", "true");
    this.#progress.hidden = false;
    delete this.#root.dataset["ok"];
    const said = place(this.#root, "verdict");
    setText(said, "Layer by layer, on the GPU and on the processor …");
    try {
      const found = await verify();
      const { verdict, sentence } = describeVerification(found);
      const strong = document.createElement("b");
      strong.textContent = verdict;
      said.replaceChildren(strong, ` ${sentence}`);
      this.#root.dataset["ok"] = String(found.ok);
    } catch (error) {
      setText(said, `It could not be verified. ${words(error)}`);
    } finally {
      this.#progress.hidden = true;
      this.#button.removeAttribute("aria-disabled");
    }
  }
}
