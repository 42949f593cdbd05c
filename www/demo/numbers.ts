/** Means over half a second, so that what changes every frame can be read. */
const PERIOD_MS = 500;

/** The parts of a frame's time, in milliseconds; absent where it is not known. */
export interface FrameTimes {
  /** From the picture's presentation until its boxes were there. */
  age: number | undefined;
  upload: number;
  pre: number | undefined;
  network: number | undefined;
  post: number | undefined;
  readback: number | undefined;
}

function text(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** Shows frames per second, the parts of a frame's time, and a bar divided in their proportion. */
export class Numbers {
  readonly #cells = new Map<string, HTMLElement>();
  readonly #bar: HTMLElement;
  /** Names of the parts and their colours. */
  readonly #parts: readonly { readonly name: string; readonly color: string }[];
  #sums = new Map<string, { sum: number; count: number }>();
  #frames = 0;
  #since = performance.now();

  constructor(root: HTMLElement, bar: HTMLElement) {
    for (const cell of root.querySelectorAll<HTMLElement>("[data-number]")) {
      this.#cells.set(cell.dataset["number"] ?? "", cell);
    }
    this.#bar = bar;
    this.#parts = [...root.querySelectorAll<HTMLElement>("[data-part]")].map((part) => ({
      name: part.dataset["part"] ?? "",
      color: getComputedStyle(part).getPropertyValue("--part"),
    }));
    // Frames stand still while the page is hidden; that is no slowness.
    document.addEventListener("visibilitychange", () => this.#restart());
  }

  /** Enters one frame. */
  add(times: FrameTimes): void {
    this.#frames += 1;
    for (const [name, value] of Object.entries(times)) {
      if (value === undefined) continue;
      const entry = this.#sums.get(name) ?? { sum: 0, count: 0 };
      entry.sum += value;
      entry.count += 1;
      this.#sums.set(name, entry);
    }
    const now = performance.now();
    const elapsed = now - this.#since;
    if (elapsed < PERIOD_MS) return;
    this.#show("fps", ((this.#frames * 1000) / elapsed).toFixed(1));
    for (const name of this.#cells.keys()) {
      const mean = this.#mean(name);
      if (name !== "fps") this.#show(name, mean === undefined ? "–" : text(mean));
    }
    this.#divide();
    this.#restart();
  }

  /** Forgets what is shown: another source begins. */
  clear(): void {
    for (const name of this.#cells.keys()) this.#show(name, "–");
    this.#restart();
    this.#divide();
  }

  /** Gives each part its share of the bar. */
  #divide(): void {
    const whole = this.#parts.reduce((sum, { name }) => sum + (this.#mean(name) ?? 0), 0);
    let end = 0;
    const stops = this.#parts.map(({ name, color }) => {
      const begin = end;
      end += whole > 0 ? (100 * (this.#mean(name) ?? 0)) / whole : 0;
      return `${color} ${begin.toFixed(1)}% ${end.toFixed(1)}%`;
    });
    this.#bar.style.backgroundImage = whole > 0 ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  }

  #restart(): void {
    this.#frames = 0;
    this.#sums = new Map();
    this.#since = performance.now();
  }

  #mean(name: string): number | undefined {
    const entry = this.#sums.get(name);
    return entry && entry.sum / entry.count;
  }

  #show(name: string, value: string): void {
    const cell = this.#cells.get(name);
    if (cell && cell.textContent !== value) cell.textContent = value;
  }
}
