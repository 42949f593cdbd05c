// The page with the fake camera playing: what it finds, what it counts, and that it stays that way.
import { expect, test } from "@playwright/test";
import { complaintsOf, MODEL, openPage, waitForFrames } from "./support/page.mjs";

test.use({ permissions: ["camera"] });

test("this browser has a WebGPU adapter", async ({ page }) => {
  await page.goto("./");
  const adapter = await page.evaluate(async () => {
    const found = await navigator.gpu?.requestAdapter();
    return found && { vendor: found.info.vendor, architecture: found.info.architecture };
  });
  expect(adapter).toEqual({ vendor: "google", architecture: "swiftshader" });
});

test("the camera's face is found where it is", async ({ page }) => {
  const complaints = complaintsOf(page);
  // Keeps the very frames that the network reads. One request is under way at a time, so results come in the order of the frames.
  await page.addInitScript(() => {
    window.framesRead = [];
    const take = GPUDevice.prototype.importExternalTexture;
    GPUDevice.prototype.importExternalTexture = function (descriptor) {
      if (window.keepFrames) window.framesRead.push(createImageBitmap(descriptor.source));
      return take.call(this, descriptor);
    };
  });
  await openPage(page, 3);
  await expect(page.locator("body")).toHaveAttribute("data-source", "camera");
  const results = await page.evaluate(async (model) => {
    const { Runtime } = await import("/www/lib/index.ts");
    const { decodeFaces, overlap, preprocessed, toFrame } = await import("/tests/e2e/support/reference.mjs");
    const video = document.querySelector("video");
    window.keepFrames = true;
    const seen = [];
    await new Promise((resolve) => {
      video.addEventListener("detections", async ({ detail }) => {
        const frame = window.framesRead.shift();
        if (!frame || seen.length >= 8) return;
        seen.push({ faces: detail.faces, frame });
        if (seen.length === 8) resolve();
      });
    });
    window.keepFrames = false;
    // The same frames by another way: pixels read back, scaled here, the raw model on another device, decoded here.
    const runtime = await Runtime.create();
    const engine = await runtime.compile(model);
    const results = [];
    for (const { faces, frame } of seen) {
      const bitmap = await frame;
      const { width, height } = bitmap;
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      const picture = { width, height, data: context.getImageData(0, 0, width, height).data };
      const scaling = { width: 128, height: 128, fit: "cover", scale: [2, 2, 2], bias: [-1, -1, -1] };
      const raw = await engine.run({ "input:0": preprocessed(picture, scaling) });
      const scores = [...raw["Identity:0"].data, ...raw["Identity_1:0"].data];
      const boxes = [...raw["Identity_2:0"].data, ...raw["Identity_3:0"].data];
      const wanted = toFrame(decodeFaces(scores, boxes, { nms: "blend" }), picture, "cover");
      results.push({
        wanted: wanted.length,
        found: faces.length,
        // Faces that score nearly the same may change places in the list.
        overlaps: wanted
          .filter(({ score }) => score > 0.8)
          .map((one) => Math.max(0, ...faces.map((f) => overlap(one, f)))),
        inside: faces.every((f) => f.x >= 0 && f.y >= 0 && f.x + f.width <= width && f.y + f.height <= height),
        scores: [wanted[0]?.score, faces[0]?.score],
      });
    }
    await runtime.close();
    return results;
  }, MODEL);
  expect(results).toHaveLength(8);
  const withFace = results.filter(({ overlaps }) => overlaps.length > 0);
  expect(withFace.length, "the clip shows a face most of the time").toBeGreaterThanOrEqual(5);
  for (const result of withFace) {
    expect(result.found, JSON.stringify(result)).toBeGreaterThan(0);
    for (const overlap of result.overlaps) expect(overlap, JSON.stringify(result)).toBeGreaterThan(0.5);
    expect(result.inside).toBe(true);
  }
  expect(complaints).toEqual([]);
});

test("over a hundred frames nothing is made, little comes back, and the picture adds up", async ({ page }) => {
  test.setTimeout(420_000);
  const complaints = complaintsOf(page);
  await openPage(page, 6);
  const account = () =>
    page.evaluate(() => {
      const { runtime } = document.querySelector("frameway-copies");
      const { frames, edges, ...counters } = runtime.ledger.snapshot();
      const { gpu } = runtime.memory();
      return { frames, counters, gpu };
    });
  const warm = await account();
  await waitForFrames(page, warm.frames + 100, 360_000);
  const after = await account();
  const frames = after.frames - warm.frames;
  expect(frames).toBeGreaterThanOrEqual(100);
  expect(after.counters.buffersCreated).toBe(warm.counters.buffersCreated);
  expect(after.counters.texturesCreated).toBe(warm.counters.texturesCreated);
  // The one that holds the browser's own video frame; a frame may be under way at either end.
  const groups = after.counters.bindGroupsCreated - warm.counters.bindGroupsCreated;
  expect(groups).toBeLessThanOrEqual(frames + 1);
  expect((after.counters.toCpuBytes - warm.counters.toCpuBytes) / frames).toBeLessThanOrEqual(4096);
  expect(after.counters.toGpuBytes).toBe(warm.counters.toGpuBytes);
  expect(after.gpu.total).toBe(warm.gpu.total);

  // What is drawn is what was counted, to the byte.
  const sums = await page.evaluate(() => {
    const element = document.querySelector("frameway-copies");
    element.refresh();
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const drawn = [...element.shadowRoot.querySelectorAll("[data-edge]")];
    const crossing = drawn.filter((edge) => edge.dataset.form === "crossing");
    element.runtime.ledger.assert({ toCpuBytesPerFrame: 4096, implicit: 0 });
    return {
      drawn: sum(drawn.map((edge) => Number(edge.dataset.bytes))),
      edges: drawn.length,
      ledger: sum(element.snapshot.edges.map((edge) => edge.bytes)),
      kinds: element.snapshot.edges.length,
      crossed: sum(crossing.map((edge) => Number(edge.dataset.bytes))),
      counted: element.snapshot.toGpuBytes + element.snapshot.toCpuBytes,
      errors: element.runtime.errors(),
    };
  });
  expect(sums.edges).toBe(sums.kinds);
  expect(sums.drawn).toBe(sums.ledger);
  expect(sums.crossed).toBe(sums.counted);
  expect(sums.counted).toBeGreaterThan(0);
  expect(sums.errors).toEqual([]);

  // The same on the copy path: there even that bind group is kept.
  await page.evaluate(() => {
    document.querySelector("frameway-arena").engine.externalTextures = false;
  });
  await waitForFrames(page, after.frames + 6);
  const copying = await account();
  await waitForFrames(page, copying.frames + 25, 120_000);
  const copied = await account();
  for (const counter of ["buffersCreated", "bindGroupsCreated", "texturesCreated", "toGpuBytes"]) {
    const allowed = counter === "toGpuBytes" ? (copied.frames - copying.frames + 1) * 640 * 480 * 4 : 0;
    expect(copied.counters[counter] - copying.counters[counter], counter).toBeLessThanOrEqual(allowed);
  }
  expect(copied.gpu.total).toBe(copying.gpu.total);
  await expect(page.locator("frameway-copies [data-edge^='video>texture:copy']").first()).toBeAttached();
  expect(complaints).toEqual([]);
});

test("every part of a frame's time is shown, and nothing moves as the numbers change", async ({ page }) => {
  await page.addInitScript(() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const sources = entry.sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
        window.shifts.push({ value: entry.value, sources });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await openPage(page, 4);
  for (const name of ["fps", "age", "upload", "pre", "network", "post", "readback"]) {
    await expect(page.locator(`[data-number=${name}]`)).toHaveText(/^[\d.]+( ms)?$/);
  }
  await page.waitForTimeout(1500);
  const height = () => page.evaluate(() => document.querySelector(".stage > :last-child").clientHeight);
  const before = await height();
  await page.evaluate(() => {
    window.shifts.length = 0;
  });
  await page.waitForTimeout(4000);
  // The diagrams, in shadow trees of their own, lay out anew when a kind of movement comes or goes; they name no sources.
  const shifts = await page.evaluate(() => window.shifts.filter(({ sources }) => sources.some(Boolean)));
  expect(shifts).toEqual([]);
  expect(await height()).toBe(before);
});

for (const [name, width] of [
  ["a laptop", 1280],
  ["a phone", 390],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`the page fits ${name}, ${colorScheme}`, async ({ page }) => {
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme });
      await openPage(page, 2);
      await expect(page.locator("frameway-arena svg[role=img]")).toBeVisible();
      await expect(page.locator("frameway-copies svg[role=img]")).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      // Nothing that a person reads is cut off.
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("main dt, main dd, main .caption, .adapter, .found, button")]
          .filter((node) => node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== "inline")
          .map((node) => node.textContent),
      );
      expect(cut).toEqual([]);
    });
  }
}
