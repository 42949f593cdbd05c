import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "@playwright/test";
import { chromiumFlags, chromiumPath } from "./scripts/browser.mjs";
import { root } from "./scripts/steps.mjs";

const PORT = 5_199;
const camera = join(root, "..", "shared", "media", "camera.mjpeg");

export default defineConfig({
  testDir: "tests/e2e",
  testMatch: "*.spec.mjs",
  outputDir: "test-results",
  // A software adapter keeps every core busy, and one test must not slow another.
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 60_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: "list",
  use: {
    baseURL: `http://localhost:${PORT}/`,
    trace: "off",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: chromiumPath(),
      args: [
        ...(await chromiumFlags()),
        ...(existsSync(camera) ? [`--use-file-for-fake-video-capture=${camera}`] : []),
      ],
    },
  },
  webServer: {
    command: `node node_modules/vite/bin/vite.js --port ${PORT} --strictPort`,
    url: `http://localhost:${PORT}/`,
    reuseExistingServer: false,
  },
});
