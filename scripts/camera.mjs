// The clip that Chromium's fake camera shows in the tests: shared/media/camera.mjpeg where it is, else one made from the sample picture.

import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromiumFlags, chromiumPath } from "./browser.mjs";
import { root } from "./steps.mjs";

const SHARED = join(root, "..", "shared", "media", "camera.mjpeg");
const MADE = join(root, "node_modules", ".cache", "frameway", "camera.mjpeg");
/** The picture of the page's sample clip. */
const PICTURE = join(root, "node_modules", "@vladmandic", "face-api", "demo", "sample3.jpg");
const FRAMES = 40;

/** Pans over the picture in a browser and writes its frames one after the other: a Motion JPEG file is nothing more. */
async function make(file) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: await chromiumFlags() });
  try {
    const page = await browser.newPage();
    const picture = `data:image/jpeg;base64,${(await readFile(PICTURE)).toString("base64")}`;
    const frames = await page.evaluate(
      async ({ picture, count }) => {
        const image = new Image();
        image.src = picture;
        await image.decode();
        const canvas = new OffscreenCanvas(640, 480);
        const context = canvas.getContext("2d");
        const scale = 1.25 * Math.max(640 / image.naturalWidth, 480 / image.naturalHeight);
        const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
        const frames = [];
        for (let i = 0; i < count; i++) {
          const angle = (2 * Math.PI * i) / count;
          const [x, y] = [
            (640 - width) * (0.5 + 0.4 * Math.sin(angle)),
            (480 - height) * (0.25 + 0.2 * Math.cos(angle)),
          ];
          context.drawImage(image, x, y, width, height);
          const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.92 });
          const bytes = new Uint8Array(await blob.arrayBuffer());
          frames.push(btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")));
        }
        return frames;
      },
      { picture, count: FRAMES },
    );
    await mkdir(join(file, ".."), { recursive: true });
    // Whoever looks meanwhile sees no file or a whole one.
    await writeFile(`${file}.part`, Buffer.concat(frames.map((frame) => Buffer.from(frame, "base64"))));
    await rename(`${file}.part`, file);
  } finally {
    await browser.close();
  }
}

/** The path of the clip; it is made on first need. */
export async function cameraClip() {
  const shared = process.env.FRAMEWAY_CAMERA ?? SHARED;
  if (existsSync(shared)) return shared;
  if (!existsSync(MADE)) await make(MADE);
  return MADE;
}
