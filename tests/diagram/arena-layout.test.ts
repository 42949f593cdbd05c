import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  arenaMap,
  type Block,
  blocksOf,
  describeBlock,
  layerAt,
  summarizeArena,
  ticks,
} from "../../www/diagram/arena-layout.js";
import { network } from "../../www/diagram/gallery-mock.js";
import type { EngineReport, LayerReport, TensorReport } from "../../www/diagram/types.js";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

function tensor(name: string, offset: number, bytes: number): TensorReport {
  return { name, shape: [1, bytes / 4], dtype: "float32", offset, bytes };
}

function layer(
  index: number,
  inputs: TensorReport[],
  outputs: TensorReport[],
  more: Partial<LayerReport> = {},
): LayerReport {
  return {
    index,
    name: `l${index}`,
    op: "Conv",
    inputs,
    outputs,
    workspaceBytes: 0,
    firstStep: index,
    lastStep: index,
    ...more,
  };
}

/** x → a → b; b and a meet in c, written over b; c is the output. A weight comes in beside x. */
function small(): EngineReport {
  const [x, a, b, c, w] = [
    tensor("x", 0, 400),
    tensor("a", 512, 800),
    tensor("b", 1536, 800),
    tensor("c", 1536, 800),
    tensor("w", 0, 64),
  ];
  return {
    arena: { bytes: 2560, lowerBound: 2048, naive: 2816 },
    layers: [
      layer(0, [x, w], [a]),
      layer(1, [a], [b], { workspaceBytes: 128, workspaceOffset: 0 }),
      layer(2, [a, b], [c]),
    ],
  };
}

describe("the arena map", () => {
  const find = (blocks: readonly Block[], name: string) => blocks.find((block) => block.name === name);

  it("gives each tensor its lifetime, the reading step included", () => {
    const { blocks, steps } = arenaMap(small(), ["x"]);
    assert.equal(steps, 3);
    const life = (name: string) => [find(blocks, name)?.start, find(blocks, name)?.end];
    assert.deepEqual(life("x"), [0, 1]);
    assert.deepEqual(life("a"), [0, 3]);
    assert.deepEqual(life("b"), [1, 3]);
    assert.deepEqual(life("c"), [2, 3]);
  });

  it("leaves weights out, and knows in place from anew", () => {
    const { blocks } = arenaMap(small(), ["x"]);
    assert.equal(find(blocks, "w"), undefined);
    assert.equal(find(blocks, "b")?.kind, "activation");
    assert.equal(find(blocks, "c")?.kind, "in place");
    assert.deepEqual(find(blocks, "workspace of l1"), {
      ...find(blocks, "workspace of l1"),
      kind: "workspace",
      offset: 0,
      bytes: 128,
      start: 1,
      end: 2,
    });
  });

  it("keeps a lifetime that the report says is longer than its readers ask", () => {
    const [x, a, b] = [tensor("x", 0, 400), tensor("a", 512, 800), tensor("b", 1536, 800)];
    const layers = [layer(0, [x], [a], { lastStep: 2 }), layer(1, [a], [b]), layer(2, [b], [])];
    const { blocks } = arenaMap({ arena: { bytes: 2560, lowerBound: 2048, naive: 2816 }, layers }, ["x"]);
    assert.equal(find(blocks, "a")?.end, 3);
  });

  it("takes lifetimes, inputs and the peak's step from a report that tells them", () => {
    const x = { ...tensor("x", 0, 400), life: [0, 2] };
    const a = { ...tensor("a", 512, 800), life: [0, 3] };
    const { offset: _, ...w } = { ...tensor("w", 0, 64), life: [0, 0] };
    const layers = [layer(0, [x, w], [a]), layer(1, [], []), layer(2, [a], [])];
    const map = arenaMap({ arena: { bytes: 2560, lowerBound: 2048, naive: 2816, peakStep: 1, steps: 3 }, layers }, []);
    assert.deepEqual(
      map.blocks.map(({ name, start, end }) => [name, start, end]),
      [
        ["x", 0, 2],
        ["a", 0, 3],
      ],
    );
    assert.equal(map.peak.step, 1);
  });

  it("finds the peak, counting what lies over another once", () => {
    const { peak } = arenaMap(small(), ["x"]);
    assert.deepEqual(peak, { step: 1, bytes: 800 + 800 + 128 });
  });

  it("lights what a layer reads and writes", () => {
    const map = arenaMap(small(), ["x"]);
    assert.deepEqual(
      blocksOf(map, 2)
        .map((block) => block.name)
        .sort(),
      ["a", "b", "c"],
    );
    assert.deepEqual(
      blocksOf(map, 0)
        .map((block) => block.name)
        .sort(),
      ["a", "x"],
    );
    assert.equal(layerAt(small().layers, 1), 1);
    assert.equal(layerAt(small().layers, 99), 2);
  });

  it("says what it saves", () => {
    const report = small();
    assert.equal(
      plain(summarizeArena(report, arenaMap(report, ["x"]))),
      "4 tensors share 2.6 KB, 1.1 times less than a buffer each; 25.0 % above the lower bound.",
    );
    const best = { ...report, arena: { ...report.arena, bytes: 2048 } };
    assert.match(summarizeArena(best, arenaMap(best, ["x"])), /no plan can do with less/);
    const block = find(arenaMap(report, ["x"]).blocks, "a");
    assert.equal(plain(block ? describeBlock(block) : ""), "1×200 float32, 800 B, steps 0 to 2");
  });

  it("holds every tensor of a real-sized network inside the arena", () => {
    const report = network(33);
    const { blocks, peak, steps } = arenaMap(report, ["images"]);
    assert.equal(blocks.filter((block) => block.kind !== "workspace").length, report.layers.length + 1);
    for (const { offset, bytes, start, end, name } of blocks) {
      assert.ok(offset >= 0 && offset + bytes <= report.arena.bytes && start < end && end <= steps, name);
    }
    assert.ok(peak.bytes <= report.arena.bytes);
    const anew = blocks.filter((block) => block.kind === "activation");
    const collide = (a: Block, b: Block) =>
      a.start < b.end && b.start < a.end && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    assert.ok(!anew.some((a, i) => anew.slice(i + 1).some((b) => collide(a, b))));
  });

  it("survives a report without layers", () => {
    assert.deepEqual(arenaMap({ arena: { bytes: 0, lowerBound: 0, naive: 0 }, layers: [] }, []), {
      blocks: [],
      steps: 0,
      peak: { step: 0, bytes: 0 },
    });
  });
});

it("marks an axis at round numbers", () => {
  assert.deepEqual(ticks(2_100_000, 4), [0, 1_000_000, 2_000_000]);
  assert.deepEqual(ticks(99, 8), [0, 20, 40, 60, 80]);
  assert.deepEqual(ticks(0, 4), [0]);
});
