import type { FrameReport, Lease, RequestPool } from "./requests.js";
import type { FrameSource } from "./types.js";

/** Options of {@link RequestPool.stream}. */
export interface StreamOptions {
  /** Skips frames that are older than the newest (default). False runs every frame that the source shows. */
  latest?: boolean;
  /** The input that takes the frames; the model's first when absent. */
  input?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
}

/** Resolves at the source's next picture with the time it was shown, or with undefined when the stream is to end. */
function nextFrame(source: FrameSource, signal: AbortSignal | undefined): Promise<number | undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(undefined);
      return;
    }
    const done = (time: number | undefined) => {
      signal?.removeEventListener("abort", abort);
      resolve(time);
    };
    const abort = () => done(undefined);
    signal?.addEventListener("abort", abort, { once: true });
    if (typeof HTMLVideoElement !== "undefined" && source instanceof HTMLVideoElement) {
      source.requestVideoFrameCallback(done);
    } else if (typeof requestAnimationFrame === "function") {
      requestAnimationFrame(done);
    } else {
      setTimeout(() => done(performance.now()), 1000 / 60);
    }
  });
}

/** Runs the frames of a source on the requests of a pool, in order, as many at once as there are requests. */
export async function* streamFrames(
  pool: RequestPool,
  source: FrameSource,
  options: StreamOptions & { input: string },
): AsyncGenerator<Lease, void, void> {
  const { input, signal, latest = true } = options;
  const running: Promise<Lease>[] = [];
  let dropped = 0;
  let ended = false;
  let failure: { error: unknown } | undefined;
  let wake: (() => void) | undefined;
  const tell = () => {
    wake?.();
    wake = undefined;
  };
  const feed = async () => {
    try {
      while (!ended) {
        const shown = await nextFrame(source, signal);
        if (shown === undefined || ended) break;
        if (latest && pool.idle === 0) {
          dropped += 1;
          continue;
        }
        const request = await pool.acquire(signal ? { signal } : {});
        if (ended) {
          request.release();
          break;
        }
        const [skipped, queueLevel] = [dropped, running.length];
        dropped = 0;
        const report = (): FrameReport => ({ ageMs: performance.now() - shown, dropped: skipped, queueLevel });
        const run = request.run({ [input]: source }, report);
        // A rejection is told to whoever reads the stream, in its turn.
        run.catch(() => request.release());
        running.push(run);
        tell();
      }
    } catch (error) {
      if (!signal?.aborted) failure = { error };
    }
    ended = true;
    tell();
  };
  const feeding = feed();
  try {
    for (;;) {
      const next = running.shift();
      if (next) yield await next;
      else if (failure) throw failure.error;
      else if (ended) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    ended = true;
    for (const run of running) run.then((lease) => lease.release()).catch(() => {});
    void feeding;
  }
}
