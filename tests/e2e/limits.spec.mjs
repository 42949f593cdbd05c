// Limits of a runtime's memory pools: what would go over is refused with the numbers, and nothing is lost by it.
import { expect, test } from "@playwright/test";
import { closePage, openPage } from "./support/service-page.mjs";

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
  await page.evaluate(() => {
    /** Runs `test` with a runtime that has limits; afterwards nothing may be left of it. */
    window.limited = async (limits, test) => {
      const made = await frameway.Runtime.create({ limits });
      const found = await test(made);
      await made.close();
      return { ...found, left: made.memory().gpu.total, inUse: made.memory().limits.map((pool) => pool.inUse) };
    };
    window.works = async (engine, n) => {
      const { y } = await engine.run({ x: new Float32Array(n).fill(4) });
      return y.data.length === n && y.data.every((value) => value === 5);
    };
  });
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

test("requests of all engines share one limit, and what it names as the smallest that would do does", async ({
  page,
}) => {
  const found = await page.evaluate(async () => {
    const over = await limited({ activations: "32 KiB" }, async (runtime) => {
      // Arenas of 16 KiB and of 256 bytes.
      const [big, small] = [await runtime.compile(models.big), await runtime.compile(models.increment)];
      const pool = big.requests(1);
      await pool.acquire();
      const before = runtime.memory();
      const snapshot = runtime.ledger.snapshot();
      const refused = await failure(big.requests(2).acquire());
      const same =
        JSON.stringify(runtime.memory()) === JSON.stringify({ ...before, wasmBytes: runtime.memory().wasmBytes }) &&
        runtime.ledger.snapshot().buffersCreated === snapshot.buffersCreated;
      const goesOn = (await works(small, 64)) && (await works(big, 4096).catch((error) => error.kind));
      await pool.close();
      const afterClosing = await works(big, 4096);
      return { refused, same, goesOn, afterClosing, limits: before.limits };
    });
    const [, enough] = /activations of (\d+) bytes/.exec(over.refused.hint);
    const just = (bytes) =>
      limited({ activations: bytes }, async (runtime) => {
        const big = await runtime.compile(models.big);
        await big.requests(1).acquire();
        const outcome = await failure(big.requests(2).acquire());
        return { outcome: outcome.kind ?? "made", arena: runtime.memory().gpu.arena };
      });
    return { over, enough: Number(enough), fits: await just(Number(enough)), tight: await just(Number(enough) - 4) };
  });
  const { refused } = found.over;
  expect(refused.kind).toBe("memory-limit");
  expect(refused.where).toBe('pool "activations" of the runtime');
  expect(refused.message).toMatch(
    /^2 requests of engine "increment" would take 32768 bytes of activations, 16384 are in use, the limit is 32768/,
  );
  expect(found.over).toMatchObject({ same: true, goesOn: "memory-limit", afterClosing: true, left: 0, inUse: [0] });
  expect(found.over.limits).toEqual([{ pool: "activations", limit: 32_768, inUse: 16_384 }]);
  expect(found.enough).toBe(3 * 16_384);
  expect(found.fits).toMatchObject({ outcome: "made", arena: found.enough });
  expect(found.tight).toMatchObject({ outcome: "memory-limit", arena: 16_384 });
});

test("weights are refused while compiling, staging before the first run", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const weights = await limited({ weights: "100KiB" }, async (runtime) => {
      const first = await runtime.compile(models.work);
      const held = runtime.memory().gpu.weights;
      const second = await failure(runtime.compile(models.work));
      const same = runtime.memory().gpu.weights === held;
      await first.close();
      const third = await runtime.compile(models.work);
      return { held, second, same, third: third.inputs.length };
    });
    const staging = await limited({ staging: 1000 }, async (runtime) => {
      const first = await failure(runtime.compile(models.big));
      const total = runtime.memory().gpu.total;
      // With room for fewer runs at once it would do.
      const narrow = await failure(runtime.compile(models.increment, { limits: { staging: 1000 } }));
      return { first, narrow, total };
    });
    const nonsense = [
      await failure(frameway.Runtime.create({ limits: { activations: "lots" } })),
      await failure(frameway.Runtime.create({ limits: { arena: 1 } })),
    ];
    return { weights, staging, nonsense };
  });
  expect(found.weights).toMatchObject({ held: 65_536, same: true, third: 1, left: 0 });
  expect(found.weights.second).toMatchObject({ kind: "memory-limit", where: 'pool "weights" of the runtime' });
  expect(found.weights.second.message).toMatch(/65536 bytes of weights, 65536 are in use, the limit is 102400/);
  expect(found.weights.second.hint).toMatch(/weights of 131072 bytes.*close/);
  expect(found.staging).toMatchObject({ total: 0, narrow: "nothing failed" });
  expect(found.staging.first).toMatchObject({ kind: "memory-limit", where: 'pool "staging" of the runtime' });
  for (const refused of found.nonsense) {
    expect(refused).toMatchObject({
      kind: "bad-source",
      where: "Runtime.create()",
      hint: expect.stringMatching(/8MiB/),
    });
  }
});

test("a hint takes as many requests as the limits have room for", async ({ page }) => {
  const found = await page.evaluate(() =>
    limited({ activations: 2 * 16_384 + 100 }, async (runtime) => {
      const engine = await runtime.compile(models.big);
      const pool = await engine.requests({ hint: "throughput" });
      const { choice } = pool.report();
      const measured = choice.measured.map((one) => one.requests);
      await pool.close();
      const other = engine.requests(2);
      await other.acquire();
      const none = await failure(engine.requests({ hint: "latency" }));
      return { most: choice.most, measured, none, leaks: runtime.leaks() };
    }),
  );
  expect(found).toMatchObject({ most: 2, measured: [1, 2], left: 0, leaks: [] });
  expect(found.none).toMatchObject({ kind: "memory-limit", where: 'pool "activations" of the runtime' });
});
