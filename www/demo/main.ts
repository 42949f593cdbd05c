import "../diagram/arena.js";
import "../diagram/copies.js";
import "../diagram/watermarks.js";
import { type Detection, type Engine, type Lease, type Progress, Runtime } from "../lib/index.js";
import { compileFaceDetector, countFaces, facesOf, MODEL_SIZE, RAW_OUTPUT_BYTES } from "./detector.js";
import { Numbers } from "./numbers.js";
import { clearOverlay, drawDetections } from "./overlay.js";
import { element, words } from "./page.js";
import { makePanels, silencePanels } from "./panels.js";
import { Player } from "./player.js";
import { openCamera, openFile, openSample, type Source, SourceError } from "./sources.js";
import { measureUsualWay } from "./usual-way.js";

/** What the page's `<video>` is told after each frame, as the event `detections`: for whoever builds on the page. */
export interface DetectionsDetail {
  readonly faces: readonly Detection[];
  /** When the frame was presented, on the clock of `performance.now()`. */
  readonly presentedAt: number | undefined;
}

const video = element<HTMLVideoElement>("video");
const overlay = element<HTMLCanvasElement>("overlay");
const placeholder = element("placeholder");
const placeholderText = element("placeholder-text");
const progressBar = element<HTMLProgressElement>("progress");
const notice = element("notice");
const found = element("found");
const fileInput = element<HTMLInputElement>("file");
const copies = element<HTMLElementTagNameMap["frameway-copies"]>("copies");
const arena = element<HTMLElementTagNameMap["frameway-arena"]>("arena");
const watermarks = element<HTMLElementTagNameMap["frameway-watermarks"]>("watermarks");
const numbers = new Numbers(element("numbers"), element("bar"));

const PHASES: Record<Progress["phase"], string> = {
  fetch: "loading the model",
  import: "reading the model",
  optimize: "fusing layers",
  plan: "planning memory",
  lower: "packing weights",
  kernels: "compiling kernels",
  weights: "sending weights to the GPU",
  ready: "the first frame",
};

/** What stands where the picture would be; an empty text shows the picture. */
function instead(text: string): void {
  placeholder.hidden = text === "";
  placeholderText.textContent = text;
  progressBar.hidden = true;
}

function complain(error: unknown): void {
  notice.textContent = words(error);
  notice.hidden = false;
}

function say(progress: Progress): void {
  instead(`Preparing the face detector: ${PHASES[progress.phase] ?? progress.phase} …`);
  progressBar.hidden = false;
  if (progress.total > 0) progressBar.value = progress.done / progress.total;
  else progressBar.removeAttribute("value");
}

function showAdapter(runtime: Runtime): void {
  const { vendor, architecture, isFallback } = runtime.adapter;
  const name = [vendor, architecture].filter(Boolean).join(" ") || "unnamed";
  const badge = element("adapter");
  badge.textContent = isFallback ? `Software GPU, slow: ${name}` : `GPU: ${name}`;
  badge.toggleAttribute("data-fallback", isFallback);
  if (isFallback) badge.title = "The browser found no graphics card it may use, so the processor does the GPU's work.";
}

/** Nothing can be computed: every place says so. */
function giveUp(title: string, error: unknown): void {
  instead(title);
  complain(error);
  const text = `${title} The reason stands at the top of the page.`;
  for (const diagram of [copies, arena, watermarks]) diagram.notice = text;
  silencePanels(text);
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-source]")) button.disabled = true;
}

function show(lease: Lease): void {
  const faces = facesOf(lease);
  drawDetections(overlay, video.videoWidth, video.videoHeight, faces);
  const text = countFaces(faces.length);
  if (found.textContent !== text) found.textContent = text;
  document.body.dataset["faces"] = String(faces.length);
  const detail: DetectionsDetail = { faces, presentedAt: lease.frame?.presentedAt };
  video.dispatchEvent(new CustomEvent("detections", { detail }));
}

function count(lease: Lease): void {
  const { times } = lease;
  const { preMs, networkMs, postMs } = times.gpu ?? {};
  const onGpu = (preMs ?? 0) + (networkMs ?? 0) + (postMs ?? 0);
  numbers.add({
    age: lease.frame?.ageMs,
    upload: times.uploadMs + times.preMs,
    pre: preMs,
    // Without the GPU's clock, everything from hand-over to result counts as the network's.
    network: networkMs ?? times.waitMs,
    post: postMs,
    readback: networkMs === undefined ? undefined : Math.max(0, times.waitMs - onGpu),
  });
}

/** The page once there is a GPU and a detector: one source at a time plays in the `<video>`, and its frames are looked at. */
async function play(runtime: Runtime, engine: Engine): Promise<void> {
  const player = new Player(runtime, engine, {
    frame: (lease) => {
      show(lease);
      count(lease);
    },
    engine: (made) => {
      arena.engine = made;
    },
  });
  const panels = makePanels(runtime, player, video);
  let current: AbortController | undefined;

  const choose = async (name: string, open: (signal: AbortSignal) => Promise<Source>) => {
    current?.abort();
    const turn = new AbortController();
    const { signal } = turn;
    current = turn;
    notice.hidden = true;
    clearOverlay(overlay);
    numbers.clear();
    found.textContent = "\u00a0";
    delete document.body.dataset["faces"];
    delete document.body.dataset["source"];
    instead("Opening …");
    for (const button of document.querySelectorAll<HTMLElement>("[data-source]")) {
      button.setAttribute("aria-pressed", String(button.dataset["source"] === name));
    }
    try {
      const source = await open(signal);
      signal.addEventListener("abort", () => source.stop());
      if (signal.aborted) return source.stop();
      source.ended.then(() => {
        if (signal.aborted) return;
        turn.abort();
        instead("No picture.");
        clearOverlay(overlay);
        complain(new SourceError("The camera is gone: it was unplugged or refused. Choose a source again."));
      });
      copies.camera = name === "camera";
      copies.comparison = { edges: measureUsualWay(video, MODEL_SIZE, RAW_OUTPUT_BYTES) };
      instead("");
      document.body.dataset["source"] = name;
      await player.watch(video, signal);
    } catch (error) {
      if (signal.aborted) return;
      turn.abort();
      instead(error instanceof SourceError ? "No picture." : "Stopped.");
      clearOverlay(overlay);
      if (!panels.strict.refused(error)) complain(error);
    }
  };

  const sources: Record<string, () => void> = {
    camera: () => void choose("camera", (signal) => openCamera(video, signal)),
    sample: () => void choose("sample", (signal) => openSample(video, signal)),
    file: () => {
      // The same file may be chosen twice.
      fileInput.value = "";
      fileInput.click();
    },
  };
  element("sources").addEventListener("click", ({ target }) => {
    if (target instanceof HTMLElement) sources[target.dataset["source"] ?? ""]?.();
  });
  fileInput.addEventListener("change", () => {
    const file = fileInput.files?.[0];
    if (file) void choose("file", (signal) => openFile(video, file, signal));
  });
  runtime.lost.then(({ reason, message }) => {
    if (reason === "closed") return;
    current?.abort();
    clearOverlay(overlay);
    panels.strict.silence("");
    giveUp(
      "The GPU was lost.",
      new Error(
        `The GPU was lost: ${message || reason}. Reload the page; if it happens again, close other pages that use it.`,
      ),
    );
  });
  sources[(await mayUseCamera()) ? "camera" : "sample"]?.();
}

/** A page that may already use a camera goes on with it; anybody else sees the clip first, and is asked for nothing. */
async function mayUseCamera(): Promise<boolean> {
  const permission = await navigator.permissions?.query({ name: "camera" as PermissionName }).catch(() => undefined);
  if (permission?.state !== "granted") return false;
  const devices = await navigator.mediaDevices?.enumerateDevices().catch(() => []);
  return devices?.some(({ kind }) => kind === "videoinput") ?? false;
}

async function main(): Promise<void> {
  let runtime: Runtime;
  try {
    runtime = await Runtime.create();
  } catch (error) {
    element("adapter").textContent = "No GPU";
    giveUp("Nothing can be computed here.", error);
    return;
  }
  showAdapter(runtime);
  copies.runtime = runtime;
  watermarks.runtime = runtime;
  let engine: Engine;
  try {
    engine = await compileFaceDetector(runtime, { onProgress: say });
  } catch (error) {
    giveUp("The face detector could not be loaded.", error);
    return;
  }
  await play(runtime, engine);
}

main().catch(complain);
