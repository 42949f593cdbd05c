// The README's example, as it stands there, on a plain static server.
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { serveFiles } from "../../scripts/files.mjs";
import { complaintsOf, MODEL, root } from "./support/page.mjs";

test.use({ permissions: ["camera"] });

test("the ten lines of the README find a face in the camera", async ({ page }) => {
  const complaints = complaintsOf(page);
  const readme = readFileSync(new URL("README.md", root), "utf8");
  const [, example] = /## Ten lines[\s\S]*?```js\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(example).toContain("Runtime.create()");
  const files = await serveFiles();
  const html = `<!doctype html>
    <link rel="icon" href="data:," />
    <script type="importmap">{ "imports": { "frameway": "/dist/index.js" } }</script>
    <video muted></video>
    <script type="module">
      const video = document.querySelector("video");
      video.srcObject = await navigator.mediaDevices.getUserMedia({ video: true });
      await video.play();
      window.drawn = [];
      const draw = (list) => window.drawn.push([...list]);
      ${example}
    </script>`;
  try {
    await page.route(`${files.address}/page.html`, (route) => route.fulfill({ contentType: "text/html", body: html }));
    await page.route("**/face.onnx", (route) => route.fulfill({ body: readFileSync(new URL(MODEL.slice(1), root)) }));
    await page.goto(`${files.address}/page.html`);
    await expect.poll(() => page.evaluate(() => window.drawn?.length ?? 0)).toBeGreaterThan(8);
    const lists = await page.evaluate(() => window.drawn);
    // How many, then a row for each box: x, y, width, height, score, class.
    expect(lists.some(([count]) => count >= 1)).toBe(true);
    for (const [count] of lists) expect(Number.isInteger(count)).toBe(true);
    expect(complaints).toEqual([]);
  } finally {
    files.close();
  }
});
