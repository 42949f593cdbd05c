import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FlowMeter, type FlowReport } from "../../www/lib/flow.js";

/** A source that shows a frame every `interval` ms for two requests; a run takes `run`, its results are held for `held`. */
function flow(interval: number, run: number, held: number, frames = 100): FlowReport {
  const meter = new FlowMeter(2);
  // The consumer takes one result after the other, the device runs one frame after the other.
  const service = Math.max(run, held);
  let free = 0;
  const busy: number[] = [];
  for (let time = 0; time < interval * frames; time += interval) {
    while ((busy[0] ?? Number.POSITIVE_INFINITY) <= time) busy.shift();
    meter.shown(time, busy.length);
    if (busy.length === 2) {
      meter.dropped();
      continue;
    }
    free = Math.max(free, time) + service;
    busy.push(Math.max(free, time + run + held));
    meter.ran(run);
    meter.held(held);
  }
  return meter.report();
}

describe("the flow of a stream", () => {
  it("says nothing before it has seen a few frames", () => {
    assert.equal(flow(33, 10, 1, 3).verdict, "settling");
    assert.equal(new FlowMeter(2).report().queueVolatility, 0);
  });

  it("keeps up while runs are shorter than the source's interval", () => {
    const report = flow(33, 20, 2);
    assert.equal(report.verdict, "keeps up");
    assert.equal(report.dropped, 0);
    assert.match(report.why, /a frame comes every 33 ms, a run takes 20 ms, its results are held for 2\.0 ms/);
  });

  it("names whoever reads the stream when results are held longer than runs take", () => {
    const report = flow(33, 10, 90);
    assert.equal(report.verdict, "downstream is slow");
    assert.ok(report.dropped > 50);
    assert.ok(report.queueLevel > 1);
  });

  it("names the model when runs take longest", () => {
    assert.equal(flow(33, 120, 2).verdict, "the model is slow");
  });

  it("names the source when it shows few frames and the requests idle", () => {
    const report = flow(200, 10, 1);
    assert.equal(report.verdict, "the source is slow");
    assert.equal(Math.round(report.intervalMs), 200);
  });

  it("tells a steady queue from an unsteady one", () => {
    const [steady, unsteady] = [new FlowMeter(4), new FlowMeter(4)];
    for (let i = 0; i < 60; i++) {
      steady.shown(33 * i, 2);
      unsteady.shown(33 * i, i % 10 < 5 ? 0 : 4);
    }
    assert.equal(steady.report().queueVolatility, 0);
    assert.ok(Math.abs(unsteady.report().queueVolatility - 1) < 1e-9);
  });

  it("forgets the time before a pause", () => {
    const meter = new FlowMeter(2);
    for (let i = 0; i < 10; i++) {
      meter.shown(33 * i, 0);
      meter.ran(5);
    }
    assert.equal(meter.report().verdict, "keeps up");
    meter.gap();
    meter.shown(100_000, 0);
    assert.equal(meter.report().verdict, "settling");
    for (let i = 1; i < 10; i++) meter.shown(100_000 + 33 * i, 0);
    assert.equal(Math.round(meter.report().intervalMs), 33);
  });

  it("counts frames that the page was never told of as skipped", () => {
    const meter = new FlowMeter(1);
    for (let i = 0; i < 20; i++) {
      meter.shown(100 * i, 1, 2);
      meter.ran(90);
    }
    const report = meter.report();
    assert.deepEqual([report.shown, report.dropped], [60, 40]);
    assert.equal(report.verdict, "the model is slow");
    assert.equal(Math.round(report.intervalMs), 33);
  });
});
