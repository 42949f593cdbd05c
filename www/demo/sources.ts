import samplePicture from "@vladmandic/face-api/demo/sample3.jpg?url";

/** A source of pictures that could not be opened, in words for the page. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}

/** Something that plays in the page's `<video>` until it is stopped. */
export interface Source {
  /** Ends it and frees the camera. */
  stop(): void;
  /** Resolves when it ends by itself, as a camera that is unplugged. */
  readonly ended: Promise<void>;
}

/** What is true of a clip or a file: it plays on. */
const NEVER = new Promise<void>(() => {});

async function play(video: HTMLVideoElement): Promise<void> {
  const unreadable = () => new SourceError("This file holds no video the browser can play.");
  if (video.error) throw unreadable();
  if (video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) {
    const opened = new AbortController();
    const { signal } = opened;
    await new Promise<void>((resolve, reject) => {
      video.addEventListener("loadeddata", () => resolve(), { signal });
      video.addEventListener("error", () => reject(unreadable()), { signal });
    }).finally(() => opened.abort());
  }
  await video.play();
}

/** Shows a stream; `more` is done when it is stopped. */
async function fromStream(
  video: HTMLVideoElement,
  stream: MediaStream,
  signal: AbortSignal,
  more?: () => void,
): Promise<Source> {
  const ended = new Promise<void>((resolve) => {
    for (const track of stream.getTracks()) track.addEventListener("ended", () => resolve());
  });
  const stop = () => {
    more?.();
    for (const track of stream.getTracks()) track.stop();
    // Another source may have taken the element over.
    if (video.srcObject === stream) video.srcObject = null;
  };
  if (signal.aborted) {
    stop();
    return { stop, ended };
  }
  video.srcObject = stream;
  try {
    await play(video);
  } catch (error) {
    stop();
    throw error;
  }
  return { stop, ended };
}

/** The camera. As with every source, an aborted `signal` says that the `<video>` belongs to another one by now. */
export async function openCamera(video: HTMLVideoElement, signal: AbortSignal): Promise<Source> {
  if (!navigator.mediaDevices) {
    throw new SourceError("The camera needs a secure page: open it over https or from localhost.");
  }
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480 }, audio: false });
    return await fromStream(video, stream, signal);
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    if (name === "NotAllowedError") {
      throw new SourceError(
        "The camera was refused. Allow it beside the page's address and choose Camera again, or take the sample clip.",
      );
    }
    if (name === "NotFoundError" || name === "OverconstrainedError")
      throw new SourceError("There is no camera here. Take the sample clip or a file.");
    if (name === "NotReadableError") throw new SourceError("Another program holds the camera. Close it and try again.");
    throw error instanceof DOMException ? new SourceError(`The camera cannot be opened: ${error.message}`) : error;
  }
}

/** A picture that is panned and zoomed on a canvas: a clip that needs no download and no decoder. */
export async function openSample(video: HTMLVideoElement, signal: AbortSignal): Promise<Source> {
  const picture = new Image();
  picture.src = samplePicture;
  try {
    await picture.decode();
  } catch {
    throw new SourceError("The sample picture is missing. Run npm install, then reload.");
  }
  return openPicture(video, picture, signal);
}

async function openPicture(video: HTMLVideoElement, picture: HTMLImageElement, signal: AbortSignal): Promise<Source> {
  const canvas = document.createElement("canvas");
  canvas.width = 640;
  canvas.height = 480;
  const context = canvas.getContext("2d");
  if (!context) throw new SourceError("This browser gives no 2D canvas to draw the clip on.");
  const begin = performance.now();
  let running = true;
  const draw = () => {
    if (!running) return;
    const t = (performance.now() - begin) / 1000;
    const cover = Math.max(canvas.width / picture.naturalWidth, canvas.height / picture.naturalHeight);
    const scale = cover * (1.25 + 0.15 * Math.sin(t / 3));
    const [w, h] = [picture.naturalWidth * scale, picture.naturalHeight * scale];
    const x = (canvas.width - w) * (0.5 + 0.4 * Math.sin(t / 2));
    const y = (canvas.height - h) * (0.25 + 0.15 * Math.cos(t / 2.6));
    context.drawImage(picture, x, y, w, h);
    requestAnimationFrame(draw);
  };
  draw();
  return fromStream(video, canvas.captureStream(30), signal, () => {
    running = false;
  });
}

/** A video or picture of the visitor's own. */
export async function openFile(video: HTMLVideoElement, file: File, signal: AbortSignal): Promise<Source> {
  const url = URL.createObjectURL(file);
  if (file.type.startsWith("image/")) {
    const picture = new Image();
    picture.src = url;
    try {
      await picture.decode();
    } catch {
      throw new SourceError(`${file.name} is no picture the browser can read.`);
    } finally {
      URL.revokeObjectURL(url);
    }
    return openPicture(video, picture, signal);
  }
  video.srcObject = null;
  video.src = url;
  video.loop = true;
  const stop = () => {
    URL.revokeObjectURL(url);
    // Another source may have taken the element over.
    if (video.src !== url) return;
    video.pause();
    video.removeAttribute("src");
    video.load();
  };
  try {
    await play(video);
  } catch (error) {
    stop();
    throw error instanceof SourceError ? error : new SourceError(`${file.name} cannot be played here.`);
  }
  return { stop, ended: NEVER };
}
