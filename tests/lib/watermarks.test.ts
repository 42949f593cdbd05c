import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Handles, originOf } from "../../www/lib/leaks.js";
import { GPU_CLASSES } from "../../www/lib/slope.js";
import type { MemoryReport } from "../../www/lib/types.js";
import { Watermarks } from "../../www/lib/watermarks.js";

function memory(arena = 2e6, requests = 2): MemoryReport {
  const gpu = { weights: 4e6, arena, staging: 0, textures: 0, uniforms: 256, build: 0 };
  const total = Object.values(gpu).reduce((sum, bytes) => sum + bytes, 0);
  return {
    gpu: { ...gpu, total, peak: total },
    wasmBytes: 8e6,
    requests,
    engines: 1,
    queue: { inFlight: 1, waiting: 0 },
  };
}

describe("watermarks", () => {
  it("sample at a fixed period until they are stopped", async () => {
    const seen: number[] = [];
    const watermarks = new Watermarks(() => memory(), new Handles());
    watermarks.onSample = ({ time }) => seen.push(time);
    watermarks.start(20);
    assert.ok(watermarks.running);
    await new Promise((resolve) => setTimeout(resolve, 150));
    watermarks.stop();
    const taken = watermarks.samples().length;
    assert.ok(taken >= 3 && taken <= 9, `${taken} samples in 150 ms`);
    assert.equal(seen.length, taken);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(watermarks.samples().length, taken);
    assert.ok(!watermarks.running);
  });

  it("write one line of JSON a sample, whose classes make the total", () => {
    const watermarks = new Watermarks(() => memory(), new Handles());
    for (let i = 0; i < 3; i++) watermarks.sample();
    const lines = watermarks.toJSONLines().trimEnd().split("\n");
    assert.equal(lines.length, 3);
    for (const line of lines) {
      const sample = JSON.parse(line);
      assert.equal(
        GPU_CLASSES.reduce((sum, name) => sum + sample.gpu[name], 0),
        sample.gpu.total,
      );
      assert.deepEqual([sample.wasmBytes, sample.requests, sample.queue.inFlight], [8e6, 2, 1]);
    }
  });

  it("keep ten minutes", () => {
    const watermarks = new Watermarks(() => memory(), new Handles());
    for (let i = 0; i < 700; i++) watermarks.sample();
    assert.equal(watermarks.samples().length, 600);
  });

  it("refuse a period that is none", () => {
    const watermarks = new Watermarks(() => memory(), new Handles());
    for (const period of [0, -1, Number.NaN]) assert.throws(() => watermarks.start(period), /a period of/);
    assert.ok(!watermarks.running);
  });

  it("name the suspect and where it is made", (t) => {
    const handles = new Handles();
    let pools = 0;
    const watermarks = new Watermarks(() => memory(2e6 + 1e6 * pools, 2 + pools), handles);
    const kept: object[] = [];
    function leaky() {
      const owner = {};
      kept.push(owner);
      handles.open("request pool", "face", owner, originOf(leaky));
      pools += 1;
    }
    let now = 0;
    t.mock.method(performance, "now", () => now);
    for (let second = 0; second < 30; second++) {
      now = 1000 * second;
      if (second % 3 === 0) leaky();
      watermarks.sample();
    }
    const verdict = watermarks.verdict();
    assert.deepEqual([verdict.state, verdict.suspect, verdict.grows], ["climbing", "requests", "arena"]);
    assert.match(verdict.text, /climbing .*MB\/min: requests made and not closed; 10 request pools open, made at /);
    assert.ok(kept.length > 0);
  });
});
