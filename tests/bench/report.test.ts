import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { median, summary, table, targetLines, targets, withLayers } from "../../scripts/bench-report.mjs";

const result = (steady: number, first: number) => ({ steady: summary([steady]), first: summary([first]) });

describe("bench report", () => {
  it("takes the middle of the times", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
    assert.deepEqual(summary([5, 1, 9]), { median: 5, min: 1, runs: 3 });
  });

  it("aligns names left and numbers right", () => {
    const rows = [
      ["model", "ms"],
      ["a", 1.5],
      ["long name", 10],
    ];
    assert.equal(table(rows), "model       ms\n--------------\na          1.5\nlong name   10");
  });

  it("says of each target whether it holds, and of what was not measured that it was not", () => {
    const found = targets({
      models: [
        { name: "fast", results: { frameway: result(10, 500), "ort-webgpu": result(100, 9000) } },
        { name: "slow", results: { frameway: result(10, 2000), "ort-webgpu": result(99, 9000) } },
        { name: "alone", results: { frameway: result(10, 500) } },
      ],
      downloads: { frameway: { bytes: 400_001 } },
    });
    const words = found.map(({ holds }: { holds?: boolean }) => holds);
    assert.deepEqual(words, [true, false, undefined, true, false, true, false]);
    const lines = targetLines(found).split("\n").slice(2);
    assert.match(lines[0] ?? "", /fast: .* 10\.0x +yes$/);
    assert.match(lines[2] ?? "", /alone: .* not measured$/);
    assert.match(lines[6] ?? "", /400 kB +no$/);
  });

  it("gives each dispatch the layer that made it", () => {
    const layers = [{ dispatches: 1 }, { dispatches: 0 }, { dispatches: 2 }].map((layer, index) => ({
      index,
      ...layer,
    }));
    const joined = withLayers([{ ms: 1 }, { ms: 2 }, { ms: 3 }], layers);
    const owners = joined.map((d: { layer: { index: number }; isFirst: boolean }) => [d.layer.index, d.isFirst]);
    assert.deepEqual(owners, [
      [0, true],
      [2, true],
      [2, false],
    ]);
  });
});
