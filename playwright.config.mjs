import { defineConfig } from "@playwright/test";
import { chromiumFlags, chromiumPath } from "./scripts/browser.mjs";
import { cameraClip } from "./scripts/camera.mjs";

const PORT = Number(process.env.FRAMEWAY_PORT ?? 5_199);

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
      args: [...(await chromiumFlags()), `--use-file-for-fake-video-capture=${await cameraClip()}`],
    },
  },
  webServer: {
    command: `node node_modules/vite/bin/vite.js --port ${PORT} --strictPort`,
    url: `http://localhost:${PORT}/`,
    reuseExistingServer: false,
  },
});
