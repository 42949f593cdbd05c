import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FramewayError } from "../../www/lib/errors.js";
import { type ModelFile, readModel } from "../../www/lib/source.js";
import type { LoadAccount, Progress } from "../../www/lib/types.js";

const content = Uint8Array.from({ length: 1000 }, (_, i) => i);

/** An answer in pieces of 300 bytes that announces `length` bytes, or none. */
function answer(length?: number): Response {
  const pieces = [0, 300, 600, 900].map((at) => content.slice(at, at + 300));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
  return new Response(body, length === undefined ? {} : { headers: { "content-length": String(length) } });
}

const account: LoadAccount = {
  fileBytes: 1000,
  residentBytes: 3000,
  multiplier: 3,
  phases: [
    { phase: "import", residentBytes: 2000, multiplier: 2 },
    { phase: "ready", residentBytes: 500, multiplier: 0.5 },
  ],
};

const phases = (file: ModelFile) =>
  Object.fromEntries(file.account(account).phases.map(({ phase, residentBytes }) => [phase, residentBytes]));

describe("a model's file", () => {
  it("comes whole, whatever its length was said to be", async () => {
    for (const [length, fetched, held] of [
      [1000, 1000, 1000],
      // Compressed: 400 announced, then 800, then 1600.
      [400, 2400, 1600],
      [undefined, 1800, 1200],
    ] as const) {
      const told: Progress[] = [];
      const file = await readModel(answer(length), (progress) => told.push(progress));
      assert.deepEqual(file.bytes(), content, `${length}`);
      assert.deepEqual(phases(file), { fetch: fetched, import: 2000 + held, ready: 500 + held });
      assert.deepEqual(
        told.map(({ phase, done }) => [phase, done]),
        [300, 600, 900, 1000].map((done) => ["fetch", done]),
      );
      assert.ok(told.every(({ done, total }) => done <= total));
    }
    const quiet = await readModel(answer());
    assert.deepEqual(quiet.bytes(), content);
  });

  it("is counted until it is taken, and never where it is the page's own", async () => {
    const file = await readModel(new Blob([content]));
    assert.deepEqual(phases(file), { fetch: 1000, import: 3000, ready: 1500 });
    assert.deepEqual(file.take(), content);
    assert.deepEqual(phases(file), { fetch: 1000, import: 3000, ready: 500 });
    assert.equal(file.account(account).phases[1]?.multiplier, 3);
    assert.throws(
      () => file.bytes(),
      (error) => error instanceof FramewayError && error.kind === "closed",
    );
    assert.deepEqual(await file.again(), content);
    const read = await readModel(answer());
    read.take();
    await assert.rejects(read.again(), { kind: "bad-source" });
    for (const own of [content, content.buffer]) {
      assert.deepEqual(phases(await readModel(own)), { import: 2000, ready: 500 });
    }
  });

  it("is refused with what to do", async () => {
    const refused = async (source: unknown) => {
      try {
        await readModel(source as Uint8Array);
      } catch (error) {
        assert.ok(error instanceof FramewayError && error.kind === "bad-source" && error.hint);
        return error.message;
      }
      return undefined;
    };
    assert.match((await refused(new Response("", { status: 404 }))) ?? "", /404/);
    assert.match((await refused(7)) ?? "", /no model/);
    assert.ok(await refused("http://localhost:1/absent.onnx"));
  });
});
