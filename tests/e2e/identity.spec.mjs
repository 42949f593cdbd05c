// Identity cards: what is handed in held against what an input takes, views without a copy, and the path that is taken.
import { expect, test } from "@playwright/test";
import { identityModel } from "./support/onnx.mjs";
import { MODEL } from "./support/page.mjs";
import { closePage, openPage } from "./support/service-page.mjs";

const IDENTITY = [...identityModel([{ input: "x", output: "y", shape: [1, 3, 16, 16] }])];
const OPEN = [...identityModel([{ input: "x", output: "y", shape: [1, "length"] }])];
const SHAPE = [1, 3, 16, 16];
const NHWC_STRIDES = [768, 1, 48, 3];

let complaints;

test.beforeEach(async ({ page }) => {
  complaints = await openPage(page);
  await page.evaluate(
    ([identity, shape]) => {
      window.identity = Uint8Array.from(identity);
      window.shape = shape;
      window.numbers = (n) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * 1.7) * 100);
      window.sameBits = (a, b) =>
        a.length === b.length && new Uint32Array(a.slice().buffer).join() === new Uint32Array(b.slice().buffer).join();
      /** A device that the runtime has nothing to do with. */
      window.otherDevice = async () => (await navigator.gpu.requestAdapter()).requestDevice();
      window.bufferOf = (device, data, { usage = 4 | 8 | 128, at = 0 } = {}) => {
        const buffer = device.createBuffer({ size: at + data.byteLength, usage: usage | 8 });
        device.queue.writeBuffer(buffer, at, data);
        return buffer;
      };
      /** The edges of the ledger that grew while `action` ran. */
      window.moved = async (action) => {
        const of = () => Object.fromEntries(runtime.ledger.snapshot().edges.map((edge) => [edge.id, edge]));
        const before = of();
        const result = await action();
        const edges = Object.values(of()).flatMap(({ id, count, bytes, implicit, reason }) => {
          const was = before[id] ?? { count: 0, bytes: 0 };
          const grown = { id, count: count - was.count, bytes: bytes - was.bytes, implicit };
          return grown.count > 0 ? [{ ...grown, ...(reason && { reason }) }] : [];
        });
        return { result, edges };
      };
    },
    [IDENTITY, SHAPE],
  );
});

test.afterEach(async ({ page }) => {
  await closePage(page, complaints);
});

test("a card has four parts, and one that is missing or wrong is named", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const whole = { shape: [2, 3], dtype: "float32", layout: "row-major", data: new Float32Array(6) };
    const without = (part) => failure(() => runtime.tensor({ ...whole, [part]: undefined }));
    const buffer = bufferOf(runtime.device, new Float32Array(128));
    const range = { shape: [64], dtype: "float32", layout: "row-major", buffer };
    const memory = new WebAssembly.Memory({ initial: 1 });
    const wrong = [
      { ...whole, dtype: "float33" },
      { ...whole, layout: "NHWC" },
      { ...whole, shape: [2, -3] },
      { ...whole, strides: [3] },
      { ...whole, strides: [4, 1] },
      { ...whole, dtype: "int32" },
      { ...whole, buffer },
      { ...range, offset: 100 },
      { ...range, offset: 512 },
      { ...range, dtype: "uint8", shape: [129] },
      { ...whole, data: undefined, memory, offset: 65_516 },
    ];
    const text = ({ kind, message, where, hint }) => `${kind}: ${where}: ${message} (${hint})`;
    const missing = await Promise.all(["shape", "dtype", "layout", "data"].map(without));
    const unreadable = runtime.device.createBuffer({ size: 256, usage: 128 });
    const texts = [...missing, ...(await Promise.all(wrong.map((init) => failure(() => runtime.tensor(init)))))].map(
      text,
    );
    texts.push(text(await failure(() => runtime.tensor({ ...range, buffer: unreadable }))));
    const bytes = (dtype, data) => runtime.tensor({ shape: [2, 3], dtype, layout: "row-major", data }).bytes;
    return { texts, quarter: [bytes("uint8", new Uint8Array(6)), bytes("float32", new Float32Array(6))] };
  });
  expect(found.quarter).toEqual([6, 24]);
  expect(found.texts).toEqual([
    "shape-mismatch: tensor(): the identity card has no shape (say for instance shape: [1, 3, 128, 128], the outermost first)",
    'dtype-mismatch: tensor(): the identity card has no dtype (say for instance dtype: "float32"; nothing is guessed)',
    'layout-mismatch: tensor(): the identity card has no strides (say layout: "row-major" for an ordinary array, or strides in elements)',
    "device-mismatch: tensor(): the identity card has no device (hand in data, memory, or a buffer: it says where the elements are)",
    'dtype-mismatch: tensor(): "float33" is no element type (one of float32, float16, int32, uint32, int64, uint8, int8, bool)',
    'layout-mismatch: tensor(): elements are not handed in as "NHWC" (say layout: "row-major" for elements in the order of the shape, or their strides; permute() reads NHWC as NCHW)',
    "shape-mismatch: tensor(): shape is no list of whole numbers: [2,-3] (count elements, one number for each dimension, the outermost first)",
    "layout-mismatch: tensor(): shape [2, 3] has 2 dimensions, there are 1 strides (give one stride for each dimension, in elements, the outermost first)",
    "shape-mismatch: tensor(): a view [2, 3] with strides [4, 1] from element 0 needs 7 elements of float32, there are 6 (strides and offset count elements, not bytes; check them against the array)",
    "dtype-mismatch: tensor(): dtype says int32, the array holds float32 (say the type that the array holds; what has to be converted is then converted where it is fed)",
    "bad-source: tensor(): a tensor lies in one place, not in data and buffer (give one of data, buffer and memory)",
    "layout-mismatch: tensor(): offset 100 of a GPU buffer is no multiple of 256 (WebGPU binds ranges of a buffer to kernels at multiples of 256 bytes alone (minStorageBufferOffsetAlignment): begin each tensor at one, here for instance at 256)",
    "shape-mismatch: tensor(): 256 bytes from byte 512 on reach beyond a buffer of 512 bytes (elements of 8 bits and bool take 32 bits on the GPU, float16 takes 16)",
    "shape-mismatch: tensor(): 516 bytes from byte 0 on reach beyond a buffer of 512 bytes (elements of 8 bits and bool take 32 bits on the GPU, float16 takes 16)",
    "shape-mismatch: tensor(): 24 bytes from byte 65516 on do not lie in a wasm memory of 65536 bytes (the offset counts bytes from the memory's start)",
    "bad-source: tensor(): the buffer cannot be copied from (create it with GPUBufferUsage.COPY_SRC)",
  ]);
});

test("one mutant a part makes one red line", async ({ page }) => {
  const found = await page.evaluate(async (strides) => {
    const engine = await runtime.compile(identity);
    const [port] = engine.inputs;
    const base = { shape, dtype: "float32", layout: "row-major", data: numbers(768) };
    const foreign = bufferOf(await otherDevice(), base.data);
    const mutants = {
      none: base,
      shape: { ...base, shape: [1, 3, 16, 15] },
      dtype: { ...base, dtype: "int32", data: new Int32Array(768) },
      strides: { ...base, layout: undefined, strides },
      device: { ...base, data: undefined, buffer: foreign },
    };
    const checks = Object.entries(mutants).map(([name, init]) => {
      const check = runtime.check(runtime.tensor(init), port);
      const red = ["shape", "dtype", "strides", "device"].filter((part) => !check[part].ok);
      return [name, red, check.ok, check.verdict.path];
    });
    const lines = ["none", "strides"].map((name) => String(runtime.check(runtime.tensor(mutants[name]), port)));
    // Plain arrays and frames are held against the port, too.
    const plain = runtime.check(base.data, port);
    const short = runtime.check(new Float32Array(7), port);
    const [picture, list] = [await compilePicture(), await runtime.compile(models.increment)];
    const canvas = new OffscreenCanvas(32, 24);
    canvas.getContext("2d");
    const frame = (engine) => runtime.check(canvas, engine.inputs[0]);
    return { checks, lines, plain: plain.ok, short: short.shape, frame: [frame(picture), frame(list)].map(String) };
  }, NHWC_STRIDES);
  expect(found.checks).toEqual([
    ["none", [], true, "uploaded from CPU to GPU memory"],
    ["shape", ["shape"], false, "refused: shape-mismatch"],
    ["dtype", ["dtype"], false, "refused: dtype-mismatch"],
    ["strides", ["strides"], false, "uploaded from CPU to GPU memory, then laid again on the GPU"],
    ["device", ["device"], false, "refused: device-mismatch"],
  ]);
  expect(found.lines[0].split("\n")).toEqual([
    "shape   [1, 3, 16, 16]: ok",
    "dtype   float32: ok",
    "strides [768, 256, 16, 1]: ok",
    "device  host: ok, uploaded: one crossing from CPU to GPU memory",
    "no zero copy (shared-memory): uploaded from CPU to GPU memory",
  ]);
  expect(found.lines[1]).toContain(
    "strides expected [768, 256, 16, 1], got [768, 1, 48, 3]: a run lays them again on the GPU",
  );
  expect(found.plain).toBe(true);
  expect(found.short).toMatchObject({ ok: false, expected: "[1, 3, 16, 16]", got: "[7]" });
  expect(found.frame[0]).toContain("no zero copy (shared-memory): copied to a texture");
  expect(found.frame[1]).toContain("refused: bad-source");
});

test("zero copy needs shared memory, type and shape, and layout: all eight cases, and what a run then writes", async ({
  page,
}) => {
  const found = await page.evaluate(async (strides) => {
    const engine = await runtime.compile(identity);
    const request = await engine.requests(1).acquire();
    const own = request.input("x");
    // The first run says that no frame was fed.
    (await request.run({ x: numbers(768) })).release();
    const rows = [];
    for (const shared of [true, false]) {
      for (const typed of [true, false]) {
        for (const laid of [true, false]) {
          const place = shared
            ? { buffer: own.buffer, offset: own.offset }
            : { data: typed ? new Float32Array(768) : new Int32Array(768) };
          const order = laid ? { layout: "row-major" } : { strides };
          const tensor = runtime.tensor({ shape, dtype: typed ? "float32" : "int32", ...order, ...place });
          const { verdict } = runtime.check(tensor, engine.inputs[0]);
          const run = await moved(() => failure(async () => (await request.run({ x: tensor })).release()));
          const written = run.edges.filter(({ id }) => /^[a-z]+>(input|staging):/.test(id) && !id.startsWith("result"));
          const bytes = written.reduce((sum, edge) => sum + edge.bytes, 0);
          rows.push([shared, typed, laid, verdict.zeroCopy, verdict.failed, verdict.bytes === bytes, run.result.kind]);
        }
      }
    }
    return rows;
  }, NHWC_STRIDES);
  const failed = (...conditions) => conditions;
  expect(found).toEqual([
    [true, true, true, true, failed(), true, undefined],
    [true, true, false, false, failed("layout"), true, undefined],
    [true, false, true, false, failed("type-and-shape"), true, "dtype-mismatch"],
    [true, false, false, false, failed("type-and-shape", "layout"), true, "dtype-mismatch"],
    [false, true, true, false, failed("shared-memory"), true, undefined],
    [false, true, false, false, failed("shared-memory", "layout"), true, undefined],
    [false, false, true, false, failed("shared-memory", "type-and-shape"), true, "dtype-mismatch"],
    [false, false, false, false, failed("shared-memory", "type-and-shape", "layout"), true, "dtype-mismatch"],
  ]);
});

test("an NHWC view into an NCHW input is laid again on the GPU and counted; strict names the edge", async ({
  page,
}) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(identity);
    const data = numbers(768);
    const nhwc = runtime.tensor({ shape: [1, 16, 16, 3], dtype: "float32", layout: "row-major", data });
    const nchw = nhwc.permute([0, 3, 1, 2]);
    const copy = Float32Array.from({ length: 768 }, (_, i) => data[(i % 256) * 3 + Math.floor(i / 256)]);
    const { result, edges } = await moved(() => engine.run({ x: nchw }));
    const made = runtime.ledger.snapshot().buffersCreated;
    await engine.run({ x: nchw });
    const once = runtime.ledger.snapshot().buffersCreated - made;
    const strict = await runtime.compile(identity, { copies: "strict" });
    const refused = await failure(strict.run({ x: nchw }));
    const allowed = await strict.run({ x: copy });
    return {
      card: [nhwc.isContiguous, nchw.isContiguous, nchw.shape, nchw.strides],
      same: sameBits(result.y.data, copy),
      relaid: edges.filter(({ id }) => id.includes("relayout")),
      once,
      bound: await failure(() => runtime.ledger.assert({ implicit: 0 })),
      accounts: runtime.ledger.accounts().map(({ adapter, frames }) => [adapter.length > 0, frames]),
      frames: runtime.ledger.snapshot().frames,
      refused,
      allowed: sameBits(allowed.y.data, copy),
      order: await failure(() => nhwc.permute([0, 0, 1, 2])),
    };
  });
  expect(found.card).toEqual([true, false, SHAPE, NHWC_STRIDES]);
  expect(found.same).toBe(true);
  const reason = "strides are not the input's";
  expect(found.relaid).toEqual([
    { id: `staging>input:relayout/${reason}`, count: 1, bytes: 3072, implicit: true, reason },
  ]);
  expect(found.once).toBe(0);
  expect(found.bound).toMatchObject({ kind: "layout-mismatch" });
  expect(found.accounts.at(-1)).toEqual([true, found.frames]);
  expect(found.refused).toEqual({
    kind: "layout-mismatch",
    message: 'expected strides [768, 256, 16, 1], got [768, 1, 48, 3], and copies are "strict"',
    where: 'input "x" (edge javascript>input)',
    hint: 'hand in a contiguous row-major copy, or compile with copies: "report" to have it laid again on the GPU',
  });
  expect(found.allowed).toBe(true);
  expect(found.order).toMatchObject({ kind: "shape-mismatch", where: "permute()" });
});

test("a region of interest equals the cropped copy, in arrays, wasm memory and GPU buffers", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(identity);
    const [height, width] = [20, 24];
    const data = numbers(3 * height * width);
    const crop = Float32Array.from({ length: 768 }, (_, i) => {
      const [c, y, x] = [Math.floor(i / 256), Math.floor(i / 16) % 16, i % 16];
      return data[(c * height + y + 2) * width + x + 5];
    });
    const memory = new WebAssembly.Memory({ initial: 1 });
    new Float32Array(memory.buffer, 64, data.length).set(data);
    const buffer = bufferOf(runtime.device, data, { at: 256 });
    const card = { shape: [1, 3, height, width], dtype: "float32", layout: "row-major" };
    const whole = [{ data }, { memory, offset: 64 }, { buffer, offset: 256 }].map((place) =>
      runtime.tensor({ ...card, ...place }),
    );
    const regions = whole.map((tensor) => tensor.region({ start: [0, 0, 2, 5], size: [1, 3, 16, 16] }));
    const same = [];
    const edges = [];
    for (const x of regions) {
      const run = await moved(() => engine.run({ x }));
      same.push(sameBits(run.result.y.data, crop));
      edges.push(run.edges.map(({ id }) => id.split("/")[0]).filter((id) => !id.includes("result")));
    }
    // What is written into the memory after it has grown is what is read.
    memory.grow(1);
    new Float32Array(memory.buffer, 64, data.length).fill(7);
    const grown = await engine.run({ x: regions[1] });
    return {
      same,
      edges,
      devices: regions.map((region) => [region.device, region.isContiguous, region.bytes]),
      grown: grown.y.data.every((value) => value === 7),
      rows: whole[0].region({ start: [0, 1, 0, 0], size: [1, 2, height, width] }).isContiguous,
      outside: await failure(() => whole[0].region({ start: [0, 0, 5, 0], size: [1, 3, 16, 16] })),
    };
  });
  expect(found.same).toEqual([true, true, true]);
  expect(found.edges).toEqual(
    [
      ["javascript>staging:upload", "staging>input:relayout"],
      ["wasm>staging:upload", "staging>input:relayout"],
      ["arena>staging:copy", "staging>input:relayout"],
    ].map((edges) => expect.arrayContaining(edges)),
  );
  expect(found.devices).toEqual(["host", "wasm", "gpu"].map((device) => [device, false, 3072]));
  expect([found.grown, found.rows]).toEqual([true, true]);
  expect(found.outside).toMatchObject({ kind: "shape-mismatch", where: "region()" });
});

test("objects of another GPUDevice are refused, nothing hangs, and the runtime works on", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(identity);
    const picture = await compilePicture();
    const request = await engine.requests(1).acquire();
    const data = numbers(768);
    const other = await otherDevice();
    const card = { shape, dtype: "float32", layout: "row-major" };
    const foreign = runtime.tensor({ ...card, buffer: bufferOf(other, data) });
    const strided = foreign.permute([0, 1, 3, 2]);
    const texture = other.createTexture({ size: [32, 24], format: "rgba8unorm", usage: 4 });
    const refused = [
      await failure(engine.run({ x: foreign })),
      await failure(request.run({ x: foreign })),
      await failure(request.submit({ x: strided })),
      await failure(picture.run({ x: texture })),
    ];
    const local = runtime.tensor({ ...card, buffer: bufferOf(runtime.device, data) });
    const works = [];
    for (const x of [data, local, data]) {
      works.push(sameBits((await engine.run({ x })).y.data, data));
      const lease = await request.run({ x });
      works.push(sameBits(lease.outputs.y.read(), data));
    }
    const [port, frames] = [engine.inputs[0], picture.inputs[0]];
    const checks = [runtime.check(local, port).device.ok, runtime.check(foreign, port).device.ok];
    runtime.check(texture, frames);
    await sleep(200);
    checks.push(runtime.check(texture, frames).device.ok);

    // The page's own device: it is asked.
    const shared = await frameway.Runtime.create({ device: other });
    const mine = shared.tensor({ ...card, buffer: foreign.buffer });
    const theirs = shared.tensor({ ...card, buffer: local.buffer });
    await sleep(200);
    const asked = [mine, theirs].map((tensor) => shared.check(tensor, port).device.ok);
    const sharedEngine = await shared.compile(identity);
    const ran = sameBits((await sharedEngine.run({ x: mine })).y.data, data);
    const swapped = await failure(sharedEngine.run({ x: theirs }));
    const errors = shared.errors();
    await shared.close();
    return { refused, works, checks, asked, ran, swapped: swapped.kind, errors };
  });
  for (const error of found.refused.slice(0, 3)) {
    expect(error).toEqual({
      kind: "device-mismatch",
      message: "the buffer belongs to another GPUDevice than this runtime's",
      where: 'input "x"',
      hint: "make it with runtime.device, or give your device to Runtime.create({ device })",
    });
  }
  expect(found.refused[3]).toMatchObject({ kind: "device-mismatch", where: 'input "x"' });
  expect(found.works).toEqual(new Array(6).fill(true));
  expect(found.checks).toEqual([true, false, false]);
  expect(found).toMatchObject({ asked: [true, false], ran: true, swapped: "device-mismatch", errors: [] });
});

test("a GPU texture is a frame and is read where it lies", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await compilePicture();
    const [width, height] = [40, 24];
    const pixels = Uint8ClampedArray.from({ length: width * height * 4 }, (_, i) =>
      i % 4 === 3 ? 255 : (i * 37) % 256,
    );
    const { device } = runtime;
    const make = (usage, format = "rgba8unorm") => device.createTexture({ size: [width, height], format, usage });
    const texture = make(4 | 2);
    device.queue.writeTexture({ texture }, pixels, { bytesPerRow: width * 4 }, [width, height]);
    const verdict = runtime.check(texture, engine.inputs[0]).verdict;
    const { result, edges } = await moved(() => engine.run({ x: texture }));
    const picture = await engine.run({ x: new ImageData(pixels, width, height) });
    // Either kind of frame may follow the other.
    const { video, stop } = await film(0);
    await engine.run({ x: video });
    const again = await engine.run({ x: texture });
    stop();
    const difference = result.y.data.map((value, i) => Math.abs(value - picture.y.data[i]));
    return {
      verdict,
      difference: Math.max(...difference),
      some: new Set(result.y.data).size,
      same: sameBits(again.y.data, result.y.data),
      copies: edges.filter(({ id }) => id.includes("copy") && !id.startsWith("result")),
      unreadable: await failure(engine.run({ x: make(2) })),
      format: await failure(engine.run({ x: make(4, "r32float") })),
    };
  });
  expect(found.verdict).toMatchObject({ zeroCopy: true, failed: [], bytes: 0 });
  expect(found.difference).toBeLessThan(1 / 255);
  expect(found.some).toBeGreaterThan(100);
  expect(found.same).toBe(true);
  expect(found.copies).toEqual([]);
  expect(found.unreadable).toMatchObject({ kind: "bad-source", message: "the texture cannot be sampled" });
  expect(found.format).toMatchObject({ kind: "bad-source", message: expect.stringContaining("r32float") });
});

test("the page writes a request's input where it is read: no copy at all", async ({ page }) => {
  const found = await page.evaluate(async () => {
    const engine = await runtime.compile(models.picture);
    const request = await engine.requests(1).acquire();
    const x = request.input("x");
    const { device } = runtime;
    const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] = f32(id.x) * 0.5; }`;
    const module = device.createShaderModule({ code });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const resource = { buffer: x.buffer, offset: x.offset, size: x.bytes };
    const layout = pipeline.getBindGroupLayout(0);
    const group = device.createBindGroup({ layout, entries: [{ binding: 0, resource }] });
    const write = () => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(768 / 64);
      pass.end();
      device.queue.submit([encoder.finish()]);
    };
    const verdict = runtime.check(x, engine.inputs[0]).verdict;
    (await request.run({ x: numbers(768) })).release();
    const right = [];
    const { edges } = await moved(async () => {
      for (let n = 0; n < 3; n++) {
        write();
        const lease = await request.run({ x });
        right.push(lease.outputs.y.read().every((value, i) => value === i * 0.5 + 1));
        lease.release();
      }
    });
    const other = await engine.requests(1).acquire();
    (await other.run({ x: numbers(768) })).release();
    write();
    const copied = await moved(() => other.run({ x }));
    return {
      verdict,
      right,
      edges: edges.filter(({ id }) => id.includes(">input")),
      copied: copied.edges.filter(({ id }) => id.includes(">input")).map(({ id, bytes }) => [id, bytes]),
      unknown: await failure(() => request.input("z")),
    };
  });
  expect(found.verdict).toEqual({ zeroCopy: true, failed: [], path: "read where it lies by the network", bytes: 0 });
  expect(found.right).toEqual([true, true, true]);
  expect(found.edges).toEqual([{ id: "arena>input:reference", count: 3, bytes: 0, implicit: false }]);
  expect(found.copied).toEqual([["arena>input:copy", 3072]]);
  expect(found.unknown).toMatchObject({ kind: "bad-source", hint: "its inputs are: x" });
});

test("verify() finds a real detector sound, layer by layer", async ({ page }) => {
  const found = await page.evaluate(async (model) => {
    const engine = await runtime.compile(model);
    const [{ name, shape }] = engine.inputs;
    const data = numbers(shape.reduce((a, b) => a * b)).map((value) => value / 100);
    const result = await engine.verify({ [name]: data });
    const { layers } = engine.inspect("names");
    const before = runtime.memory().gpu.total;
    // The file is read again from where it came.
    const bytes = new Uint8Array(await (await fetch(model)).arrayBuffer());
    const fromBytes = await runtime.compile(bytes);
    const again = await fromBytes.verify({ [name]: data }, { runs: 1 });
    await fromBytes.close();
    const closed = await failure(fromBytes.verify({ [name]: data }));
    const once = await runtime.compile(await fetch(model));
    const response = await failure(once.verify({ [name]: data }));
    await once.close();
    const left = runtime.memory().gpu.total - before;
    return { result, layers: layers.length, again: again.ok, closed: closed.kind, response: response.kind, left };
  }, MODEL);
  expect(found.result).toMatchObject({ ok: true, runs: 2, repeatable: true, layers: found.layers });
  expect(found.result.first).toBeUndefined();
  expect(found.result.worst.error).toBeLessThan(1e-4);
  expect(found).toMatchObject({ again: true, closed: "closed", response: "bad-source", left: 0 });
});

test("verify() names a kernel that was broken on purpose, and takes frames and models that only copy", async ({
  page,
}) => {
  const found = await page.evaluate(
    async ([model, open]) => {
      // A pool that takes the least instead of the largest: this browser's driver is broken.
      const create = GPUDevice.prototype.createShaderModule;
      let broken = 0;
      GPUDevice.prototype.createShaderModule = function (descriptor) {
        const code = descriptor.code.replace("return max(a, b);", "return min(a, b);");
        broken += code === descriptor.code ? 0 : 1;
        return create.call(this, { ...descriptor, code });
      };
      const engine = await runtime.compile(model);
      GPUDevice.prototype.createShaderModule = create;
      const canvas = new OffscreenCanvas(128, 128);
      const context = canvas.getContext("2d");
      context.fillStyle = "#48c";
      context.fillRect(20, 30, 60, 50);
      const [{ name }] = engine.inputs;
      const result = await engine.verify({ [name]: canvas }, { runs: 1 });
      const pool = engine.inspect("names").layers.find(({ op }) => op === "MaxPool");
      const plain = await runtime.compile(identity);
      // With dynamic shapes it is the plan for what is fed.
      const dynamic = await runtime.compile(Uint8Array.from(open));
      const lengths = [];
      for (const n of [12, 30]) lengths.push((await dynamic.verify({ x: numbers(n) })).ok, dynamic.plans);
      return { broken, result, pool: pool.index, plain: await plain.verify({ x: numbers(768) }), lengths };
    },
    [MODEL, OPEN],
  );
  expect(found.broken).toBeGreaterThan(0);
  expect(found.result).toMatchObject({ ok: false, runs: 1, first: { op: "MaxPool", index: found.pool } });
  expect(found.result.first.error).toBeGreaterThan(0.01);
  expect(found.plain).toMatchObject({ ok: true, layers: 1, repeatable: true });
  expect(found.lengths).toEqual([true, 1, true, 2]);
});
