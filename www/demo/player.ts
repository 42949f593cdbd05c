import type { Engine, InferRequest, Lease, RequestPool, Runtime } from "../lib/index.js";

/** What a player tells of. */
export interface PlayerListener {
  /** The results of a frame; they are released when this returns. */
  frame(lease: Lease): void;
  /** Another detector looks at the frames from now on. */
  engine(engine: Engine): void;
}

/** Shows the frames of a `<video>` to a detector, which can be made to pause, or be exchanged, while the video plays on. */
export class Player {
  readonly #runtime: Runtime;
  readonly #listener: PlayerListener;
  #engine: Engine;
  #pool: RequestPool;
  /** Ends the stream, not the source. */
  #pause = new AbortController();
  /** Whoever holds the detector, one after the other. */
  #held: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** The stream under way. */
  #streaming: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, engine: Engine, listener: PlayerListener) {
    this.#runtime = runtime;
    this.#listener = listener;
    this.#engine = engine;
    this.#pool = this.#requestsOf(engine);
    listener.engine(engine);
  }

  /** The detector at work. */
  get engine(): Engine {
    return this.#engine;
  }

  #requestsOf(engine: Engine): RequestPool {
    // On a software adapter a second frame under way only makes both slower.
    return engine.requests(this.#runtime.adapter.isFallback ? 1 : 2);
  }

  /** Looks at what `video` shows until `signal` says to stop, or the video ends. Rejects with what a run does. */
  async watch(video: HTMLVideoElement, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#held;
      if (this.#waiting > 0) continue;
      const pause = this.#pause.signal;
      this.#streaming = this.#stream(video, AbortSignal.any([signal, pause]));
      await this.#streaming;
      if (!pause.aborted) return;
    }
  }

  async #stream(video: HTMLVideoElement, signal: AbortSignal): Promise<void> {
    for await (const lease of this.#pool.stream(video, { latest: true, signal })) {
      if (!signal.aborted) this.#listener.frame(lease);
      lease.release();
    }
  }

  /** Looks at no frames until `work` is done. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#pause.abort();
    const done = this.#held.then(async () => {
      try {
        // What the stream failed with is told to whoever watches.
        await this.#streaming.catch(() => {});
        return await work();
      } finally {
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#pause = new AbortController();
      }
    });
    this.#held = done.catch(() => {});
    return done;
  }

  /** Puts `engine` in the place of the one at work, which is closed first, so that two arenas are never there at once. */
  exchange(engine: Engine): Promise<void> {
    return this.hold(async () => {
      await this.#engine.close();
      this.#engine = engine;
      this.#pool = this.#requestsOf(engine);
      this.#listener.engine(engine);
    });
  }

  /** Lends a request of the detector's, between two frames. */
  async borrow<T>(use: (request: InferRequest) => Promise<T>): Promise<T> {
    const request = await this.#pool.acquire();
    try {
      return await use(request);
    } finally {
      request.release();
    }
  }
}
