import { FlowMeter, type FlowReport, type FlowVerdict } from "./flow.js";
import { hasPicture, watchFrames } from "./frames.js";
import type { Entry } from "./leaks.js";
import type { InferRequest, Lease } from "./requests.js";
import type { FrameSource } from "./types.js";

/** Options of {@link RequestPool.stream}. */
export interface StreamOptions {
  /** Skips frames that are older than the newest (default). False runs every frame that the page is told of; up to 30 wait for their turn. */
  latest?: boolean;
  /** The input that takes the frames; the model's first when absent. */
  input?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
}

/** How a frame of a stream fared. */
export interface FrameReport {
  /** When the source showed the frame, on the clock of `performance.now()`. */
  readonly presentedAt: number;
  /** Milliseconds from the frame's presentation until its results were there. */
  readonly ageMs: number;
  /** Frames skipped since the one before: every request was busy, or the page was too busy to be told of them. */
  readonly dropped: number;
  /** Requests that ran or held results when the frame was taken. */
  readonly queueLevel: number;
  /** Standard deviation of the queue level over its mean, over the last 60 frames: 0 is steady. */
  readonly queueVolatility: number;
  /** Who sets the pace. */
  readonly verdict: FlowVerdict;
}

/** What a stream needs of its pool. */
export interface StreamPool {
  readonly size: number;
  acquire(options: { signal: AbortSignal }): Promise<InferRequest>;
}

/** A picture that waits for a request. */
interface Shown {
  readonly time: number;
  readonly picture: FrameSource;
}

/** A lease that whoever reads the stream has. */
interface Handed {
  readonly lease: Lease;
  readonly since: number;
}

interface Taker {
  resolve(result: IteratorResult<Lease, void>): void;
  reject(error: unknown): void;
}

const DONE: IteratorReturnResult<void> = { done: true, value: undefined };
/** Frames that wait when none is to be skipped. */
const MOST_WAITING = 30;

/** A copy of the picture that a video or a canvas shows now, where the browser can make one. */
function keepPicture(source: FrameSource, time: number): FrameSource {
  const moves =
    source instanceof Element || (typeof OffscreenCanvas !== "undefined" && source instanceof OffscreenCanvas);
  if (!moves || typeof VideoFrame === "undefined" || !hasPicture(source)) return source;
  return new VideoFrame(source as CanvasImageSource, { timestamp: Math.round(1000 * time) });
}

/** The frames of one source on the requests of one pool. Knows nothing of who reads it, so that a lost reader can be found. */
export class Flow {
  readonly #pool: StreamPool;
  readonly #source: FrameSource;
  readonly #input: string;
  readonly #latest: boolean;
  readonly #meter: FlowMeter;
  readonly #stopping = new AbortController();
  readonly #unlisten: () => void;
  /** Newest last. */
  #waiting: Shown[] = [];
  /** In the order of their frames. */
  #running: Promise<Lease>[] = [];
  #handed: Handed[] = [];
  #takers: Taker[] = [];
  #dropped = 0;
  #pumping = false;
  #serving = false;
  #sourceOver = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    pool: StreamPool,
    source: FrameSource,
    options: { input: string; latest: boolean; signals: readonly (AbortSignal | undefined)[] },
  ) {
    this.#pool = pool;
    this.#source = source;
    this.#input = options.input;
    this.#latest = options.latest;
    this.#meter = new FlowMeter(pool.size);
    const unwatch = watchFrames(source, {
      frame: (shown, unseen) => this.#take(shown, unseen),
      gap: () => this.#meter.gap(),
      end: () => {
        this.#sourceOver = true;
        this.#serve();
      },
    });
    const signals = options.signals.filter((signal) => signal !== undefined);
    const stop = () => void this.stop();
    for (const signal of signals) signal.addEventListener("abort", stop);
    this.#unlisten = () => {
      unwatch();
      for (const signal of signals) signal.removeEventListener("abort", stop);
    };
    if (signals.some((signal) => signal.aborted)) stop();
  }

  /** The results of the next frame; those handed out before are released. */
  next(): Promise<IteratorResult<Lease, void>> {
    this.#takeBack();
    return new Promise((resolve, reject) => {
      this.#takers.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Ends the stream. Resolves when every request is back. */
  async stop(): Promise<void> {
    if (!this.#ended) {
      this.#ended = true;
      this.#unlisten();
      this.#stopping.abort();
      for (const { picture } of this.#waiting) this.#drop(picture);
      this.#waiting = [];
      this.#takeBack();
      for (const taker of this.#takers.splice(0)) taker.resolve(DONE);
    }
    const running = this.#running.splice(0);
    await Promise.allSettled(running.map((run) => run.then((lease) => lease.release())));
  }

  report(): FlowReport {
    return this.#meter.report();
  }

  get #level(): number {
    return this.#running.length + this.#handed.length;
  }

  #take(time: number, unseen: number): void {
    if (this.#ended) return;
    this.#meter.shown(time, this.#level, unseen);
    this.#dropped += unseen;
    try {
      this.#waiting.push({ time, picture: this.#latest ? this.#source : keepPicture(this.#source, time) });
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#waiting.length > (this.#latest ? 1 : MOST_WAITING)) {
      const oldest = this.#waiting.shift();
      if (oldest) this.#drop(oldest.picture);
      this.#meter.dropped();
      this.#dropped += 1;
    }
    void this.#pump();
  }

  /** Closes a picture of our own. */
  #drop(picture: FrameSource): void {
    if (picture !== this.#source && "close" in picture) picture.close();
  }

  /** Runs what waits, as soon as there is a request for it; by then it may be a newer picture. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (!this.#ended && this.#waiting.length > 0) {
        const request = await this.#pool.acquire({ signal: this.#stopping.signal });
        const shown = this.#ended ? undefined : this.#waiting.shift();
        if (shown && (shown.picture !== this.#source || hasPicture(shown.picture))) this.#run(request, shown);
        else request.release();
      }
    } catch (error) {
      if (!this.#ended) this.#fail(error);
    } finally {
      this.#pumping = false;
      this.#serve();
    }
  }

  #run(request: InferRequest, { time, picture }: Shown): void {
    const started = performance.now();
    const [dropped, queueLevel] = [this.#dropped, this.#level];
    this.#dropped = 0;
    const run = request.run({ [this.#input]: picture }, () => {
      const now = performance.now();
      this.#meter.ran(now - started);
      const { queueVolatility, verdict } = this.#meter.report();
      return { presentedAt: time, ageMs: now - time, dropped, queueLevel, queueVolatility, verdict };
    });
    this.#drop(picture);
    // A rejection is told to whoever reads the stream, in its turn.
    run.catch(() => request.release());
    this.#running.push(run);
    this.#serve();
  }

  #takeBack(): void {
    const now = performance.now();
    for (const { lease, since } of this.#handed.splice(0)) {
      this.#meter.held(now - since);
      lease.release();
    }
  }

  #fail(error: unknown): void {
    this.#failure = { error };
    const taker = this.#takers.shift();
    if (taker) {
      this.#failure = undefined;
      taker.reject(error);
    }
    void this.stop();
  }

  /** Gives results to who asks for them, in the order of the frames. */
  async #serve(): Promise<void> {
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.#takers.length > 0) {
        const next = this.#running[0];
        if (next) {
          const lease = await next;
          if (this.#running[0] !== next) continue;
          this.#running.shift();
          this.#handed.push({ lease, since: performance.now() });
          this.#takers.shift()?.resolve({ done: false, value: lease });
        } else if (this.#failure) {
          const { error } = this.#failure;
          this.#failure = undefined;
          this.#takers.shift()?.reject(error);
        } else if (this.#ended) {
          this.#takers.shift()?.resolve(DONE);
        } else if (this.#sourceOver && this.#waiting.length === 0 && !this.#pumping) {
          void this.stop();
        } else {
          return;
        }
      }
    } catch (error) {
      if (!this.#ended) this.#fail(error);
    } finally {
      this.#serving = false;
    }
  }
}

/** The results of one source's frames, in their order. A lease is released when the next one is asked for. */
export class FrameStream implements AsyncGenerator<Lease, void, void> {
  readonly #flow: Flow;
  readonly #entry: Entry;

  /** @internal */
  constructor(flow: Flow, enter: (stream: FrameStream) => Entry) {
    this.#flow = flow;
    this.#entry = enter(this);
  }

  /** The results of the next frame. Waits while the source shows nothing new; done once it has ended. */
  async next(): Promise<IteratorResult<Lease, void>> {
    try {
      const result = await this.#flow.next();
      if (result.done) this.#entry.close();
      return result;
    } catch (error) {
      this.#entry.close();
      throw error;
    }
  }

  /** Ends the stream at once, also while {@link next} waits. Resolves when every request is back in its pool. */
  async return(): Promise<IteratorResult<Lease, void>> {
    this.#entry.close();
    await this.#flow.stop();
    return DONE;
  }

  /** Ends the stream and rejects with `error`. */
  async throw(error: unknown): Promise<IteratorResult<Lease, void>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
