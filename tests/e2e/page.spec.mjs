import { expect, test } from "@playwright/test";

test("the page opens without a word on the console", async ({ page }) => {
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto("./");
  await expect(page).toHaveTitle(/frameway/);
  await expect(page.locator("body")).not.toBeEmpty();
  expect(complaints).toEqual([]);
});

test("this browser has a WebGPU adapter", async ({ page }) => {
  await page.goto("./");
  const adapter = await page.evaluate(async () => {
    const found = await navigator.gpu?.requestAdapter();
    return found && { vendor: found.info.vendor, architecture: found.info.architecture };
  });
  expect(adapter).toEqual({ vendor: "google", architecture: "swiftshader" });
});
