// Memory over thousands of frames: the ledger, the browser's GPU process seen from outside, and leaks put in on purpose.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { closePage, openPage } from "./support/service-page.mjs";

const CLASSES = ["weights", "arena", "staging", "textures", "uniforms", "build"];

const status = (pid, name) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** True where process `pid` descends from this one. */
function isOurs(pid) {
  for (let at = pid; at > 1; at = status(at, "PPid")) if (at === process.pid) return true;
  return false;
}

/** The GPU process of our own browser; undefined where there is no /proc to look at. */
function gpuProcess() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=gpu-process") && isOurs(pid);
        } catch {
          return false;
        }
      });
  } catch {
    return undefined;
  }
}

/** Collects the page's garbage until `done()` there is true. */
async function collectUntil(page, done) {
  const session = await page.context().newCDPSession(page);
  for (let i = 0; i < 40; i++) {
    await session.send("HeapProfiler.collectGarbage");
    await page.waitForTimeout(50);
    if (await page.evaluate(done)) break;
  }
  await session.detach();
}

test("3,000 frames: flat in the ledger, in the sampler and in the GPU process", async ({ page }) => {
  const complaints = await openPage(page);
  await page.evaluate(async () => {
    window.engine = await runtime.compile(models.big);
    window.pool = engine.requests(2);
    window.soak = async (frames) => {
      const x = new Float32Array(4096);
      const worker = async () => {
        while (frames-- > 0) {
          const request = await pool.acquire();
          x.fill(frames);
          const lease = await request.run({ x });
          lease.outputs.y.read();
          lease.release();
        }
      };
      await Promise.all([worker(), worker(), worker()]);
    };
    await soak(300);
    runtime.watermarks.start(100);
  });
  const before = await page.evaluate(() => ({ ledger: runtime.ledger.snapshot(), memory: runtime.memory() }));
  const pid = gpuProcess();
  const resident = [];
  for (let round = 0; round < 10; round++) {
    await page.evaluate(() => soak(300));
    if (pid) resident.push(status(pid, "VmRSS"));
  }
  const after = await page.evaluate(() => ({
    ledger: runtime.ledger.snapshot(),
    memory: runtime.memory(),
    lines: runtime.watermarks.toJSONLines(),
    leaks: runtime.leaks(),
    verdict: runtime.watermarks.verdict(),
  }));
  const samples = after.lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  console.log(
    `      ${samples.length} samples; wasm heap ${samples[0].wasmBytes} to ${samples.at(-1).wasmBytes}; GPU process ${resident.join(" ")} KiB`,
  );
  expect(after.ledger.frames - before.ledger.frames).toBe(3000);
  expect(after.ledger.buffersCreated).toBe(before.ledger.buffersCreated);
  expect(after.ledger.bindGroupsCreated).toBe(before.ledger.bindGroupsCreated);
  expect(after.memory.gpu).toEqual(before.memory.gpu);
  expect(after.memory.wasmBytes).toBe(before.memory.wasmBytes);
  expect(after.leaks).toEqual([]);
  expect(after.verdict.state).not.toBe("climbing");
  for (const sample of samples) {
    expect(CLASSES.reduce((sum, name) => sum + sample.gpu[name], 0)).toBe(sample.gpu.total);
    expect(sample.gpu.total).toBe(after.memory.gpu.total);
    expect([sample.engines, sample.requests]).toEqual([1, 2]);
  }
  if (pid) {
    const half = (part) => part.reduce((sum, value) => sum + value, 0) / part.length;
    const growth = half(resident.slice(5)) - half(resident.slice(0, 5));
    expect(growth, `GPU process, KiB: ${resident.join(" ")}`).toBeLessThan(8 * 1024);
  }
  await closePage(page, complaints);
});

test("leaks put in on purpose are named, each with the line that made it", async ({ page }) => {
  const complaints = await openPage(page);
  const warnings = [];
  page.on("console", (message) => {
    if (message.type() === "warning") warnings.push(message.text());
  });
  await page.evaluate(async () => {
    const feeds = { x: new Float32Array(64) };
    const engine = await runtime.compile(models.increment);
    window.kept = engine.requests(3);
    const { video } = await film(50);
    window.filmed = await compilePicture();
    async function forgetsEngine() {
      await (await runtime.compile(models.other)).run(feeds);
    }
    async function forgetsPool() {
      const pool = engine.requests(1);
      (await pool.acquire()).release();
    }
    async function forgetsRequest() {
      await kept.acquire();
    }
    async function forgetsLease() {
      const lease = await (await kept.acquire()).run(feeds);
      lease.outputs.y.read();
    }
    async function forgetsStream() {
      await filmed.requests(1).stream(video).next();
    }
    for (const forget of [forgetsEngine, forgetsPool, forgetsRequest, forgetsLease, forgetsStream]) await forget();
  });
  await collectUntil(page, () => new Set(runtime.leaks().map((leak) => leak.kind)).size >= 5 && kept.idle === 3);
  const found = await page.evaluate(() => ({
    leaks: runtime.leaks().map(({ kind, name, madeAt, lost, open }) => ({ kind, name, madeAt, lost, open })),
    idle: kept.idle,
    engines: runtime.memory().engines,
  }));
  const of = (kind, by) => found.leaks.find((leak) => leak.kind === kind && leak.madeAt.includes(by));
  expect(of("engine", "forgetsEngine"), JSON.stringify(found.leaks)).toMatchObject({ name: "other", lost: 1, open: 0 });
  expect(of("request pool", "forgetsPool")).toMatchObject({ name: "increment", lost: 1 });
  expect(of("request", "forgetsRequest")).toMatchObject({ lost: 1 });
  expect(of("request", "forgetsLease")).toMatchObject({ lost: 1 });
  expect(of("lease", "forgetsLease")).toMatchObject({ lost: 1 });
  expect(of("stream", "forgetsStream")).toMatchObject({ name: "picture", lost: 1 });
  // What was lost has come back by itself, only late.
  expect(found.idle).toBe(3);
  expect(found.engines).toBe(2);
  for (const kind of ["engine", "request pool", "request", "lease", "stream"]) {
    expect(warnings.filter((text) => new RegExp(`an? ${kind} of`).test(text)).length, kind).toBeGreaterThan(0);
  }
  expect(warnings.find((text) => text.includes("engine of"))).toMatch(/made at .*forgetsEngine.*close\(\)/);
  expect(new Set(warnings).size).toBe(warnings.length);
  await closePage(page, complaints);
});

test("what climbs is named with its suspect while it climbs, and churn is warned of", async ({ page }) => {
  const complaints = await openPage(page);
  const warnings = [];
  page.on("console", (message) => {
    if (message.type() === "warning") warnings.push(message.text());
  });
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.big);
    const feeds = { x: new Float32Array(4096) };
    window.hoard = [];
    async function hoardsPools() {
      const pool = engine.requests(1);
      hoard.push(pool);
      const request = await pool.acquire();
      await request.run(feeds);
      request.release();
    }
    runtime.watermarks.start(200);
    // Thirteen seconds, so that it is no start but a slope.
    for (let i = 0; i < 26; i++) {
      await hoardsPools();
      await sleep(500);
    }
    const verdict = runtime.watermarks.verdict();
    const [leak] = runtime.leaks();
    for (const pool of hoard) await pool.close();
    return { verdict, leak, after: runtime.leaks().filter((one) => one.open > 0) };
  });
  expect(found.verdict).toMatchObject({ state: "climbing", suspect: "requests" });
  expect(found.verdict.text).toMatch(/climbing .*min: requests made.*; 26 request pools open, made at hoardsPools/);
  expect(found.leak).toMatchObject({ kind: "request pool", open: 26, churn: true });
  expect(found.after).toEqual([]);
  expect(warnings.filter((text) => text.includes("made anew for nearly every run"))).toHaveLength(1);
  await closePage(page, complaints);
});
