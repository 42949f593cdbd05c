// Changing what is looked at: quickly, from the keyboard, with one's own files, with the page hidden meanwhile.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { complaintsOf, openPage, root } from "./support/page.mjs";

test.use({ permissions: ["camera"] });

const body = (page) => page.locator("body");

test("sources take turns, however quickly they are chosen", async ({ page }) => {
  const complaints = complaintsOf(page);
  await openPage(page, 3);
  await expect(body(page)).toHaveAttribute("data-source", "camera");
  const made = () =>
    page.evaluate(() => {
      const { runtime } = document.querySelector("frameway-copies");
      return [runtime.ledger.snapshot().buffersCreated, runtime.memory().gpu.total, runtime.memory().requests];
    });
  const before = await made();
  const camera = page.getByRole("button", { name: "Camera" });
  const sample = page.getByRole("button", { name: "Sample clip" });
  await sample.dblclick();
  await camera.click();
  await sample.click();
  await camera.dblclick();
  await sample.click();
  await expect(body(page)).toHaveAttribute("data-source", "sample");
  await expect(body(page)).toHaveAttribute("data-faces", /[1-9]/);
  await expect(sample).toHaveAttribute("aria-pressed", "true");
  await expect(camera).toHaveAttribute("aria-pressed", "false");
  // Every camera that was opened meanwhile has been let go, and what plays is the clip.
  const playing = await page.evaluate(() => {
    const [track] = document.querySelector("video").srcObject.getTracks();
    return { canvas: track instanceof CanvasCaptureMediaStreamTrack, live: track.readyState };
  });
  expect(playing).toEqual({ canvas: true, live: "live" });
  await expect(page.locator("frameway-copies")).not.toHaveAttribute("camera");

  await camera.focus();
  await page.keyboard.press("Enter");
  await expect(body(page)).toHaveAttribute("data-source", "camera");
  await expect(body(page)).toHaveAttribute("data-faces", /\d/);
  await expect(page.locator("frameway-copies")).toHaveAttribute("camera", "");
  expect(await made()).toEqual(before);
  await expect(page.locator("#notice")).toBeHidden();
  expect(complaints).toEqual([]);
});

test("an own picture", async ({ page }) => {
  const complaints = complaintsOf(page);
  await openPage(page);
  const picture = new URL("node_modules/@vladmandic/face-api/demo/sample3.jpg", root);
  await page.locator("#file").setInputFiles({ name: "me.jpg", mimeType: "image/jpeg", buffer: readFileSync(picture) });
  await expect(body(page)).toHaveAttribute("data-source", "file");
  await expect(body(page)).toHaveAttribute("data-faces", /[1-9]/);
  expect(complaints).toEqual([]);
});

test("an own video", async ({ page }) => {
  const complaints = complaintsOf(page);
  await openPage(page);
  // Two seconds of the page's own camera, recorded by the browser.
  const recorded = await page.evaluate(async () => {
    const recorder = new MediaRecorder(document.querySelector("video").srcObject, { mimeType: "video/webm" });
    const parts = [];
    recorder.ondataavailable = ({ data }) => parts.push(data);
    const stopped = new Promise((resolve) => {
      recorder.onstop = resolve;
    });
    recorder.start();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    recorder.stop();
    await stopped;
    const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
    return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  });
  const buffer = Buffer.from(recorded, "base64");
  await page.locator("#file").setInputFiles({ name: "me.webm", mimeType: "video/webm", buffer });
  await expect(body(page)).toHaveAttribute("data-source", "file");
  await expect(body(page)).toHaveAttribute("data-faces", /\d/);
  expect(await page.evaluate(() => document.querySelector("video").src)).toContain("blob:");
  await expect(page.locator("#notice")).toBeHidden();
  expect(complaints).toEqual([]);
});

test("the file chooser opens from the keyboard, and the same file can be chosen again", async ({ page }) => {
  await openPage(page);
  const picture = new URL("node_modules/@vladmandic/face-api/demo/sample3.jpg", root);
  const file = { name: "me.jpg", mimeType: "image/jpeg", buffer: readFileSync(picture) };
  page.on("filechooser", (chooser) => chooser.setFiles(file));
  await page.waitForTimeout(500);
  for (let i = 0; i < 2; i++) {
    await page.getByRole("button", { name: "Own file" }).focus();
    await page.keyboard.press("Enter");
    await expect(body(page)).toHaveAttribute("data-source", "file");
    await expect(body(page)).toHaveAttribute("data-faces", /\d/);
    await page.getByRole("button", { name: "Sample clip" }).click();
    await expect(body(page)).toHaveAttribute("data-source", "sample");
  }
});

test("a page that was hidden goes on", async ({ page, context }) => {
  await openPage(page, 2);
  const other = await context.newPage();
  await other.goto("about:blank");
  await other.bringToFront();
  await other.waitForTimeout(1500);
  await page.bringToFront();
  await other.close();
  const frames = () => page.evaluate(() => document.querySelector("frameway-copies").runtime.ledger.snapshot().frames);
  const before = await frames();
  await expect.poll(frames).toBeGreaterThan(before + 2);
  await expect(page.locator("#notice")).toBeHidden();
});

test("boxes keep to the picture when the window changes", async ({ page }) => {
  await openPage(page, 2);
  for (const width of [1280, 700, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const [video, overlay] = await Promise.all(["#video", "#overlay"].map((id) => page.locator(id).boundingBox()));
    expect(overlay).toEqual(video);
    // The diagrams are drawn again as soon as they see their new width.
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth), { timeout: 10_000 })
      .toBeLessThanOrEqual(width);
  }
});
