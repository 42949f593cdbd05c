import type { FrameSource } from "./types.js";

/** Who is told of a source's pictures. */
export interface FrameListener {
  /** A picture is shown, since `shown` (milliseconds of `performance.now()`); so many before it were never told of. */
  frame(shown: number, unseen: number): void;
  /** There was a pause: the page was hidden, the video paused or its source changed. */
  gap(): void;
  /** No more will come. */
  end(): void;
}

type Stop = () => void;

/** A camera that was stopped is looked at so often, in milliseconds... */
const LOOK_MS = 500;
/** ...and so many times, before its stream ends: another may take its place. */
const LOOKS = 3;

function isVideo(source: FrameSource): source is HTMLVideoElement {
  return typeof HTMLVideoElement !== "undefined" && source instanceof HTMLVideoElement;
}

/** True where a picture can be taken from the source now; a video whose source was just changed has none for a while. */
export function hasPicture(source: FrameSource): boolean {
  if (!isVideo(source)) return true;
  return source.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA && source.videoWidth > 0;
}

function listen(target: EventTarget, types: readonly string[], heard: () => void): Stop {
  for (const type of types) target.addEventListener(type, heard);
  return () => {
    for (const type of types) target.removeEventListener(type, heard);
  };
}

function watchVideo(video: HTMLVideoElement, to: FrameListener): Stop {
  let last: number | undefined;
  let callback = 0;
  const tick: VideoFrameRequestCallback = (now, { presentationTime, presentedFrames }) => {
    callback = video.requestVideoFrameCallback(tick);
    const unseen = last === undefined ? 0 : Math.max(0, presentedFrames - last - 1);
    last = presentedFrames;
    to.frame(presentationTime || now, unseen);
  };
  callback = video.requestVideoFrameCallback(tick);
  const gap = () => {
    last = undefined;
    to.gap();
  };
  const quiet = listen(video, ["pause", "seeking", "emptied"], gap);
  // A switched source may end behind the back of the one that took its place.
  const over = listen(video, ["ended"], () => {
    if (video.ended) to.end();
  });
  // A stopped MediaStream is announced by no event that all browsers have.
  let inactive = 0;
  const look = setInterval(() => {
    const stream = video.srcObject;
    inactive = stream instanceof MediaStream && !stream.active ? inactive + 1 : 0;
    if (inactive === LOOKS) to.end();
  }, LOOK_MS);
  // A picture that stands still is told of once, and so is the end that was before.
  queueMicrotask(() => {
    if (callback === -1) return;
    if (video.ended) to.end();
    else if (video.paused && hasPicture(video)) to.frame(performance.now(), 0);
  });
  return () => {
    video.cancelVideoFrameCallback(callback);
    callback = -1;
    clearInterval(look);
    quiet();
    over();
  };
}

function watchScreen(to: FrameListener): Stop {
  let stopped = false;
  let cancel: Stop = () => {};
  const tick = (now: number) => {
    if (stopped) return;
    ask();
    to.frame(now, 0);
  };
  const ask = () => {
    if (typeof requestAnimationFrame === "function") {
      const id = requestAnimationFrame(tick);
      cancel = () => cancelAnimationFrame(id);
    } else {
      const id = setTimeout(() => tick(performance.now()), 1000 / 60);
      cancel = () => clearTimeout(id);
    }
  };
  ask();
  return () => {
    stopped = true;
    cancel();
  };
}

/**
 * Tells of every picture that a source shows: a video's own, whatever else at the pace of the screen. While the page is hidden
 * there are none. The function it gives ends that.
 */
export function watchFrames(source: FrameSource, to: FrameListener): Stop {
  const stop = isVideo(source) && "requestVideoFrameCallback" in source ? watchVideo(source, to) : watchScreen(to);
  const hidden = typeof document === "undefined" ? () => {} : listen(document, ["visibilitychange"], () => to.gap());
  return () => {
    stop();
    hidden();
  };
}
