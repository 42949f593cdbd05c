// Chromium with WebGPU for the tests: where it is, how it is installed, and the flags that give it a software adapter.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ask, root, run } from "./steps.mjs";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const CHROMEDRIVER = ["/usr/bin/chromedriver", "/usr/lib/chromium-browser/chromedriver"];

/** Chromium's path: `CHROMIUM` in the environment, or the usual places. */
export function chromiumPath() {
  return [process.env.CHROMIUM, ...CHROMIUM].find((path) => path && existsSync(path));
}

/** The driver's path: `CHROMEDRIVER` in the environment, or the usual places. */
export function chromedriverPath() {
  return [process.env.CHROMEDRIVER, ...CHROMEDRIVER].find((path) => path && existsSync(path));
}

/** The flags for WebGPU on SwiftShader and a fake camera: webdriver.json's, so that every harness runs the same browser. */
export async function chromiumFlags() {
  const webdriver = JSON.parse(await readFile(join(root, "webdriver.json"), "utf8"));
  return webdriver["goog:chromeOptions"].args;
}

/** Chromium's own word on its version; its start script may print other lines before. */
async function chromiumVersion() {
  const words = await run(chromiumPath(), ["--version"]);
  return /Chrom.* [\d.]+/.exec(words)?.[0] ?? words.trim();
}

/** Chromium and its driver, through apt where that can be done, otherwise an error that says what to install. */
export async function ensureBrowser(note) {
  if (chromiumPath() && chromedriverPath()) return chromiumVersion();
  const isRoot = process.getuid?.() === 0;
  const sudo = isRoot ? [] : ["sudo", "-n"];
  const canInstall = existsSync("/usr/bin/apt-get") && (isRoot || (await ask("sudo", "-n", "true")) !== undefined);
  if (!canInstall) {
    throw new Error(
      "The browser tests need Chromium and its driver: install the packages `chromium` and `chromium-driver` " +
        "(Debian: apt-get install chromium chromium-driver), or set CHROMIUM and CHROMEDRIVER to their paths.",
    );
  }
  const apt = (...args) => {
    const [command, ...rest] = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", ...args];
    return run(command, rest);
  };
  note("apt-get update");
  await apt("update");
  note("apt-get install chromium chromium-driver");
  await apt("install", "--no-install-recommends", "chromium", "chromium-driver", "fonts-liberation");
  return `installed ${await chromiumVersion()}`;
}

/** What makes native Vulkan run on the SwiftShader that comes with Chromium; nothing where it is not there or another driver is chosen. */
export function nativeGpuEnv() {
  if (process.env.VK_ICD_FILENAMES || process.env.VK_DRIVER_FILES) return {};
  const icd = "/usr/lib/chromium/vk_swiftshader_icd.json";
  return existsSync(icd) ? { LD_LIBRARY_PATH: dirname(icd), VK_ICD_FILENAMES: icd } : {};
}
