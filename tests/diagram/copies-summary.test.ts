import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  crossed,
  formOf,
  isPerFrame,
  labelOf,
  since,
  summarize,
  summarizeComparison,
  widthOf,
} from "../../www/diagram/copies-summary.js";
import { BY_REFERENCE, edge, ledger, USUAL, WITH_COPIES } from "../../www/diagram/gallery-mock.js";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("the sentence", () => {
  it("sums up a frame taken by reference", () => {
    assert.equal(
      plain(summarize(ledger(BY_REFERENCE))),
      "One frame: 1 reference in, 0 copies on the CPU, 1.2 KB back.",
    );
  });

  it("names uploads, and copies nobody asked for", () => {
    assert.equal(
      plain(summarize(ledger(WITH_COPIES))),
      "One frame: 2 uploads of 1.8 MB in, 0 copies on the CPU, 57.3 KB back, 1 implicit copy.",
    );
  });

  it("counts copies on the CPU with their bytes", () => {
    const text = summarize(ledger([{ from: "javascript", to: "wasm", kind: "copy", bytesPerFrame: 196_608 }]));
    assert.equal(plain(text), "One frame: nothing in, 1 copy on the CPU (0.2 MB), 0 bytes back.");
  });

  it("leaves out what happened once, and what no longer happens", () => {
    const past = {
      from: "video",
      to: "texture",
      kind: "upload",
      bytesPerFrame: 1_228_800,
      count: 40,
      lastFrame: 40,
    } as const;
    const now = { from: "video", to: "texture", kind: "reference", lastFrame: 300 } as const;
    assert.equal(
      plain(summarize(ledger([past, now]))),
      "One frame: 1 reference in, 0 copies on the CPU, 0 bytes back.",
    );
    assert.deepEqual(labelOf(edge(past), 300).time, "earlier");
  });

  it("sums up the usual way", () => {
    assert.equal(plain(summarizeComparison(USUAL)), "The usual canvas way: 7 copies, 2.0 MB, 5.2 ms.");
  });
});

describe("edges", () => {
  it("have one of three forms", () => {
    assert.equal(formOf({ from: "video", to: "texture", kind: "reference" }), "reference");
    assert.equal(formOf({ from: "texture", to: "input", kind: "convert" }), "within");
    assert.equal(formOf({ from: "video", to: "texture", kind: "upload" }), "crossing");
    assert.equal(formOf({ from: "somewhere", to: "gpu:elsewhere", kind: "copy" }), "crossing");
  });

  it("count what crosses as the ledger does", () => {
    for (const sketches of [BY_REFERENCE, WITH_COPIES]) {
      const snapshot = ledger(sketches);
      assert.deepEqual(crossed(snapshot.edges), { toGpu: snapshot.toGpuBytes, toCpu: snapshot.toCpuBytes });
    }
  });

  it("are of a frame, or happened once", () => {
    assert.ok(isPerFrame(edge({ from: "staging", to: "javascript", kind: "readback", bytesPerFrame: 8 }), 300));
    assert.ok(!isPerFrame(edge({ from: "wasm", to: "weights", kind: "upload", bytes: 9, lastFrame: 0 }), 300));
    assert.ok(!isPerFrame(edge({ from: "video", to: "texture", kind: "reference", count: 3 }), 300));
  });

  it("grow with the logarithm of their bytes", () => {
    const widths = [0, 16, 1e3, 1e6, 1e9].map(widthOf);
    assert.deepEqual(
      [...widths].sort((a, b) => a - b),
      widths,
    );
    const tenfold = widthOf(1e7) - widthOf(1e6);
    assert.ok(Math.abs(tenfold - (widthOf(1e6) - widthOf(1e5))) < 0.01);
    assert.ok(widthOf(1e15) <= 9);
  });

  it("average their times over what was moved since", () => {
    const sketch = { from: "texture", to: "input", kind: "convert", bytesPerFrame: 4 } as const;
    const before = ledger([{ ...sketch, count: 10, cpuMs: 1, gpuMs: 4 }], 10);
    const after = ledger([{ ...sketch, count: 20, cpuMs: 2, gpuMs: 3 }], 20);
    const [averaged] = since(before, after).edges;
    assert.equal(averaged?.cpuMs, 3);
    assert.equal(averaged?.gpuMs, 2);
    assert.equal(averaged?.count, 20);
    assert.deepEqual(since(undefined, after), after);
  });
});
