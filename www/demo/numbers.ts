/** Means over half a second, so that what changes every frame can be read. */
const PERIOD_MS = 500;

/** The parts of a frame's time, in milliseconds; absent where it is not known. */
export interface FrameTimes {
  upload: number;
  pre: number | undefined;
  network: number | undefined;
  post: number | undefined;
  readback: number | undefined;
}

function text(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** Shows frames per second and the parts of a frame's time. */
export class Numbers {
  readonly #cells = new Map<string, HTMLElement>();
  #sums = new Map<string, { sum: number; count: number }>();
  #frames = 0;
  #since = performance.now();

  constructor(list: HTMLElement) {
    for (const cell of list.querySelectorAll<HTMLElement>("[data-number]")) {
      this.#cells.set(cell.dataset["number"] ?? "", cell);
    }
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
      const entry = this.#sums.get(name);
      if (name !== "fps") this.#show(name, entry ? text(entry.sum / entry.count) : "–");
    }
    this.#frames = 0;
    this.#sums = new Map();
    this.#since = now;
  }

  #show(name: string, value: string): void {
    const cell = this.#cells.get(name);
    if (cell && cell.textContent !== value) cell.textContent = value;
  }
}
