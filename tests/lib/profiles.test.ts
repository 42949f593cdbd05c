import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FramewayError } from "../../www/lib/errors.js";
import { preprocess } from "../../www/lib/preprocess.js";
import { isDynamic, Profiles, type Shapes, type StatedInput } from "../../www/lib/profiles.js";
import type { LoadedHandle } from "../../www/lib/wasm/frameway.js";

const X: StatedInput = { name: "x", dtype: "float32", dims: ["N", 3, "H", "W"] };
const ROW: StatedInput = { name: "x", dtype: "float32", dims: [null, 80] };

/** Profiles that note what they compile and close. */
function noted(inputs: StatedInput[], steps = {}) {
  const compiled: Shapes[] = [];
  const closed: Shapes[] = [];
  const profiles = new Profiles(inputs, steps, async (shapes) => {
    compiled.push(shapes);
    return { close: async () => void closed.push(shapes) } as unknown as LoadedHandle;
  });
  return { profiles, compiled, closed };
}

function image(height: number, width: number) {
  return { data: new Float32Array(3 * height * width), shape: [1, 3, height, width], dtype: "float32" as const };
}

async function refusal(run: Promise<unknown>): Promise<FramewayError> {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof FramewayError);
  return error;
}

describe("profiles", () => {
  it("tell which inputs are dynamic", () => {
    assert(isDynamic(X));
    assert(isDynamic({ name: "x", dtype: "float32" }));
    assert(!isDynamic({ name: "x", dtype: "float32", dims: [1, 3] }));
  });

  it("compile once for each size, whatever the order", async () => {
    const { profiles, compiled } = noted([X]);
    const first = await profiles.for({ x: image(32, 64) });
    assert.equal(await profiles.for({ x: image(32, 64) }), first);
    await profiles.for({ x: image(64, 64) });
    assert.equal(await profiles.for({ x: image(32, 64) }), first);
    assert.deepEqual(compiled, [{ x: [1, 3, 32, 64] }, { x: [1, 3, 64, 64] }]);
  });

  it("compile once for two runs at the same time", async () => {
    const { profiles, compiled } = noted([X]);
    await Promise.all([profiles.for({ x: image(32, 32) }), profiles.for({ x: image(32, 32) })]);
    assert.equal(compiled.length, 1);
  });

  it("find the one open dimension of an array", async () => {
    const { profiles, compiled } = noted([ROW]);
    await profiles.for({ x: new Float32Array(160) });
    assert.deepEqual(compiled, [{ x: [2, 80] }]);
    assert.match((await refusal(profiles.for({ x: new Float32Array(81) }))).message, /does not say its shape/);
  });

  it("take a frame's size from resize()", async () => {
    const { profiles, compiled } = noted([X], { x: preprocess.image().resize({ width: 96, height: 64 }) });
    await profiles.for({ x: {} as ImageBitmap });
    assert.deepEqual(compiled, [{ x: [1, 3, 64, 96] }]);
  });

  it("refuse what does not say its shape, and say what to do", async () => {
    const { profiles } = noted([X]);
    const error = await refusal(profiles.for({ x: new Float32Array(3 * 32 * 32) }));
    assert.equal(error.kind, "shape-mismatch");
    assert.match(error.message, /\[N, 3, H, W\]/);
    assert.match(error.hint ?? "", /shapes: \{ "x"/);
    assert.equal((await refusal(profiles.for({}))).kind, "shape-mismatch");
  });

  it("forget a profile that could not be made, and the oldest when there are many", async () => {
    let fail = true;
    const flaky = new Profiles([X], {}, async () => {
      if (fail) throw new FramewayError("memory-limit", "too big");
      return { close: async () => {} } as unknown as LoadedHandle;
    });
    assert.equal((await refusal(flaky.for({ x: image(8, 8) }))).kind, "memory-limit");
    fail = false;
    await flaky.for({ x: image(8, 8) });

    const { profiles, closed } = noted([X]);
    for (const side of [8, 16, 24, 32, 40]) await profiles.for({ x: image(side, side) });
    assert.equal(profiles.size, 4);
    assert.deepEqual(closed, [{ x: [1, 3, 8, 8] }]);
  });

  it("close all, and are closed then", async () => {
    const { profiles, closed } = noted([X]);
    await profiles.for({ x: image(8, 8) });
    await profiles.close();
    assert.equal(closed.length, 1);
    assert.equal((await refusal(profiles.for({ x: image(8, 8) }))).kind, "closed");
  });
});
