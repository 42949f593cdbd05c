import { setText } from "../diagram/dom.js";
import type { Verification } from "../lib/index.js";
import { element, place, within, words } from "./page.js";
import { describeVerification } from "./verdicts.js";

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
