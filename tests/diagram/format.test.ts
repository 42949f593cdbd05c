import assert from "node:assert/strict";
import { it } from "node:test";
import {
  count,
  formatBytes,
  formatMs,
  formatSeconds,
  formatShape,
  formatTick,
  shortName,
} from "../../www/diagram/format.js";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

it("formats bytes", () => {
  const cases: [number, string][] = [
    [0, "0 B"],
    [812, "812 B"],
    [1200, "1.2 KB"],
    [99_000, "99.0 KB"],
    [600_000, "0.6 MB"],
    [1_228_800, "1.2 MB"],
    [363_000_000, "363 MB"],
    [1_500_000_000, "1.5 GB"],
    [Number.NaN, "? B"],
  ];
  for (const [bytes, text] of cases) assert.equal(plain(formatBytes(bytes)), text);
});

it("formats milliseconds", () => {
  const cases: [number, string][] = [
    [0, "0.0 ms"],
    [0.04, "0.04 ms"],
    [0.4, "0.4 ms"],
    [12.46, "12.5 ms"],
    [604.6, "605 ms"],
  ];
  for (const [ms, text] of cases) assert.equal(plain(formatMs(ms)), text);
});

it("formats durations, counts and shapes", () => {
  assert.equal(plain(formatSeconds(90)), "90 s");
  assert.equal(plain(formatSeconds(300)), "5 min");
  assert.equal(plain(count(1, "copy", "copies")), "1 copy");
  assert.equal(plain(count(0, "copy", "copies")), "0 copies");
  assert.equal(formatShape([1, 3, 128, 128]), "1×3×128×128");
  assert.equal(formatShape([]), "scalar");
  assert.equal(shortName("conv_1"), "conv_1");
  assert.equal(shortName("model/backbone/conv_1", 7), "…conv_1");
  assert.equal(plain(formatTick(20e6)), "20 MB");
  assert.equal(plain(formatTick(1.5e6)), "1.5 MB");
});
