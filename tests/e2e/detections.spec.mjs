// From raw outputs to faces: the GPU's list against a decoder written here, on the goldens' outputs and on the network's own.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { complaintsOf, MODEL, openBlank, readNpy, root } from "./support/page.mjs";

test.setTimeout(240_000);

const GOLDEN = new URL("../shared/goldens/blazeface_front_128/", root);

/** Runs in the page: holds a list of detections against the reference's. */
function install() {
  window.differences = (found, wanted) => {
    if (found.length !== wanted.length) return [`${found.length} faces where ${wanted.length} were expected`];
    const problems = [];
    wanted.forEach((face, i) => {
      const got = found[i];
      if (Math.abs(got.score - face.score) > 1e-3) problems.push(`face ${i}: score ${got.score}, not ${face.score}`);
      for (const side of ["x", "y", "width", "height"]) {
        if (!(Math.abs(got[side] - face[side]) <= 1))
          problems.push(`face ${i}: ${side} ${got[side]}, not ${face[side]}`);
      }
      if (got.keypoints.length !== 6) problems.push(`face ${i}: ${got.keypoints.length} keypoints`);
      face.keypoints.forEach((point, k) => {
        const off = Math.hypot(got.keypoints[k].x - point.x, got.keypoints[k].y - point.y);
        if (!(off <= 1)) problems.push(`face ${i}: keypoint ${k} is off by ${off} pixels`);
      });
    });
    return problems;
  };
}

/** The options of the detector, for a model with these names. */
const ANCHORS = [
  { stride: 8, count: 2 },
  { stride: 16, count: 6 },
];

test("the goldens' raw outputs become the reference's faces", async ({ page }) => {
  test.skip(!existsSync(GOLDEN), `needs ${GOLDEN.pathname}`);
  const complaints = complaintsOf(page);
  const [scores0, scores1, boxes0, boxes1] = [0, 1, 2, 3].map((i) => readNpy(new URL(`output_${i}.npy`, GOLDEN)));
  const raw = { scores0, boxes0, scores1, boxes1 };
  await openBlank(page);
  await page.evaluate(install);
  const results = await page.evaluate(
    async ({ raw, anchors }) => {
      const { Runtime, detectionsOf, postprocess } = await import("/www/lib/index.ts");
      const { identityModel } = await import("/tests/e2e/support/onnx.mjs");
      const { decodeFaces } = await import("/tests/e2e/support/reference.mjs");
      const runtime = await Runtime.create();
      const port = (name, shape) => ({ input: `raw ${name}`, output: name, shape });
      const model = identityModel([
        port("picture", [1, 128, 128, 3]),
        port("scores0", [1, 512, 1]),
        port("boxes0", [1, 512, 16]),
        port("scores1", [1, 384, 1]),
        port("boxes1", [1, 384, 16]),
      ]);
      const feeds = { "raw picture": new Float32Array(128 * 128 * 3) };
      for (const [name, values] of Object.entries(raw)) feeds[`raw ${name}`] = Float32Array.from(values);
      const results = [];
      // Low thresholds, so that there is something to suppress whatever the golden's picture shows.
      for (const nms of ["best", "blend"]) {
        for (const threshold of [0.5, 0.2, 0.05]) {
          const options = { nms, threshold, keypoints: 6, max: 16 };
          const engine = await runtime.compile(model, {
            postprocess: postprocess.detections({
              ...options,
              scores: ["scores0", "scores1"],
              boxes: ["boxes0", "boxes1"],
              anchors,
              input: "raw picture",
            }),
          });
          const { detections } = await engine.run(feeds);
          const wanted = decodeFaces([...raw.scores0, ...raw.scores1], [...raw.boxes0, ...raw.boxes1], options);
          results.push({
            options: JSON.stringify(options),
            faces: wanted.length,
            problems: window.differences(detectionsOf(detections), wanted),
            bytes: detections.data.byteLength,
          });
          await engine.close();
        }
      }
      await runtime.close();
      return results;
    },
    { raw, anchors: ANCHORS },
  );
  for (const { options, problems, bytes } of results) {
    expect(problems, options).toEqual([]);
    expect(bytes).toBeLessThanOrEqual(4096);
  }
  expect(Math.max(...results.map(({ faces }) => faces))).toBeGreaterThan(1);
  // One engine for each set of options is what is tested here; the runtime rightly calls it churn.
  expect(complaints.filter((text) => !text.includes("made anew for nearly every run"))).toEqual([]);
});

test("frames of any shape give boxes in their own pixels, letterboxed, cut and stretched", async ({ page }) => {
  const complaints = complaintsOf(page);
  const picture = readFileSync(new URL("node_modules/@vladmandic/face-api/demo/sample3.jpg", root)).toString("base64");
  await openBlank(page);
  await page.evaluate(install);
  const results = await page.evaluate(
    async ({ model, anchors, picture }) => {
      const { Runtime, detectionsOf, postprocess, preprocess } = await import("/www/lib/index.ts");
      const { decodeFaces, toFrame } = await import("/tests/e2e/support/reference.mjs");
      const runtime = await Runtime.create();
      const whole = await createImageBitmap(await (await fetch(`data:image/jpeg;base64,${picture}`)).blob());
      const raws = {};
      const way = (fit) => ({ "input:0": preprocess.image().resize({ fit }).range(-1, 1) });
      const fits = ["contain", "cover", "stretch"];
      for (const fit of fits) raws[fit] = await runtime.compile(model, { preprocess: way(fit) });
      const results = [];
      for (const nms of ["best", "blend"]) {
        for (const fit of fits) {
          const options = { nms, threshold: 0.3, keypoints: 6, max: 16 };
          const engine = await runtime.compile(model, {
            preprocess: way(fit),
            postprocess: postprocess.detections({
              ...options,
              scores: ["Identity:0", "Identity_1:0"],
              boxes: ["Identity_2:0", "Identity_3:0"],
              anchors,
            }),
          });
          for (const [width, height] of [
            [640, 480],
            [480, 640],
            [600, 600],
          ]) {
            const canvas = new OffscreenCanvas(width, height);
            const scale = 1.2 * Math.max(width / whole.width, height / whole.height);
            const [w, h] = [whole.width * scale, whole.height * scale];
            canvas.getContext("2d").drawImage(whole, (width - w) / 2, (height - h) / 4, w, h);
            const { detections } = await engine.run({ "input:0": canvas });
            const raw = await raws[fit].run({ "input:0": canvas });
            const join = (...names) => names.flatMap((name) => [...raw[name].data]);
            const wanted = decodeFaces(
              join("Identity:0", "Identity_1:0"),
              join("Identity_2:0", "Identity_3:0"),
              options,
            );
            results.push({
              name: `${nms}, ${fit}, ${width} x ${height}`,
              faces: wanted.length,
              problems: window.differences(detectionsOf(detections), toFrame(wanted, { width, height }, fit)),
            });
          }
          await engine.close();
        }
      }
      await runtime.close();
      return results;
    },
    { model: MODEL, anchors: ANCHORS, picture },
  );
  for (const { name, problems } of results) expect(problems, name).toEqual([]);
  expect(results.filter(({ faces }) => faces > 0).length).toBeGreaterThanOrEqual(12);
  expect(complaints).toEqual([]);
});
