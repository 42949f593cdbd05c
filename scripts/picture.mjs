// `node scripts/picture.mjs`: docs/page.png, the README's picture: the page as it is, looking at the tests' camera clip.

import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromiumFlags, chromiumPath } from "./browser.mjs";
import { cameraClip } from "./camera.mjs";
import { fail, root, step } from "./steps.mjs";
import { buildWasm } from "./wasm.mjs";

const FILE = join(root, "docs", "page.png");
/** Frames looked at before the picture: the half-second means and the diagram have settled by then. */
const FRAMES = 45;
/** Which of the clip's frames is shown, as a part of its length. */
const MOMENT = 0.15;

/** A clip of one frame of `clip`: where nothing moves, a box that comes late still fits. */
async function stillOf(clip, folder) {
  const bytes = await readFile(clip);
  const starts = [];
  for (let at = bytes.indexOf("ffd8ff", 0, "hex"); at >= 0; at = bytes.indexOf("ffd8ff", at + 2, "hex"))
    starts.push(at);
  const index = Math.floor(MOMENT * starts.length);
  const frame = bytes.subarray(starts[index], starts[index + 1] ?? bytes.length);
  const file = join(folder, "still.mjpeg");
  await writeFile(file, Buffer.concat([frame, frame]));
  return file;
}

async function takePicture(note) {
  const { createServer } = await import("vite");
  const { chromium } = await import("playwright-core");
  const server = await createServer({
    root,
    configFile: `${root}vite.config.ts`,
    logLevel: "error",
    server: { port: 0 },
  });
  await server.listen();
  const folder = await mkdtemp(join(tmpdir(), "frameway-"));
  const still = await stillOf(await cameraClip(), folder);
  const args = [...(await chromiumFlags()), `--use-file-for-fake-video-capture=${still}`];
  const browser = await chromium.launch({ executablePath: chromiumPath(), args });
  try {
    const context = await browser.newContext({
      viewport: { width: 1200, height: 860 },
      deviceScaleFactor: 0.77,
      permissions: ["camera"],
      colorScheme: "light",
    });
    const page = await context.newPage();
    await page.goto(server.resolvedUrls.local[0]);
    note("waiting for the page to settle");
    await page.waitForFunction(
      (frames) => document.querySelector("frameway-copies").runtime?.ledger.snapshot().frames >= frames,
      FRAMES,
      { timeout: 180_000, polling: 500 },
    );
    const faces = await page.evaluate(() => document.body.dataset.faces);
    if (faces !== "1") throw new Error(`the picture would show ${faces} faces: choose another moment of the clip`);
    await mkdir(join(root, "docs"), { recursive: true });
    await page.screenshot({ path: FILE, fullPage: false });
    return `docs/page.png, ${Math.round((await stat(FILE)).size / 1024)} KiB`;
  } finally {
    await browser.close();
    await server.close();
    await rm(folder, { recursive: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  buildWasm()
    .then(() => step("picture", takePicture))
    .catch(fail);
}
