import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { samples } from "../../www/diagram/gallery-mock.js";
import {
  gpuTotal,
  readingOf,
  recent,
  stack,
  summarizeMemory,
  topOf,
  WINDOW,
} from "../../www/diagram/watermarks-series.js";
import { judge } from "../../www/lib/slope.js";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("the watermarks", () => {
  it("stack every class on the one before, up to the total", () => {
    const taken = samples(0);
    const bands = stack(taken);
    taken.forEach((sample, i) => {
      let low = 0;
      for (const band of bands) {
        assert.equal(band.low[i], low);
        assert.equal((band.high[i] ?? 0) - low, sample.gpu[band.id] ?? 0);
        low = band.high[i] ?? 0;
      }
      assert.equal(low, sample.gpu.total);
      assert.equal(gpuTotal(sample), sample.gpu.total);
    });
  });

  it("keep two minutes", () => {
    const taken = samples(0);
    const later = taken.map((sample) => ({ ...sample, time: sample.time + 60_000 }));
    const kept = recent([...taken, ...later.slice(-60)]);
    const [first, last] = [kept[0], kept.at(-1)];
    assert.ok(first && last && last.time - first.time <= WINDOW * 1000);
    assert.deepEqual(recent([]), []);
  });

  it("keep their scale until a curve outgrows it or leaves it far behind", () => {
    const taken = samples(0);
    const top = topOf(taken, 0, 0);
    assert.ok(top >= 9.3e6 && top <= 20e6);
    assert.equal(topOf(taken.slice(0, 100), 0, top), top);
    assert.ok(topOf(samples(200_000), 0, top) > top);
    assert.ok(topOf(taken, 0, 1e9) < 1e9);
    assert.ok(topOf(taken, 16e6, 0) >= 16e6, "a near limit is in sight");
    assert.equal(topOf(taken, 1e9, 0), top, "a far one is not");
  });

  it("are judged in words", () => {
    const verdictOf = (leak: number) => {
      const taken = samples(leak);
      const last = taken.at(-1);
      return last ? plain(summarizeMemory(last, judge(taken.map(readingOf)))) : "";
    };
    assert.equal(verdictOf(0), "GPU 7.6 MB, wasm heap 4.7 MB: flat for 99 s.");
    assert.match(
      verdictOf(65_536),
      /^GPU 14\.2 MB, wasm heap 4\.7 MB: climbing 3\.\d MB\/min: requests made and not closed\.$/,
    );
  });

  it("take counts as numbers or as lists", () => {
    const [sample] = samples(0);
    assert.ok(sample);
    assert.deepEqual(readingOf({ ...sample, requests: [{}, {}], engines: 3, queue: { inFlight: 2, waiting: 1 } }), {
      ...readingOf(sample),
      requests: 2,
      engines: 3,
      queue: 3,
    });
  });
});
