import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FramewayError } from "../../www/lib/errors.js";
import { affordable, chooseCount, parseBytes } from "../../www/lib/hint.js";

const measured = [
  { requests: 1, latencyMs: 10, perSecond: 95 },
  { requests: 2, latencyMs: 12, perSecond: 160 },
  { requests: 3, latencyMs: 18, perSecond: 165 },
  { requests: 4, latencyMs: 24, perSecond: 164 },
];

describe("the number of requests", () => {
  it("is the fewest that answer soonest, for latency", () => {
    assert.equal(chooseCount("latency", measured), 1);
    assert.equal(chooseCount("latency", [measured[1] ?? measured[0], { ...measured[2], latencyMs: 6 }] as never), 3);
  });
  it("is the most that still brings a twentieth more, for throughput", () => {
    assert.equal(chooseCount("throughput", measured), 2);
    assert.equal(chooseCount("throughput", measured.slice(0, 1)), 1);
  });
  it("keeps within the budget", () => {
    assert.equal(affordable("face", 1000, 3500, 4), 3);
    assert.equal(affordable("face", 1000, Number.POSITIVE_INFINITY, 4), 4);
    assert.throws(
      () => affordable("face", 1000, 999, 4),
      (error) =>
        error instanceof FramewayError &&
        error.kind === "memory-limit" &&
        /1000 bytes, the budget is 999/.test(error.message) &&
        /allow 1000 bytes/.test(error.hint ?? ""),
    );
  });
  it("reads sizes as limits are written", () => {
    assert.deepEqual(["8MiB", "64 KiB", "1GB", 12, "1.5kB"].map(parseBytes), [8 << 20, 65_536, 1e9, 12, 1500]);
    for (const bad of ["", "MiB", "8 parsecs", -1, Number.NaN]) assert.throws(() => parseBytes(bad), FramewayError);
  });
});
