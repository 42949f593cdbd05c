// The package as `npm run build` made it, taken as a user would: from a static server without a bundler, and under Node.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { serveFiles } from "../../scripts/files.mjs";

const root = new URL("../../", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

test("every export of package.json is there, with its types", () => {
  for (const [name, target] of Object.entries(exports)) {
    for (const file of typeof target === "string" ? [target] : Object.values(target)) {
      expect(existsSync(new URL(file, root)), `${name}: ${file}`).toBe(true);
    }
  }
});

test("Node imports it without touching a GPU", async () => {
  const module = await import(new URL("dist/index.js", root).href);
  expect(Object.keys(module).length).toBeGreaterThan(0);
});

test("a page imports it from a static server", async ({ page }) => {
  const files = await serveFiles();
  try {
    await page.route(`${files.address}/page.html`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>plain</title>" }),
    );
    await page.goto(`${files.address}/page.html`);
    const found = await page.evaluate(async () => {
      const module = await import("/dist/index.js");
      for (const name of ["copies", "arena", "watermarks"]) await import(`/dist/${name}.js`);
      const elements = ["frameway-copies", "frameway-arena", "frameway-watermarks"];
      return { names: Object.keys(module), missing: elements.filter((name) => !customElements.get(name)) };
    });
    expect(found.names.length).toBeGreaterThan(0);
    expect(found.missing).toEqual([]);
  } finally {
    files.close();
  }
});
