import { FramewayError } from "./errors.js";
import type { HandleKind, Handles } from "./leaks.js";
import { judge, readMemory, type Suspect, type Verdict } from "./slope.js";
import type { MemoryReport } from "./types.js";

/** What was alive at one moment. */
export interface Watermark extends MemoryReport {
  /** Milliseconds of `performance.now()`. */
  readonly time: number;
}

/** Samples kept: ten minutes at one a second. */
const KEPT = 600;
const LEAST_PERIOD = 10;

const MADE_BY: Readonly<Partial<Record<Suspect, readonly HandleKind[]>>> = {
  sessions: ["engine"],
  requests: ["request pool", "request"],
  queue: ["request", "stream"],
};

/** Memory over time: a sample of the ledger at a fixed period, and whether anything climbs. */
export class Watermarks {
  readonly #memory: () => MemoryReport;
  readonly #handles: Handles;
  #samples: Watermark[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Called with every sample, for a page that sends them to its own records. */
  onSample: ((sample: Watermark) => void) | undefined;

  /** @internal */
  constructor(memory: () => MemoryReport, handles: Handles) {
    this.#memory = memory;
    this.#handles = handles;
  }

  /** Takes a sample now and then every `period` milliseconds, until {@link stop}. A second call changes the period. */
  start(period = 1000): void {
    if (!(period >= LEAST_PERIOD)) {
      throw new FramewayError(
        "bad-source",
        `a period of ${period} ms`,
        "watermarks.start()",
        `say milliseconds, at least ${LEAST_PERIOD}`,
      );
    }
    this.stop();
    this.sample();
    this.#timer = setInterval(() => this.sample(), period);
  }

  /** Takes no more samples; those taken are kept. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** True between {@link start} and {@link stop}. */
  get running(): boolean {
    return this.#timer !== undefined;
  }

  /** Takes one sample. */
  sample(): Watermark {
    const sample = { time: performance.now(), ...this.#memory() };
    this.#samples.push(sample);
    if (this.#samples.length > KEPT) this.#samples.shift();
    this.onSample?.(sample);
    return sample;
  }

  /** The last 600 samples, oldest first. */
  samples(): readonly Watermark[] {
    return this.#samples;
  }

  /** The samples, one JSON object a line. */
  toJSONLines(): string {
    return this.#samples.map((sample) => `${JSON.stringify(sample)}\n`).join("");
  }

  /** Whether memory climbs, how fast, who is suspected, and the line of code that has most of the suspects open. */
  verdict(): Verdict & { readonly madeAt?: string } {
    const verdict = judge(this.#samples.map(readMemory));
    const most = verdict.suspect && this.#handles.most(MADE_BY[verdict.suspect] ?? []);
    if (!most) return verdict;
    const { kind, open, madeAt } = most;
    const text = `${verdict.text}; ${open} ${kind}${open === 1 ? "" : "s"} open, made at ${madeAt}`;
    return { ...verdict, madeAt, text };
  }
}
