import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crossing, line, overlaps, route } from "../../www/diagram/copies-geometry.js";
import { layoutCopies, stagesOf, WIDE } from "../../www/diagram/copies-layout.js";
import { spread } from "../../www/diagram/copies-ports.js";
import { BY_REFERENCE, edge, ledger, USUAL, WITH_COPIES } from "../../www/diagram/gallery-mock.js";

const WIDTHS = [326, 358, 480, WIDE, 640, 900, 1200];

describe("the layout", () => {
  for (const width of WIDTHS) {
    for (const [name, sketches] of Object.entries({ BY_REFERENCE, WITH_COPIES })) {
      it(`draws every edge of ${name} once, at ${width} pixels, inside the picture`, () => {
        const { edges } = ledger(sketches);
        const { arrows, boxes, height } = layoutCopies(edges, [], width);
        assert.deepEqual(arrows.map((arrow) => arrow.edge.id).sort(), edges.map((e) => e.id).sort());
        for (const box of boxes) {
          assert.ok(
            box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height,
            box.place.id,
          );
          assert.equal(boxes.filter((other) => overlaps(box, other)).length, 1, `${box.place.id} overlaps another`);
        }
      });

      it(`keeps places in their bank and labels off boxes, for ${name} at ${width} pixels`, () => {
        const { arrows, boxes, cpu, gpu } = layoutCopies(ledger(sketches).edges, [], width);
        for (const box of boxes) assert.ok(overlaps(box, box.place.bank === "cpu" ? cpu : gpu, 0), box.place.id);
        for (const {
          label,
          edge: { id },
        } of arrows) {
          assert.ok(!boxes.some((box) => overlaps(label, box, 0)), `the label of ${id} lies on a box`);
        }
      });
    }

    it(`gives crossings a gate on the border, and only them, at ${width} pixels`, () => {
      const { arrows, border } = layoutCopies(ledger(WITH_COPIES).edges, [], width);
      for (const {
        form,
        gate,
        edge: { id },
      } of arrows) {
        if (form === "crossing") assert.ok(gate && overlaps({ ...gate, width: 0, height: 0 }, border, 1), id);
        if (form === "within") assert.equal(gate, undefined);
      }
    });
  }

  it("leaves the ledger's own arrows in their columns when the usual way is laid over them", () => {
    const { edges } = ledger(BY_REFERENCE);
    const alone = layoutCopies(edges, [], 640);
    const over = layoutCopies(edges, USUAL, 640);
    assert.equal(over.arrows.filter((arrow) => arrow.ghost).length, 7);
    const x = (layout: typeof alone, id: string) => layout.boxes.find((box) => box.place.id === id)?.x;
    for (const id of ["video", "texture", "staging"]) assert.equal(x(over, id), x(alone, id));
    assert.deepEqual(
      over.boxes
        .filter((box) => box.ghost)
        .map((box) => box.place.id)
        .sort(),
      ["canvas-2d", "canvas-small", "float-array"],
    );
  });

  it("draws places it does not know, and copies within one place", () => {
    const edges = [
      edge({ from: "worker", to: "gpu:atlas", kind: "upload", bytesPerFrame: 64 }),
      edge({ from: "javascript", to: "javascript", kind: "copy", bytesPerFrame: 64 }),
    ];
    for (const width of [358, 640]) {
      const { arrows, boxes, cpu, gpu } = layoutCopies(edges, [], width);
      assert.equal(arrows.length, 2);
      assert.ok(boxes.some((box) => box.place.id === "worker" && overlaps(box, cpu, 0)));
      assert.ok(boxes.some((box) => box.place.label === "atlas" && overlaps(box, gpu, 0)));
    }
  });

  it("draws a camera only where there is one, with no edge of its own", () => {
    const { edges } = ledger(BY_REFERENCE);
    const places = (camera: boolean) => layoutCopies(edges, [], 640, camera).boxes.map((box) => box.place.id);
    assert.ok(!places(false).includes("camera"));
    assert.ok(places(true).includes("camera"));
    const { arrows, links } = layoutCopies(edges, [], 640, true);
    assert.equal(arrows.length, edges.length);
    assert.deepEqual(
      links.map((link) => link.text),
      ["the network runs", "the browser decodes"],
    );
    assert.deepEqual(layoutCopies([], [], 640).boxes, []);
  });

  it("orders the arrows along a frame's way", () => {
    const { edges } = ledger(BY_REFERENCE);
    const stages = stagesOf(edges);
    const ids = [
      "video-texture-reference",
      "texture-input-convert",
      "result-staging-copy",
      "staging-javascript-readback",
    ];
    const order = ids.map(
      (id) => stages.get(edges.find((e) => e.id === id) ?? edge({ from: "", to: "", kind: "copy" })) ?? -1,
    );
    assert.deepEqual(
      [...order].sort((a, b) => a - b),
      order,
    );
    assert.equal(new Set(order).size, order.length);
  });
});

describe("arrows that meet at one side of a box", () => {
  const from = { x: 0, y: 100, width: 100, height: 42 };
  const to = (y: number) => ({ x: 300, y, width: 100, height: 42 });
  const routes = [0, 100, 200].map((y) => ({ from, to: to(y), curve: route(from, to(y), [], 0, false) }));

  it("stand apart, the straight one in the middle, each on the side it goes to", () => {
    const [up, straight, down] = spread(routes).map(([start]) => start.y);
    assert.ok(up !== undefined && straight !== undefined && down !== undefined);
    assert.equal(straight, 121);
    assert.ok(up <= straight - 8 && down >= straight + 8);
    assert.ok(up > from.y && down < from.y + from.height);
  });

  it("stay where they are alone", () => {
    assert.deepEqual(
      spread(routes.slice(0, 1)),
      routes.slice(0, 1).map(({ curve }) => curve),
    );
    assert.deepEqual(spread([]), []);
  });

  it("never leave the box, however many they are", () => {
    const many = Array.from({ length: 12 }, (_, i) => to(300 + 50 * i)).map((box) => ({
      from,
      to: box,
      curve: route(from, box, [], 0, false),
    }));
    for (const [start] of spread(many)) assert.ok(start.y > from.y && start.y < from.y + from.height);
  });
});

describe("the geometry", () => {
  const box = (x: number, y: number) => ({ x, y, width: 100, height: 40 });

  it("finds where a curve crosses a line", () => {
    const at = crossing(line({ x: 0, y: 0 }, { x: 10, y: 20 }), "x", 5);
    assert.ok(at && Math.abs(at.y - 10) < 0.01);
    assert.equal(crossing(line({ x: 0, y: 0 }, { x: 1, y: 1 }), "y", 5), undefined);
  });

  it("goes straight where it can and around a box where it cannot", () => {
    const [a, b, between] = [box(0, 0), box(0, 200), box(0, 100)];
    const straight = route(a, b, [a, b], 0, false);
    assert.ok(straight.every((point) => point.x === 50));
    const around = route(a, b, [a, b, between], 0, false);
    assert.ok(around.some((point) => point.x > 100));
  });
});
