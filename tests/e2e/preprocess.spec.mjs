// From a frame to a model's input: every source, both ways in, every option, against the reference, within one level of 255.
import { expect, test } from "@playwright/test";
import { complaintsOf, openBlank } from "./support/page.mjs";

test.setTimeout(300_000);

/** Runs in the page: what the tests below share. */
async function prepare() {
  const { Runtime, preprocess } = await import("/www/lib/index.ts");
  const { identityModel } = await import("/tests/e2e/support/onnx.mjs");
  const { worstError } = await import("/tests/e2e/support/reference.mjs");
  const runtime = await Runtime.create();

  /** Smooth ramps with hard edges, no two neighbours alike. */
  const picture = (width, height) => {
    const data = new Uint8ClampedArray(width * height * 4);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const checker = ((x >> 3) + (y >> 3)) % 2 ? 60 : 0;
        data.set(
          [(x * 255) / width, (y * 195) / height + checker, ((x * 5 + y * 3) * 7) % 256, 255],
          4 * (y * width + x),
        );
      }
    }
    return new ImageData(data, width, height);
  };

  /** Applies one of the table's rows to the chain. */
  const chain = (options) => {
    let steps = preprocess.image();
    if (options.crop) steps = steps.crop(options.crop);
    if (options.rotate) steps = steps.rotate(options.rotate);
    if (options.flip) steps = steps.flip("horizontal");
    const { fit, filter, pad } = options;
    steps = steps.resize(
      Object.fromEntries(Object.entries({ fit, filter, pad }).filter(([, value]) => value !== undefined)),
    );
    if (options.color && options.color !== "rgba") steps = steps.color(options.color);
    if (options.range) steps = steps.range(...options.range);
    if (options.normalize) steps = steps.normalize(options.normalize);
    if (options.dtype) steps = steps.dtype(options.dtype);
    return steps;
  };

  /** The reference's factor and summand per channel. */
  const affine = ({ range, normalize, dtype }) => {
    const [low, high] = range ?? (dtype === "uint8" ? [0, 255] : [0, 1]);
    const each = (k) => {
      const [mean, std] = normalize
        ? [normalize.mean[k] ?? normalize.mean[0], normalize.std[k] ?? normalize.std[0]]
        : [0, 1];
      return [(high - low) / std, (low - mean) / std];
    };
    return { scale: [0, 1, 2].map((k) => each(k)[0]), bias: [0, 1, 2].map((k) => each(k)[1]) };
  };

  const compile = (options) => {
    const channels = { rgb: 3, bgr: 3, rgba: 4, gray: 1 }[options.color ?? "rgb"];
    const { width, height } = options;
    const shape = options.channelsLast ? [1, height, width, channels] : [1, channels, height, width];
    const model = identityModel([{ input: "x", output: "y", shape, dtype: options.dtype ?? "float32" }]);
    return runtime.compile(model, { preprocess: { x: chain(options) } });
  };

  const run = async (engine, source) => {
    const { y } = await engine.run({ x: source });
    return y.dtype === "float16" && !(y.data instanceof Float32Array) ? Array.from(y.data) : y.data;
  };

  /** Which way the last frame came: `reference` or `copy`. */
  const way = () => {
    const edges = runtime.ledger.snapshot().edges.filter((edge) => edge.to === "texture");
    return edges.reduce((last, edge) => ((edge.lastFrame ?? 0) >= (last?.lastFrame ?? 0) ? edge : last), undefined)
      ?.kind;
  };
  window.kit = { runtime, picture, affine, compile, run, way, worstError };
}

test.beforeEach(async ({ page }) => {
  await openBlank(page);
  await page.evaluate(prepare);
});

test.afterEach(async ({ page }) => {
  const [errors, left] = await page.evaluate(async () => {
    const { runtime } = window.kit;
    const errors = runtime.errors();
    await runtime.close();
    return [errors, runtime.memory().gpu.total];
  });
  expect(errors).toEqual([]);
  expect(left).toBe(0);
});

/** Every fit with every filter, growing and shrinking; colours, ranges, layouts, types; crops, turns, mirrors. */
const CASES = [
  ...["stretch", "contain", "cover"].flatMap((fit) =>
    ["linear", "nearest", "cubic"].flatMap((filter) => [
      { fit, filter, width: 32, height: 32 },
      { fit, filter, width: 47, height: 101, pad: 114 },
    ]),
  ),
  ...["rgb", "bgr", "rgba", "gray"].flatMap((color) =>
    [false, true].map((channelsLast) => ({
      color,
      channelsLast,
      width: 24,
      height: 20,
      fit: "contain",
      range: [-1, 1],
    })),
  ),
  { width: 24, height: 20, range: [0, 255] },
  { width: 24, height: 20, normalize: { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } },
  { width: 24, height: 20, range: [0, 255], color: "bgr", normalize: { mean: [104, 117, 123], std: [1, 2, 4] } },
  { width: 24, height: 20, dtype: "uint8" },
  { width: 24, height: 20, dtype: "uint8", channelsLast: true, color: "bgr" },
  ...[0, 90, 180, 270].flatMap((rotate) => [
    { rotate, width: 30, height: 26, crop: { x: 9, y: 5, width: 40, height: 30 }, fit: "contain", pad: 255 },
    { rotate, flip: true, width: 26, height: 30, fit: "cover" },
  ]),
];

test("every option gives what the reference gives, copied and read in place", async ({ page }) => {
  const complaints = complaintsOf(page);
  const results = await page.evaluate(async (cases) => {
    const { picture, affine, compile, run, way, worstError } = window.kit;
    const pixels = picture(64, 48);
    const results = [];
    for (const options of cases) {
      const engine = await compile(options);
      const wanted = { ...options, ...affine(options) };
      const frame = new VideoFrame(pixels.data, { format: "RGBA", codedWidth: 64, codedHeight: 48, timestamp: 0 });
      for (const [source, kind] of [
        [pixels, "copy"],
        [frame, "reference"],
      ]) {
        const error = worstError(await run(engine, source), pixels, wanted);
        results.push({ options: JSON.stringify(options), kind, way: way(), error });
      }
      frame.close();
      await engine.close();
    }
    return results;
  }, CASES);
  expect(results).toHaveLength(2 * CASES.length);
  for (const { options, kind, way, error } of results) {
    expect(way, options).toBe(kind);
    expect(error, `${options}, ${kind}`).toBeLessThanOrEqual(1);
  }
  // One engine for each option is what is tested here; the runtime rightly calls it churn.
  expect(complaints.filter((text) => !text.includes("made anew for nearly every run"))).toEqual([]);
});

test("every source gives the same pixels, both ways in", async ({ page }) => {
  const complaints = complaintsOf(page);
  const results = await page.evaluate(async () => {
    const { picture, affine, compile, run, way, worstError } = window.kit;
    const [width, height] = [64, 48];
    const pixels = picture(width, height);
    const drawn = (canvas) => {
      canvas.getContext("2d").putImageData(pixels, 0, 0);
      return canvas;
    };
    const image = new Image();
    image.src = URL.createObjectURL(
      await drawn(new OffscreenCanvas(width, height)).convertToBlob({ type: "image/png" }),
    );
    await image.decode();
    const planes = (format) =>
      new VideoFrame(pixels.data, { format, codedWidth: width, codedHeight: height, timestamp: 0 });
    const sources = {
      ImageData: pixels,
      ImageBitmap: await createImageBitmap(pixels),
      OffscreenCanvas: drawn(new OffscreenCanvas(width, height)),
      canvas: drawn(Object.assign(document.createElement("canvas"), { width, height })),
      img: image,
      "VideoFrame RGBA": planes("RGBA"),
      "VideoFrame RGBX": planes("RGBX"),
    };
    const options = { width: 40, height: 40, fit: "contain", range: [-1, 1] };
    const wanted = { ...options, ...affine(options) };
    const engine = await compile(options);
    const results = [];
    for (const [name, source] of Object.entries(sources)) {
      for (const external of [true, false]) {
        engine.externalTextures = external;
        const error = worstError(await run(engine, source), pixels, wanted);
        const kind = external && name.startsWith("VideoFrame") ? "reference" : "copy";
        results.push({ name, kind, way: way(), error });
      }
    }
    return results;
  });
  expect(results).toHaveLength(14);
  for (const { name, kind, way, error } of results) {
    expect(way, name).toBe(kind);
    expect(error, `${name}, ${kind}`).toBeLessThanOrEqual(1);
  }
  expect(complaints).toEqual([]);
});

test("a bt709 frame is converted as the standard says", async ({ page }) => {
  const results = await page.evaluate(async () => {
    const { affine, compile, run, way, worstError } = window.kit;
    const [width, height] = [64, 48];
    // Colours in blocks as large as the chroma's samples, so that nothing depends on how chroma is interpolated.
    const luma = (x, y) => 16 + (((x >> 4) * 53 + (y >> 4) * 31) % 200);
    const chroma = (x, y, k) => 128 + (((x >> 4) * 11 + (y >> 4) * 17 + k * 23) % 41) - 20;
    const data = new Uint8Array((width * height * 3) / 2);
    const pixels = { width, height, data: new Uint8ClampedArray(width * height * 4) };
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const [luminance, u, v] = [luma(x, y), chroma(x, y, 0), chroma(x, y, 1)];
        data[y * width + x] = luminance;
        const at = (y >> 1) * (width / 2) + (x >> 1);
        data[width * height + at] = u;
        data[(width * height * 5) / 4 + at] = v;
        // ITU-R BT.709, narrow range: Kr = 0.2126, Kb = 0.0722.
        const [l, cb, cr] = [(luminance - 16) / 219, (u - 128) / 224, (v - 128) / 224];
        const [r, b] = [l + 2 * (1 - 0.2126) * cr, l + 2 * (1 - 0.0722) * cb];
        const g = (l - 0.2126 * r - 0.0722 * b) / 0.7152;
        pixels.data.set(
          [r, g, b, 1].map((level) => Math.round(255 * Math.min(1, Math.max(0, level)))),
          4 * (y * width + x),
        );
      }
    }
    const colorSpace = { primaries: "bt709", transfer: "bt709", matrix: "bt709", fullRange: false };
    const frame = () =>
      new VideoFrame(data, { format: "I420", codedWidth: width, codedHeight: height, timestamp: 0, colorSpace });
    // The middle of each block of 16: a 4 x 3 result, nearest.
    const options = { width: 4, height: 3, filter: "nearest", range: [0, 255] };
    const wanted = { ...options, ...affine(options) };
    const engine = await compile(options);
    const results = [];
    for (const external of [true, false]) {
      engine.externalTextures = external;
      const source = frame();
      results.push({ error: worstError(await run(engine, source), pixels, wanted), way: way() });
      source.close();
    }
    return results;
  });
  expect(results.map(({ way }) => way)).toEqual(["reference", "copy"]);
  // Half a level is lost where the reference itself is rounded to 8 bits.
  for (const { error, way } of results) expect(error, way).toBeLessThanOrEqual(1.5);
});

test("a <video> gives what the browser itself draws of it, both ways in", async ({ page }) => {
  const results = await page.evaluate(async () => {
    const { affine, compile, run, way, worstError } = window.kit;
    const [width, height] = [96, 64];
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    const video = document.createElement("video");
    video.muted = true;
    const paint = () => {
      for (let i = 0; i < 24; i++) {
        context.fillStyle = `rgb(${60 + 5 * i}, ${200 - 4 * i}, ${90 + 3 * i})`;
        context.fillRect((i % 6) * 16, Math.floor(i / 6) * 16, 16, 16);
      }
    };
    paint();
    video.srcObject = canvas.captureStream(30);
    const timer = setInterval(paint, 30);
    await video.play();
    await new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    clearInterval(timer);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const drawn = new OffscreenCanvas(width, height).getContext("2d");
    drawn.drawImage(video, 0, 0);
    const pixels = drawn.getImageData(0, 0, width, height);
    const options = { width: 6, height: 4, filter: "nearest", range: [0, 255] };
    const wanted = { ...options, ...affine(options) };
    const engine = await compile(options);
    const results = [];
    for (const external of [true, false]) {
      engine.externalTextures = external;
      results.push({ error: worstError(await run(engine, video), pixels, wanted), way: way() });
    }
    return results;
  });
  expect(results.map(({ way }) => way)).toEqual(["reference", "copy"]);
  for (const { error, way } of results) expect(error, way).toBeLessThanOrEqual(1);
});
