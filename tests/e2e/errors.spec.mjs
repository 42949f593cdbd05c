// What goes wrong is said on the page, in words.
import { expect, test } from "@playwright/test";
import { chromium } from "playwright-core";
import { chromiumFlags, chromiumPath } from "../../scripts/browser.mjs";
import { complaintsOf, openPage } from "./support/page.mjs";

const notice = (page) => page.locator("#notice");

/** The page in a browser of its own, with other flags. */
async function withFlags(change, baseURL, visit) {
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: change(await chromiumFlags()) });
  try {
    const page = await browser.newPage({ baseURL });
    await visit(page);
  } finally {
    await browser.close();
  }
}

test("a camera that is refused", async ({ baseURL }) => {
  const deny = (flags) => [
    ...flags.filter((flag) => flag !== "--use-fake-ui-for-media-stream"),
    "--deny-permission-prompts",
  ];
  await withFlags(deny, baseURL, async (page) => {
    const complaints = complaintsOf(page);
    await openPage(page);
    // Nobody is asked for the camera before they choose it.
    await expect(page.locator("body")).toHaveAttribute("data-source", "sample");
    await page.getByRole("button", { name: "Camera" }).click();
    await expect(notice(page)).toContainText("The camera was refused. Allow it");
    await expect(page.locator("#placeholder")).toContainText("No picture");
    // The page goes on.
    await page.getByRole("button", { name: "Sample clip" }).click();
    await expect(page.locator("body")).toHaveAttribute("data-faces", /\d/);
    await expect(notice(page)).toBeHidden();
    expect(complaints).toEqual([]);
  });
});

test("no camera at all", async ({ baseURL }) => {
  const without = (flags) => flags.filter((flag) => flag !== "--use-fake-device-for-media-stream");
  await withFlags(without, baseURL, async (page) => {
    await openPage(page);
    await expect(page.locator("body")).toHaveAttribute("data-source", "sample");
    await page.getByRole("button", { name: "Camera" }).click();
    await expect(notice(page)).toContainText("There is no camera here. Take the sample clip or a file.");
  });
});

test("no WebGPU", async ({ page }) => {
  const complaints = complaintsOf(page);
  await page.addInitScript(() => {
    delete Navigator.prototype.gpu;
  });
  await page.goto("./");
  await expect(notice(page)).toContainText("no-webgpu");
  await expect(notice(page)).toContainText(/Chrome|Edge|Safari|Firefox|https/);
  await expect(page.locator("#adapter")).toHaveText("No GPU");
  await expect(page.locator("#placeholder")).toContainText("Nothing can be computed here");
  await expect(page.locator("frameway-copies")).toContainText("Nothing can be computed here");
  await expect(page.getByRole("button", { name: "Camera" })).toBeDisabled();
  expect(complaints).toEqual([]);
});

test("a browser with WebGPU and no adapter", async ({ page }) => {
  await page.addInitScript(() => {
    GPU.prototype.requestAdapter = async () => null;
  });
  await page.goto("./");
  await expect(notice(page)).toContainText("no-webgpu");
  await expect(page.locator("#placeholder")).toContainText("Nothing can be computed here");
});

for (const [name, answer, words] of [
  ["cannot be reached", (route) => route.abort(), /bad-source.*face_detection_front/],
  ["is not found", (route) => route.fulfill({ status: 404, body: "" }), /bad-source.*404/],
  ["is no model", (route) => route.fulfill({ body: "<!doctype html><title>404</title>" }), /invalid-model/],
]) {
  test(`a model that ${name}`, async ({ page }) => {
    await page.route(
      (url) => url.pathname.endsWith(".onnx") && !url.searchParams.has("url") && !url.searchParams.has("import"),
      answer,
    );
    await page.goto("./");
    await expect(notice(page)).toContainText(words);
    await expect(page.locator("#placeholder")).toContainText("The face detector could not be loaded.");
    await expect(page.locator("frameway-arena")).toContainText("The face detector could not be loaded.");
  });
}

test("a file that is no picture", async ({ page }) => {
  await openPage(page);
  const files = [
    { name: "song.mp4", mimeType: "video/mp4", buffer: Buffer.from("no video") },
    { name: "drawing.png", mimeType: "image/png", buffer: Buffer.from("no picture") },
  ];
  for (const file of files) {
    await page.locator("#file").setInputFiles(file);
    await expect(notice(page)).toContainText(file.name === "song.mp4" ? "no video the browser can play" : file.name);
    await expect(page.locator("#placeholder")).toContainText("No picture.");
  }
});

test("a camera that is unplugged", async ({ browser, baseURL }) => {
  const page = await browser.newPage({ baseURL, permissions: ["camera"] });
  await openPage(page);
  await page.evaluate(() => {
    const [track] = document.querySelector("video").srcObject.getTracks();
    track.dispatchEvent(new Event("ended"));
  });
  await expect(notice(page)).toContainText("The camera is gone");
  await expect(page.locator("#placeholder")).toContainText("No picture.");
  await page.close();
});

test("a GPU that is lost", async ({ page }) => {
  await openPage(page);
  await page.evaluate(() => document.querySelector("frameway-copies").runtime.device.destroy());
  await expect(notice(page)).toContainText(/The GPU was lost.*Reload the page/s);
  await expect(page.locator("#placeholder")).toContainText("The GPU was lost.");
  await expect(page.locator("frameway-copies")).toContainText("The GPU was lost.");
});
