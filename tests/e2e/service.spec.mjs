// Requests, leases, streams and closing, in the browser.
import { expect, test } from "@playwright/test";
import { closePage, openPage } from "./support/service-page.mjs";

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

test("10,000 stamped frames on interleaved requests: none is mixed up, no stale one can be read", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.increment);
    const pool = engine.requests(4);
    const counts = { frames: 0, mixed: 0, stale: 0, staleRead: 0 };
    const FRAMES = 10_000;
    let stamp = 0;
    const check = (lease, n) => {
      counts.frames += 1;
      if (!lease.outputs.y.read().every((value) => value === n + 1)) counts.mixed += 1;
    };
    const expectStale = (lease) => {
      try {
        lease.outputs.y.read();
        counts.staleRead += 1;
      } catch (error) {
        if (error.kind === "stale-output" && !lease.fresh) counts.stale += 1;
      }
    };
    const feed = () => {
      const n = stamp++;
      return [n, { x: new Float32Array(64).fill(n) }];
    };
    /** Takes a request for every frame, and gives it back. */
    const taker = async () => {
      while (stamp < FRAMES) {
        const request = await pool.acquire();
        const [n, feeds] = feed();
        const lease = await request.run(feeds);
        check(lease, n);
        lease.release();
        if (n % 7 === 0) expectStale(lease);
      }
    };
    /** Keeps its request: every run makes the lease before it stale. */
    const keeper = async () => {
      const request = await pool.acquire();
      let before;
      while (stamp < FRAMES) {
        const [n, feeds] = feed();
        const lease = await request.run(feeds);
        if (before) expectStale(before);
        check(lease, n);
        before = lease;
      }
      request.release();
    };
    /** Reads one run while the next two compute. */
    const pipeliner = async () => {
      const request = await pool.acquire();
      const under = [];
      while (stamp < FRAMES || under.length > 0) {
        while (under.length < 3 && stamp < FRAMES) {
          const [n, feeds] = feed();
          under.push([n, request.submit(feeds)]);
        }
        const [n, run] = under.shift();
        const lease = await run;
        check(lease, n);
      }
      request.release();
    };
    await Promise.all([taker(), taker(), taker(), keeper(), pipeliner()]);
    const idle = pool.idle;
    await engine.close();
    return { ...counts, idle };
  });
  expect(found).toMatchObject({ mixed: 0, staleRead: 0, idle: 4 });
  expect(found.frames).toBeGreaterThanOrEqual(10_000);
  expect(found.stale).toBeGreaterThan(2_000);
});

test("three stages of use give the same bits; requests that are kept make nothing in 1000 frames", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.work);
    const data = Float32Array.from({ length: 128 * 128 }, (_, i) => Math.sin(i) * 3);
    const bits = (values) => Array.from(new Uint32Array(values.slice().buffer)).join();
    const arrays = await engine.run({ x: data });
    const explicit = runtime.tensor({ shape: [128, 128], dtype: "float32", layout: "row-major", data });
    const tensors = await engine.run({ x: explicit });
    const pool = engine.requests(1);
    const request = await pool.acquire();
    const lease = await request.run({ x: explicit });
    const three = [arrays.y.data, tensors.y.data, lease.outputs.y.read()].map(bits);

    const small = await runtime.compile(models.increment);
    const service = await small.requests(1).acquire();
    const feeds = { x: new Float32Array(64) };
    const before = runtime.ledger.snapshot();
    for (let n = 0; n < 1000; n++) {
      feeds.x.fill(n);
      const done = await service.run(feeds);
      if (done.outputs.y.read()[63] !== n + 1) throw new Error(`frame ${n}`);
      done.release();
    }
    const after = runtime.ledger.snapshot();
    return {
      same: three[0] === three[1] && three[1] === three[2],
      some: arrays.y.data.some((value) => value !== 0),
      frames: after.frames - before.frames,
      buffers: after.buffersCreated - before.buffersCreated,
      bindGroups: after.bindGroupsCreated - before.bindGroupsCreated,
    };
  });
  expect(found).toMatchObject({ same: true, some: true, frames: 1000, bindGroups: 0 });
  // The first run makes the staging buffer that all others use.
  expect(found.buffers).toBeLessThanOrEqual(1);
});

test("requests go to who asked first; busy, stale, canceled and closed say what to do", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.increment);
    const pool = engine.requests(1);
    const feeds = { x: new Float32Array(64) };
    const request = await pool.acquire();
    const order = [];
    const ask = (name, options) =>
      pool.acquire(options).then((got) => {
        order.push(name);
        got.release();
      });
    const controller = new AbortController();
    const first = ask("first");
    const second = failure(ask("second", { signal: controller.signal }));
    const third = ask("third");
    await sleep(0);
    const waiting = runtime.memory().queue.waiting;
    controller.abort();
    const canceled = await second;
    const canceledBefore = await failure(ask("late", { signal: controller.signal }));

    const run = request.run(feeds);
    const busy = await failure(request.run(feeds));
    const lease = await run;
    const kept = lease.detach().y.data;
    const next = await request.run({ x: new Float32Array(64).fill(8) });
    const stale = await failure(() => lease.outputs.y.read());
    const reads = [kept[0], next.outputs.y.read()[0]];
    next.release();
    next.release();
    const released = await failure(() => next.outputs.y.read());
    await Promise.all([first, third]);
    await pool.close();
    await pool.close();
    const closed = await failure(pool.acquire());
    const closedRun = await failure(request.run(feeds));
    await engine.close();
    const closedEngine = await failure(engine.run(feeds));
    const closedPool = await failure(engine.requests(1).acquire());
    return {
      order,
      waiting,
      canceled,
      canceledBefore,
      busy,
      stale,
      released,
      reads,
      closed,
      closedRun,
      closedEngine,
      closedPool,
    };
  });
  expect(found.order).toEqual(["first", "third"]);
  expect(found.waiting).toBe(3);
  expect(found.reads).toEqual([1, 9]);
  expect(found.canceled.kind).toBe("canceled");
  expect(found.canceledBefore.kind).toBe("canceled");
  expect(found.busy).toMatchObject({ kind: "busy", hint: expect.stringMatching(/await the run before|acquire/) });
  for (const stale of [found.stale, found.released]) {
    expect(stale).toMatchObject({
      kind: "stale-output",
      where: 'output "y"',
      hint: expect.stringMatching(/detach\(\)/),
    });
  }
  for (const closed of [found.closed, found.closedRun, found.closedEngine, found.closedPool]) {
    expect(closed.kind).toBe("closed");
    expect(closed.where).toMatch(/increment/);
  }
});

test("results are read while the next run computes: the overlapped time is shorter than the sum", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.work);
    const pool = engine.requests(1);
    const request = await pool.acquire();
    const feeds = { x: new Float32Array(128 * 128).fill(1) };
    const read = (lease) => lease.outputs.y.read().reduce((sum, value) => sum + value, 0);
    const RUNS = 20;
    const oneByOne = async () => {
      for (let n = 0; n < RUNS; n++) read(await request.run(feeds));
    };
    const overlapped = async () => {
      let before = request.submit(feeds);
      for (let n = 1; n < RUNS; n++) {
        const next = request.submit(feeds);
        read(await before);
        before = next;
      }
      read(await before);
    };
    const time = async (work) => {
      const began = performance.now();
      await work();
      return performance.now() - began;
    };
    const best = { sum: Number.POSITIVE_INFINITY, overlapped: Number.POSITIVE_INFINITY };
    await oneByOne();
    for (let round = 0; round < 5; round++) {
      best.sum = Math.min(best.sum, await time(oneByOne));
      best.overlapped = Math.min(best.overlapped, await time(overlapped));
    }
    return best;
  });
  console.log(`      20 runs one by one ${found.sum.toFixed(1)} ms, overlapped ${found.overlapped.toFixed(1)} ms`);
  expect(found.overlapped).toBeLessThan(found.sum);
});

test("a hint chooses the number of requests within a budget, or says what it would need", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.big);
    const latency = await engine.requests({ hint: "latency" });
    const bytes = latency.report().choice.bytesPerRequest;
    const before = runtime.memory();
    const tight = await engine.requests({ hint: "throughput", budget: 2 * bytes });
    const request = await tight.acquire();
    await request.run({ x: new Float32Array(4096) });
    const held = runtime.memory().gpu.total - before.gpu.total;
    const tooTight = await failure(engine.requests({ hint: "throughput", budget: 1000 }));
    const barely = await failure(engine.requests({ hint: "latency", budget: bytes - 4 }));
    const nonsense = await failure(engine.requests({ hint: "speed" }));
    return { latency: latency.report().choice, tight: tight.report().choice, held, bytes, tooTight, barely, nonsense };
  });
  expect(found.latency.requests).toBe(found.latency.measured.length > 0 && found.latency.requests);
  expect(found.latency.measured.map((m) => m.requests)).toEqual([1, 2, 3, 4]);
  expect(found.tight.most).toBe(2);
  expect(found.tight.requests).toBeLessThanOrEqual(2);
  expect(found.held).toBeLessThanOrEqual(2 * found.bytes);
  for (const refused of [found.tooTight, found.barely]) {
    expect(refused).toMatchObject({
      kind: "memory-limit",
      message: expect.stringMatching(/needs \d+ bytes, the budget is \d+/),
      hint: expect.stringMatching(/allow \d+ bytes/),
    });
  }
  expect(found.nonsense.kind).toBe("bad-source");
});

test("closing in mid-frame harms nothing, twice is once, and `using` closes", async ({ page }) => {
  const found = await page.evaluate(`(async () => {
    const feeds = { x: new Float32Array(64) };
    let lease;
    {
      await using engine = await runtime.compile(models.increment);
      await using pool = engine.requests(2);
      using request = await pool.acquire();
      using inner = await request.run(feeds);
      lease = inner;
      inner.outputs.y.read();
    }
    const afterUsing = runtime.memory();
    const disposed = await failure(() => lease.outputs.y.read());

    const engine = await runtime.compile(models.work);
    const pool = engine.requests(2);
    const request = await pool.acquire();
    const data = { x: new Float32Array(128 * 128) };
    const runs = [request.submit(data), request.submit(data)];
    const queued = failure(engine.run(data));
    const waiting = [pool.acquire(), pool.acquire()].map((promise) => failure(promise));
    await Promise.all([pool.close(), engine.close(), engine.close(), pool.close()]);
    const outcomes = await Promise.allSettled(runs);
    const late = await Promise.all(waiting);
    return {
      engines: afterUsing.engines,
      bytes: afterUsing.gpu.total,
      disposed: disposed.kind,
      outcomes: outcomes.map((o) => o.status === "fulfilled" ? "done" : o.reason.kind),
      late: late.map((l) => l.kind ?? l),
      queued: (await queued).kind ?? "done",
      left: runtime.memory().gpu.total,
    };
  })()`);
  expect(found).toMatchObject({ engines: 0, bytes: 0, left: 0 });
  expect(["stale-output", "closed"]).toContain(found.disposed);
  // What the GPU had begun is finished; what had not begun is told.
  expect(found.outcomes).toEqual(["done", "done"]);
  expect(["done", "closed"]).toContain(found.queued);
  expect(found.late[1]).toBe("closed");
});

test("the runtime closed under a run and a stream", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const pool = engine.requests(2);
    const { video, stop } = await film(30);
    const ended = (async () => {
      let frames = 0;
      for await (const lease of pool.stream(video)) {
        frames += lease.outputs.y.shape.length === 4 ? 1 : 0;
        if (frames === 3) void runtime.close();
      }
      return frames;
    })();
    const frames = await ended;
    await runtime.close();
    const idle = await failure(runtime.compile(models.increment));
    stop();
    return { frames, total: runtime.memory().gpu.total, idle };
  });
  expect(found.frames).toBeGreaterThanOrEqual(3);
  expect(found.total).toBe(0);
  expect(found.idle.kind).toBe("closed");
});
