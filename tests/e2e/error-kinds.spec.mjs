// Every kind of the closed list, provoked as a page would by mistake: each says where it happened and what to do.
import { readFile } from "node:fs/promises";
import { expect, test } from "@playwright/test";
import { root } from "../../scripts/steps.mjs";
import { closePage, openPage } from "./support/service-page.mjs";

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

/** A mistake, what `where` and `message` must tell of it, and what the hint must speak of. Each runs in the page. */
const MISTAKES = {
  "unsupported-op": [
    {
      is: "operators that nobody serves, all told at once",
      make: () => runtime.compile(models.unserved),
      where: /model|Unknown/,
      message: /Unknown[\s\S]*Unserved/,
      hint: /frameway inspect/,
    },
    {
      is: "a precision that is not served",
      make: () => runtime.compile(models.increment, { precision: "float16" }),
      where: /precision/,
      message: /float16/,
      hint: /auto/,
    },
  ],
  "invalid-model": [
    {
      is: "bytes that are no model",
      make: () => runtime.compile(new TextEncoder().encode("<!doctype html><title>404</title>")),
      where: /model/,
      message: /not an ONNX model|HTML/,
      hint: /ONNX/,
    },
    {
      is: "a model that was cut off",
      make: () => runtime.compile(models.increment.slice(0, -20)),
      where: /model/,
      message: /byte \d+/,
      hint: /truncated|complete/,
    },
    {
      is: "an empty file",
      make: () => runtime.compile(new Uint8Array()),
      where: /model/,
      message: /empty/,
      hint: /complete/,
    },
    {
      is: "a TFLite file",
      make: () => runtime.compile(new TextEncoder().encode("0000TFL30000")),
      where: /model/,
      message: /TFLite/,
      hint: /ONNX/,
    },
  ],
  "shape-mismatch": [
    {
      is: "too few elements",
      make: async () => (await runtime.compile(models.increment)).run({ x: new Float32Array(3) }),
      where: /input "x"/,
      message: /expected 64.*got 3/,
      hint: /shapes/,
    },
    {
      is: "another shape",
      make: async () => {
        const engine = await runtime.compile(models.increment);
        const data = new Float32Array(64);
        return engine.run({ x: runtime.tensor({ shape: [8, 8], dtype: "float32", layout: "row-major", data }) });
      },
      where: /input "x"/,
      message: /\[64\].*\[8, 8\]/,
      hint: /shapes/,
    },
  ],
  "dtype-mismatch": [
    {
      is: "whole numbers for a float input",
      make: async () => (await runtime.compile(models.increment)).run({ x: new Int32Array(64) }),
      where: /input "x"/,
      message: /expected float32, got int32/,
      hint: /typed array/,
    },
  ],
  "device-mismatch": [
    {
      is: "a device that is none",
      make: () => frameway.Runtime.create({ device: {} }),
      where: /Runtime\.create/,
      message: /no GPUDevice/,
      hint: /requestDevice/,
    },
    {
      is: "reading what stays on the GPU",
      make: async () => {
        const engine = await runtime.compile(models.increment, { outputs: { y: "gpu" } });
        const request = await engine.requests(1).acquire();
        return (await request.run({ x: new Float32Array(64) })).outputs.y.read();
      },
      where: /output "y"/,
      message: /GPU/,
      hint: /cpu/,
    },
  ],
  "layout-mismatch": [
    {
      is: "a tensor without a layout",
      make: () => runtime.tensor({ shape: [4], dtype: "float32", data: new Float32Array(4) }),
      where: /tensor\(\)/,
      message: /no strides/,
      hint: /row-major/,
    },
    {
      is: "strides that strict copies forbid to change",
      make: async () => {
        const engine = await runtime.compile(models.picture, { copies: "strict" });
        const data = new Float32Array(3 * 16 * 16);
        const strides = [768, 1, 48, 3];
        return engine.run({ x: runtime.tensor({ shape: [1, 3, 16, 16], dtype: "float32", strides, data }) });
      },
      where: /input "x" \(edge /,
      message: /strict/,
      hint: /contiguous|report/,
    },
  ],
  "memory-limit": [
    {
      is: "an engine over its own limit",
      make: () => runtime.compile(models.big, { limits: { activations: 1000 } }),
      where: /activations/,
      message: /needs 16384 bytes.*allowed are 1000/,
      hint: /16384/,
    },
    {
      is: "weights over their limit",
      make: () => runtime.compile(models.work, { limits: { weights: "1KiB" } }),
      where: /weights/,
      message: /65536 bytes.*1024/,
      hint: /65536/,
    },
    {
      is: "a ledger over its bound",
      make: async () => {
        await (await runtime.compile(models.increment)).run({ x: new Float32Array(64) });
        runtime.ledger.assert({ toCpuBytesPerFrame: 16 });
      },
      where: /ledger/,
      message: /toCpuBytesPerFrame is \d+, allowed are 16/,
      hint: /edges/,
    },
  ],
  busy: [
    {
      is: "a request that still runs",
      make: async () => {
        const request = await (await runtime.compile(models.increment)).requests(1).acquire();
        const feeds = { x: new Float32Array(64) };
        const first = request.run(feeds);
        const second = request.run(feeds);
        await Promise.allSettled([first, second]);
        return second;
      },
      where: /request of engine "increment"/,
      message: /still running/,
      hint: /await|acquire/,
    },
    {
      is: "a fourth run under way",
      make: async () => {
        const request = await (await runtime.compile(models.increment)).requests(1).acquire();
        const runs = Array.from({ length: 4 }, () => request.submit({ x: new Float32Array(64) }));
        await Promise.allSettled(runs);
        return runs[3];
      },
      where: /request of engine "increment"/,
      message: /3 runs/,
      hint: /await|acquire/,
    },
  ],
  "stale-output": [
    {
      is: "an output read after its request ran again",
      make: async () => {
        const request = await (await runtime.compile(models.increment)).requests(1).acquire();
        const lease = await request.run({ x: new Float32Array(64) });
        await request.run({ x: new Float32Array(64) });
        return lease.outputs.y.read();
      },
      where: /output "y"/,
      message: /run again/,
      hint: /detach\(\)/,
    },
  ],
  canceled: [
    {
      is: "a wait that was given up",
      make: async () => {
        const pool = (await runtime.compile(models.increment)).requests(1);
        await pool.acquire();
        const controller = new AbortController();
        const waits = pool.acquire({ signal: controller.signal });
        setTimeout(() => controller.abort(), 1);
        return waits;
      },
      where: /acquire\(\)/,
      message: /canceled/,
      hint: /acquire/,
    },
    {
      is: "a signal that was aborted before",
      make: async () => (await runtime.compile(models.increment)).requests(1).acquire({ signal: AbortSignal.abort() }),
      where: /acquire\(\)/,
      message: /canceled/,
      hint: /signal/,
    },
  ],
  "device-lost": [
    {
      is: "a device that went away",
      make: async () => {
        const other = await frameway.Runtime.create();
        const engine = await other.compile(models.increment);
        other.device.destroy();
        await other.lost;
        return engine.run({ x: new Float32Array(64) });
      },
      where: /GPUDevice/,
      message: /destroyed/,
      hint: /new Runtime/,
    },
  ],
  "no-webgpu": [
    {
      is: "a browser without WebGPU",
      make: async () => {
        const { get } = Object.getOwnPropertyDescriptor(Navigator.prototype, "gpu");
        delete Navigator.prototype.gpu;
        try {
          return await frameway.Runtime.create();
        } finally {
          Object.defineProperty(Navigator.prototype, "gpu", { get, configurable: true, enumerable: true });
        }
      },
      where: /navigator\.gpu/,
      message: /no navigator\.gpu/,
      hint: /Chrome|https/,
    },
    {
      is: "a browser without an adapter",
      make: async () => {
        const { requestAdapter } = GPU.prototype;
        GPU.prototype.requestAdapter = async () => null;
        try {
          return await frameway.Runtime.create();
        } finally {
          GPU.prototype.requestAdapter = requestAdapter;
        }
      },
      where: /GPUAdapter/,
      message: /no GPU/,
      hint: /hardware acceleration/,
    },
  ],
  "bad-source": [
    {
      is: "an address without a model",
      make: async () => {
        const fetched = window.fetch;
        window.fetch = async () => new Response("", { status: 404, statusText: "Not Found" });
        try {
          return await runtime.compile("absent.onnx");
        } finally {
          window.fetch = fetched;
        }
      },
      where: /absent\.onnx/,
      message: /404/,
      hint: /address/,
    },
    {
      is: "a number for a model",
      make: () => runtime.compile(42),
      where: /compile\(\)/,
      message: /no model/,
      hint: /URL/,
    },
    {
      is: "an option that does not exist",
      make: () => runtime.compile(models.increment, { prceision: "float32" }),
      where: /compile options/,
      message: /prceision.*expected one of.*precision/,
      hint: /types/,
    },
    {
      is: "an input that the model has not",
      make: async () => (await runtime.compile(models.increment)).run({ images: new Float32Array(64) }),
      where: /increment/,
      message: /"images"/,
      hint: /its inputs are: x/,
    },
  ],
  // No plan file can be read yet: what is left is a file taken for one, and a foreign one that says it is.
  "plan-mismatch": [
    {
      is: "a model that is said to be a plan",
      make: () => runtime.compile(models.increment, { format: "plan" }),
      where: /model/,
      message: /no plan file/,
      hint: /ONNX/,
    },
    {
      is: "a plan file",
      make: () => runtime.compile(new TextEncoder().encode("FRAMEWAY of another time")),
      where: /model/,
      message: /plan file/,
      hint: /ONNX/,
    },
  ],
  closed: [
    {
      is: "an engine that was closed",
      make: async () => {
        const engine = await runtime.compile(models.increment);
        await engine.close();
        return engine.run({ x: new Float32Array(64) });
      },
      where: /engine "increment"|request of engine "increment"/,
      message: /closed/,
      hint: /new one/,
    },
    {
      is: "a runtime that was closed",
      make: async () => {
        const other = await frameway.Runtime.create();
        await other.close();
        return other.compile(models.increment);
      },
      where: /runtime/,
      message: /closed/,
      hint: /new one/,
    },
  ],
};

for (const [kind, mistakes] of Object.entries(MISTAKES)) {
  test(`${kind}: ${mistakes.map(({ is }) => is).join("; ")}`, async ({ page }) => {
    for (const { is, make, where, message, hint } of mistakes) {
      const found = await page.evaluate(`failure(${make})`);
      expect(found, is).toEqual({
        kind,
        where: expect.stringMatching(where),
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      });
    }
  });
}

test("the list is the whole list", async () => {
  const types = await readFile(new URL("www/lib/errors.ts", `file://${root}`), "utf8");
  const [, union] = /export type ErrorKind =([^;]*);/.exec(types);
  const kinds = [...union.matchAll(/"([a-z-]+)"/g)].map(([, kind]) => kind);
  expect(kinds).toHaveLength(15);
  expect(Object.keys(MISTAKES).sort()).toEqual(kinds.sort());
});
