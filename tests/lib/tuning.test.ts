import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { tune } from "../../www/lib/tuning.js";
import type { AdapterInfo } from "../../www/lib/types.ts";
import type { RuntimeHandle } from "../../www/lib/wasm/frameway.js";

const ADAPTER: AdapterInfo = {
  vendor: "acme",
  architecture: "one",
  isFallback: false,
  topology: "unknown",
  features: [],
  limits: {},
};

/** A runtime that measures `found`, and what it was given to measure with. */
function runtime(found: string) {
  const asked: { budget: number; kept: string | undefined }[] = [];
  const handle = {
    async tune(budget: number, kept?: string) {
      asked.push({ budget, kept });
      return kept ?? found;
    },
  };
  return { handle: handle as unknown as RuntimeHandle, asked };
}

function page(store: Partial<Storage>): void {
  Object.defineProperty(globalThis, "localStorage", { value: store, configurable: true });
}

function storage(): { store: Partial<Storage>; kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    store: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) },
  };
}

afterEach(() => {
  Reflect.deleteProperty(globalThis, "localStorage");
});

test("what one visit measured the next one takes", async () => {
  const { store, kept } = storage();
  page(store);
  const first = runtime('{"conv":"outer"}');
  await tune(first.handle, ADAPTER, "1.0.0");
  assert.equal(first.asked[0]?.kept, undefined);
  assert.ok((first.asked[0]?.budget ?? 0) > 0);
  assert.deepEqual([...kept.values()], ['{"conv":"outer"}']);
  const second = runtime("another");
  await tune(second.handle, ADAPTER, "1.0.0");
  assert.equal(second.asked[0]?.kept, '{"conv":"outer"}');
});

test("another adapter and another version are measured anew", async () => {
  const { store, kept } = storage();
  page(store);
  await tune(runtime("a").handle, ADAPTER, "1.0.0");
  const { handle, asked } = runtime("b");
  await tune(handle, { ...ADAPTER, architecture: "two" }, "1.0.0");
  await tune(handle, ADAPTER, "1.0.1");
  assert.deepEqual(
    asked.map(({ kept }) => kept),
    [undefined, undefined],
  );
  assert.equal(kept.size, 3);
});

test("a page without storage, or with a full one, is measured at each visit", async () => {
  const none = runtime("a");
  await tune(none.handle, ADAPTER, "1.0.0");
  assert.equal(none.asked.length, 1);
  page({
    getItem: () => null,
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  });
  const full = runtime("a");
  await tune(full.handle, ADAPTER, "1.0.0");
  assert.equal(full.asked.length, 1);
});
