import "../diagram/arena.js";
import "../diagram/copies.js";
import "../diagram/watermarks.js";
import { detectionsOf, type Engine, FramewayError, type Progress, Runtime } from "../lib/index.js";
import { compileFaceDetector, MODEL_SIZE, RAW_OUTPUT_BYTES } from "./detector.js";
import { Numbers } from "./numbers.js";
import { drawDetections } from "./overlay.js";
import { openCamera, openFile, openSample, type Source, SourceError } from "./sources.js";
import { measureUsualWay } from "./usual-way.js";

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
}

const video = element<HTMLVideoElement>("video");
const overlay = element<HTMLCanvasElement>("overlay");
const placeholder = element("placeholder");
const notice = element("notice");
const found = element("found");
const copies = element<HTMLElementTagNameMap["frameway-copies"]>("copies");
const arena = element<HTMLElementTagNameMap["frameway-arena"]>("arena");
const watermarks = element<HTMLElementTagNameMap["frameway-watermarks"]>("watermarks");
const numbers = new Numbers(element("numbers"));

function complain(error: unknown): void {
  const text =
    error instanceof FramewayError ? error.toString() : error instanceof Error ? error.message : String(error);
  notice.textContent = text;
  notice.hidden = false;
}

function say(progress: Progress): void {
  const part = progress.total > 0 ? ` ${Math.round((100 * progress.done) / progress.total)} %` : "";
  placeholder.textContent = `Preparing the face detector: ${progress.phase}${part} …`;
}

function showAdapter(runtime: Runtime): void {
  const { vendor, architecture, isFallback } = runtime.adapter;
  const badge = element("adapter");
  badge.textContent = `GPU: ${[vendor, architecture].filter(Boolean).join(" ") || "unnamed"}`;
  if (isFallback) {
    badge.dataset["fallback"] = "";
    badge.textContent += " (software: expect a tenth of a real GPU's speed)";
  }
}

/** Runs every frame of the `<video>` until the source changes. */
async function watch(engine: Engine, isCurrent: () => boolean): Promise<void> {
  const pool = engine.requests(2);
  try {
    copies.comparison = { edges: measureUsualWay(video, MODEL_SIZE, RAW_OUTPUT_BYTES) };
    for await (const lease of pool.stream(video, { latest: true })) {
      if (!isCurrent()) {
        lease.release();
        break;
      }
      const output = lease.outputs["detections"];
      if (output) {
        const faces = detectionsOf({ shape: output.shape, data: output.read() as Float32Array });
        drawDetections(overlay, video.videoWidth, video.videoHeight, faces);
        const words = faces.length === 1 ? "1 face" : `${faces.length || "No"} faces`;
        if (found.textContent !== words) found.textContent = words;
        document.body.dataset["faces"] = String(faces.length);
      }
      const { times } = lease;
      const { preMs, networkMs, postMs } = times.gpu ?? {};
      const onGpu = (preMs ?? 0) + (networkMs ?? 0) + (postMs ?? 0);
      numbers.add({
        upload: times.uploadMs,
        pre: preMs ?? times.preMs,
        network: networkMs ?? times.waitMs,
        post: postMs,
        readback: networkMs === undefined ? undefined : Math.max(0, times.waitMs - onGpu),
      });
      lease.release();
    }
  } finally {
    await pool.close();
  }
}

async function main(): Promise<void> {
  let runtime: Runtime;
  try {
    runtime = await Runtime.create();
  } catch (error) {
    element("adapter").textContent = "No GPU";
    placeholder.textContent = "Nothing can be computed here.";
    complain(error);
    return;
  }
  showAdapter(runtime);
  copies.runtime = runtime;
  watermarks.runtime = runtime;
  runtime.lost.then(({ message }) => complain(new Error(`The GPU device was lost: ${message}. Reload the page.`)));
  const engine = await compileFaceDetector(runtime, say);
  arena.engine = engine;
  placeholder.textContent = "Choose a source above.";

  let source: Source | undefined;
  let turn = 0;
  const choose = async (name: string, open: () => Promise<Source>) => {
    const mine = ++turn;
    notice.hidden = true;
    source?.stop();
    source = undefined;
    overlay.getContext("2d")?.clearRect(0, 0, overlay.width, overlay.height);
    found.textContent = "";
    placeholder.hidden = false;
    placeholder.textContent = "Opening …";
    for (const button of document.querySelectorAll<HTMLElement>("[data-source]")) {
      button.setAttribute("aria-pressed", String(button.dataset["source"] === name));
    }
    try {
      const opened = await open();
      if (mine !== turn) {
        opened.stop();
        return;
      }
      source = opened;
      placeholder.hidden = true;
      document.body.dataset["source"] = name;
      await watch(engine, () => mine === turn);
    } catch (error) {
      if (mine !== turn) return;
      placeholder.hidden = false;
      placeholder.textContent = error instanceof SourceError ? "No picture." : "Stopped.";
      complain(error);
    }
  };
  element("sources").addEventListener("click", (event) => {
    const name = (event.target as HTMLElement).dataset["source"];
    if (name === "camera") void choose(name, () => openCamera(video));
    if (name === "sample") void choose(name, () => openSample(video));
  });
  element<HTMLInputElement>("file").addEventListener("change", (event) => {
    const file = (event.target as HTMLInputElement).files?.[0];
    if (file) void choose("file", () => openFile(video, file));
  });
  // A page that may already use the camera goes on with it; anybody else sees the clip first.
  const permission = await navigator.permissions?.query({ name: "camera" as PermissionName }).catch(() => undefined);
  if (permission?.state === "granted") void choose("camera", () => openCamera(video));
  else void choose("sample", () => openSample(video));
}

main().catch(complain);
