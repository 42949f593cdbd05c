import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge, type Reading, slopePerSecond, total, type Verdict } from "../../www/lib/slope.js";

/** Readings one second apart; `at` overrides what is constant. */
function series(seconds: number, at: (t: number) => Partial<Omit<Reading, "time">>): Reading[] {
  return Array.from({ length: seconds + 1 }, (_, time) => {
    const { bytes, ...counts } = at(time);
    return {
      time,
      requests: 2,
      engines: 1,
      queue: 1,
      ...counts,
      bytes: { weights: 4e6, arena: 2e6, wasm: 8e6, ...bytes },
    };
  });
}

/** Asserts that `verdict` has these properties. */
function matches(verdict: Verdict, expected: Partial<Verdict>): void {
  assert.deepEqual({ ...verdict, ...expected }, verdict);
}

describe("judge", () => {
  it("asks for five seconds of history", () => {
    assert.equal(judge([]).state, "waiting");
    assert.equal(judge(series(4, () => ({}))).state, "waiting");
  });

  it("calls a level curve flat and says for how long", () => {
    const verdict = judge(series(90, () => ({})));
    assert.equal(verdict.state, "flat");
    assert.equal(verdict.text, "flat for 90\u00a0s");
  });

  it("does not take the load of a model for a slope", () => {
    const verdict = judge(series(60, (t) => ({ bytes: { weights: t < 20 ? 0 : 40e6 } })));
    matches(verdict, { state: "flat", seconds: 40 });
  });

  it("does not take a model that streams in over six seconds for a slope", () => {
    const verdict = judge(series(60, (t) => ({ bytes: { weights: Math.min(60e6, Math.max(0, t - 50) * 10e6) } })));
    assert.notEqual(verdict.state, "climbing");
  });

  it("does not take a sawtooth that gives back for a slope", () => {
    const verdict = judge(series(100, (t) => ({ bytes: { textures: (t % 5) * 1e6 } })));
    assert.notEqual(verdict.state, "climbing");
  });

  it("does not take models that are exchanged, there twice for a moment, for a slope", () => {
    // Loaded in three steps; every seven seconds another takes its place, and the wasm heap grows once.
    const at = (t: number) => ({
      engines: t > 8 && t % 7 < 2 ? 2 : 1,
      bytes: {
        weights: t < 1 ? 0 : 4e5 * (t > 8 && t % 7 < 2 ? 2 : 1),
        arena: t < 2 ? 0 : 1.2e6,
        wasm: t < 1 ? 1.3e6 : t < 30 ? 3.6e6 : 4.3e6,
      },
    });
    for (let seconds = 5; seconds < 60; seconds++) {
      assert.notEqual(judge(series(seconds, at)).state, "climbing", `after ${seconds} s`);
    }
    // Whoever does not close the one before still climbs.
    const leak = (t: number) => ({
      ...at(t),
      bytes: { ...at(t).bytes, weights: 4e5 * Math.max(1, Math.floor(t / 7)) },
    });
    matches(judge(series(60, leak)), { state: "climbing", grows: "weights" });
  });

  it("names requests made per frame, with the rate", () => {
    const verdict = judge(series(60, (t) => ({ requests: 2 + 10 * t, bytes: { arena: 2e6 + (2e6 / 60) * t } })));
    matches(verdict, { state: "climbing", suspect: "requests", grows: "arena" });
    assert.ok(Math.abs(verdict.bytesPerMinute - 2e6) < 5e4);
    assert.equal(verdict.text, "climbing 2.0\u00a0MB/min: requests made per frame");
  });

  it("names requests that are made now and then and never closed", () => {
    const verdict = judge(
      series(90, (t) => ({ requests: 2 + Math.floor(t / 15), bytes: { arena: 2e6 + 1e6 * Math.floor(t / 15) } })),
    );
    matches(verdict, { state: "climbing", suspect: "requests" });
    assert.ok(verdict.text.includes("requests made and not closed"));
  });

  it("sees a leak of one engine every twenty seconds through the rests", () => {
    const verdict = judge(
      series(118, (t) => ({ engines: 1 + Math.floor(t / 20), bytes: { weights: 4e6 * (1 + Math.floor(t / 20)) } })),
    );
    matches(verdict, { state: "climbing", suspect: "sessions", grows: "weights" });
    assert.ok(verdict.bytesPerMinute > 9e6);
    assert.ok(verdict.bytesPerMinute < 16e6);
  });

  it("still sees a slow leak after a big model was loaded", () => {
    const verdict = judge(series(100, (t) => ({ bytes: { weights: t < 5 ? 0 : 50e6, staging: 1e5 * t } })));
    matches(verdict, { state: "climbing", suspect: "queue", grows: "staging" });
    assert.ok(Math.abs(verdict.bytesPerMinute - 6e6) < 2e5);
  });

  it("names the queue when it fills, and frames when textures stay", () => {
    assert.equal(judge(series(30, (t) => ({ queue: t, bytes: { staging: 1e5 * t } }))).suspect, "queue");
    assert.equal(judge(series(30, (t) => ({ bytes: { textures: 1e6 * t } }))).suspect, "frames");
    assert.equal(judge(series(30, (t) => ({ bytes: { wasm: 8e6 + 1e6 * t } }))).suspect, "results");
  });

  it("is flat again once the leak is stopped", () => {
    const verdict = judge(series(110, (t) => ({ bytes: { arena: 2e6 + 1e5 * Math.min(t, 40) } })));
    matches(verdict, { state: "flat", seconds: 70 });
  });
});

describe("the arithmetic below it", () => {
  it("fits a line", () => {
    assert.ok(Math.abs(slopePerSecond([0, 1, 2, 3], [1, 3, 5, 7]) - 2) < 1e-9);
    assert.equal(slopePerSecond([5], [1]), 0);
    assert.equal(slopePerSecond([5, 5], [1, 9]), 0);
  });
  it("sums the classes", () => {
    assert.equal(total({ time: 0, bytes: { a: 1, b: 2 }, requests: 0, engines: 0, queue: 0 }), 3);
  });
});
