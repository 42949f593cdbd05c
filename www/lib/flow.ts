/** Does a stream keep up, and if not, who is slow? Pure arithmetic over what happened lately. */

/** In words, who sets the pace. */
export type FlowVerdict = "settling" | "keeps up" | "downstream is slow" | "the model is slow" | "the source is slow";

/** How a stream has fared lately. */
export interface FlowReport {
  /** Frames that the source showed. */
  readonly shown: number;
  /** Of these, run. */
  readonly run: number;
  /** Of these, skipped for a newer one. */
  readonly dropped: number;
  /** Milliseconds from one shown frame to the next, lately. */
  readonly intervalMs: number;
  /** Milliseconds from a run's start until its results were there, lately. */
  readonly runMs: number;
  /** Milliseconds that results were waited for and held by whoever reads the stream, lately. */
  readonly heldMs: number;
  /** Requests that ran or held results when a frame was shown, lately, in the mean. */
  readonly queueLevel: number;
  /** Standard deviation of the queue level over its mean: 0 is steady, above 0.5 is unsteady. */
  readonly queueVolatility: number;
  readonly verdict: FlowVerdict;
  /** The verdict with its numbers. */
  readonly why: string;
}

/** Frames and runs that count as lately. */
const WINDOW = 60;
/** Frames before anything is said. */
const LEAST = 5;
/** Share of skipped frames above which somebody is slow. */
const DROPS = 0.1;
/** A source is slow when it shows fewer than 15 frames a second... */
const SLOW_INTERVAL = 1000 / 15;
/** ...and the stream is busy for less than this share of the time. */
const IDLE_SHARE = 0.25;

/** The last values. */
class Recent {
  readonly #values: number[] = [];

  add(value: number): void {
    this.#values.push(value);
    if (this.#values.length > WINDOW) this.#values.shift();
  }

  clear(): void {
    this.#values.length = 0;
  }

  get length(): number {
    return this.#values.length;
  }

  get sum(): number {
    return this.#values.reduce((sum, value) => sum + value, 0);
  }

  get mean(): number {
    return this.length === 0 ? 0 : this.sum / this.length;
  }

  /** Standard deviation over the mean. */
  get variation(): number {
    const { mean } = this;
    if (mean === 0) return 0;
    const squares = this.#values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return Math.sqrt(squares / this.length) / mean;
  }
}

const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** Measures the flow of one stream over `size` requests. Times are milliseconds of one clock. */
export class FlowMeter {
  readonly #size: number;
  readonly #intervals = new Recent();
  readonly #levels = new Recent();
  readonly #drops = new Recent();
  readonly #runs = new Recent();
  readonly #held = new Recent();
  #last: number | undefined;
  #shown = 0;
  #run = 0;
  #dropped = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** The source showed a frame, and so many before it went unseen; `level` requests were in use. */
  shown(time: number, level: number, unseen = 0): void {
    if (this.#last !== undefined) this.#intervals.add((time - this.#last) / (1 + unseen));
    this.#last = time;
    this.#levels.add(level);
    this.#shown += 1 + unseen;
    this.#drops.add(unseen);
    this.#dropped += unseen;
  }

  /** A frame was skipped for a newer one. */
  dropped(): void {
    this.#drops.add(1);
    this.#dropped += 1;
  }

  /** Results are there. */
  ran(took: number): void {
    this.#run += 1;
    this.#runs.add(took);
  }

  /** Results were given back. */
  held(took: number): void {
    this.#held.add(took);
  }

  /** The source paused, or the page was hidden: what was before says nothing about what comes. */
  gap(): void {
    this.#last = undefined;
    for (const recent of [this.#intervals, this.#levels, this.#drops]) recent.clear();
  }

  /** Mean and variation of the queue level, cheap enough for every frame. */
  report(): FlowReport {
    const [verdict, why] = this.#judge();
    return {
      shown: this.#shown,
      run: this.#run,
      dropped: this.#dropped,
      intervalMs: this.#intervals.mean,
      runMs: this.#runs.mean,
      heldMs: this.#held.mean,
      queueLevel: this.#levels.mean,
      queueVolatility: this.#levels.variation,
      verdict,
      why,
    };
  }

  #judge(): [FlowVerdict, string] {
    const [interval, run, held] = [this.#intervals.mean, this.#runs.mean, this.#held.mean];
    if (this.#intervals.length < LEAST || this.#runs.length === 0) {
      return ["settling", `a verdict takes ${LEAST + 1} frames`];
    }
    const drops = this.#drops.sum / (this.#drops.sum + this.#levels.length);
    const pace = `a frame comes every ${ms(interval)}, a run takes ${ms(run)}, its results are held for ${ms(held)}`;
    if (drops > DROPS) {
      const share = `${Math.round(100 * drops)} % of the frames are skipped`;
      if (held > run) return ["downstream is slow", `${share}: ${pace}; do less in the loop, or hand it to a worker`];
      return ["the model is slow", `${share}: ${pace}; a smaller input or model would keep up`];
    }
    if (interval > SLOW_INTERVAL && run + held < IDLE_SHARE * interval * this.#size) {
      return ["the source is slow", pace];
    }
    return ["keeps up", pace];
  }
}
