import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answer, scaleOf } from "../../www/demo/budget.js";
import { describeVerdict, describeVerification, share } from "../../www/demo/verdicts.js";
import type { LayerError, Verification } from "../../www/lib/index.js";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

describe("the budget", () => {
  const needs = [1, 2, 4, 8].map((n) => ({ n, arenaBytes: 1_245_184 * n }));

  it("says what is needed, what is allowed and the smallest limit that would do", () => {
    const [one, two] = needs;
    assert(one && two);
    const fits = answer(one, 426_896, 4_000_000);
    assert.deepEqual([fits.fits, fits.verdict], [true, "Would fit."]);
    assert.match(plain(fits.sentence), /^1 picture needs 1\.2 MB of activations, and 4\.0 MB are allowed\./);
    const not = answer(two, 426_896, 2_000_000);
    assert.deepEqual([not.fits, not.verdict], [false, "Would not fit."]);
    assert.match(
      plain(not.sentence),
      /^2 pictures at once need 2\.5 MB of activations, and only 2\.0 MB are allowed\./,
    );
    assert.match(plain(not.sentence), /smallest limit that would do is 2\.5 MB \(2,490,368 bytes\)\./);
    assert.match(plain(not.sentence), /The weights, 0\.4 MB, come on top, once\.$/);
  });

  it("holds to the byte, unless the compiler knows better", () => {
    const need = { n: 1, arenaBytes: 1000 };
    assert(answer(need, 0, 1000).fits);
    assert(!answer(need, 0, 999).fits);
    assert(!answer(need, 0, 1000, false).fits);
  });

  it("is drawn on a scale above every need", () => {
    for (const factor of [1, 3.3, 7, 99, 123_456]) {
      const most = factor * 8 * 1_245_184;
      const scale = scaleOf(needs.map(({ n, arenaBytes }) => ({ n, arenaBytes: arenaBytes * factor })));
      assert(scale > 1.1 * most && scale < 2 * most, `${most}: ${scale}`);
    }
    assert(scaleOf([]) > 0);
  });
});

describe("the verdict of a check", () => {
  it("is zero copy, a copy with its bytes and reasons, or not at all", () => {
    const zero = describeVerdict({ zeroCopy: true, failed: [], path: "read where it lies", bytes: 0 });
    assert.deepEqual(zero, { word: "Zero copy.", path: "Read where it lies." });
    const copied = describeVerdict({
      zeroCopy: false,
      failed: ["shared-memory", "layout"],
      path: "uploaded, then laid again",
      bytes: 393_216,
    });
    assert.equal(copied.word, "Not without a copy.");
    assert.match(
      plain(copied.path),
      /^Uploaded, then laid again\. 0\.4 MB are written.*cannot read it.*another order\.$/,
    );
    const strided = { zeroCopy: false, failed: ["layout"], path: "laid again", bytes: 8 } as const;
    assert.doesNotMatch(describeVerdict(strided).path, /Strict/);
    assert.match(describeVerdict(strided, true).path, /Strict, as the detector is now, refuses to lay it again\.$/);
    const refused = describeVerdict({
      zeroCopy: false,
      failed: ["type-and-shape"],
      path: "refused: dtype-mismatch",
      bytes: 0,
    });
    assert.deepEqual(refused, { word: "Not at all.", path: "Refused: dtype-mismatch." });
  });
});

describe("the verdict of a verification", () => {
  const layer: LayerError = {
    index: 7,
    name: "pool",
    op: "MaxPool",
    kernel: "pool 2x2",
    run: 0,
    error: 0.25,
    element: 3,
    expected: 0.1 + 0.2,
    got: 1.5,
  };
  const sound: Verification = {
    ok: true,
    layers: 62,
    runs: 2,
    repeatable: true,
    tolerance: 1e-4,
    worst: { ...layer, error: 3e-7 },
  };

  it("says how far off the worst layer is, in plain decimals", () => {
    const { verdict, sentence } = describeVerification(sound);
    assert.equal(verdict, "It computes right.");
    assert.match(
      plain(sentence),
      /^Each of the 62 layers agrees with its reference within 0\.01 % of its largest value\./,
    );
    assert.match(plain(sentence), /Furthest off, by 0\.00003 %: layer 7, MaxPool “pool”/);
    assert.match(plain(sentence), /The 2 runs gave the same bits\.$/);
    assert.equal(describeVerification({ ...sound, repeatable: false }).verdict, "Right, but not repeatable.");
  });

  it("names the first layer that differs, and by how much", () => {
    const { verdict, sentence } = describeVerification({ ...sound, ok: false, first: layer });
    assert.equal(verdict, "It differs.");
    assert.match(
      plain(sentence),
      /layer 7, MaxPool “pool” \(kernel pool 2x2\): 1\.5 where the reference has 0\.3, off by 25 %/,
    );
    const none = describeVerification({ ...sound, ok: false, first: { ...layer, error: Number.MAX_VALUE } });
    assert.match(none.sentence, /off by more than any tolerance/);
  });

  it("writes parts as percent with at least one digit that counts", () => {
    const cases = [0, 1e-9, 4e-7, 1e-4, 0.0123, 0.25, 2].map((part) => plain(share(part)));
    assert.deepEqual(cases, ["0 %", "0.0000001 %", "0.00004 %", "0.01 %", "1 %", "25 %", "200 %"]);
  });
});
