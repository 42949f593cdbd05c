// What pre-processing and decoding are meant to compute, written again from their definitions, in the plainest way.

/** Where the centre of a result's pixel lies in the frame, and whether that is inside the part that is looked at. */
function locate(frame, options, x, y) {
  const crop = options.crop ?? { x: 0, y: 0, width: frame.width, height: frame.height };
  const turns = (options.rotate ?? 0) / 90;
  const [regionWidth, regionHeight] = turns % 2 ? [crop.height, crop.width] : [crop.width, crop.height];
  const ratios = [regionWidth / options.width, regionHeight / options.height];
  const [sx, sy] = {
    stretch: ratios,
    contain: [Math.max(...ratios), Math.max(...ratios)],
    cover: [Math.min(...ratios), Math.min(...ratios)],
  }[options.fit ?? "stretch"];
  // From the middle of the result to the middle of the region as it is seen, turned and mirrored.
  let u = regionWidth / 2 + (x - options.width / 2) * sx;
  let v = regionHeight / 2 + (y - options.height / 2) * sy;
  if (options.flip) u = regionWidth - u;
  let [width, height] = [regionWidth, regionHeight];
  for (let i = 0; i < turns; i++) {
    // A picture turned clockwise shows at (u, v) what stood at (v, width - u).
    [u, v] = [v, width - u];
    [width, height] = [height, width];
  }
  const inside = u >= 0 && v >= 0 && u < crop.width && v < crop.height;
  return { x: u + crop.x, y: v + crop.y, inside, crop };
}

function pixelOf(frame, crop, x, y) {
  const column = Math.min(Math.max(x, Math.floor(crop.x)), Math.ceil(crop.x + crop.width) - 1);
  const row = Math.min(Math.max(y, Math.floor(crop.y)), Math.ceil(crop.y + crop.height) - 1);
  const at = (row * frame.width + column) * 4;
  return [0, 1, 2].map((channel) => frame.data[at + channel] / 255);
}

/** Keys' cubic convolution with a = -0.5. */
function keys(distance) {
  const d = Math.abs(distance);
  if (d < 1) return 1.5 * d ** 3 - 2.5 * d ** 2 + 1;
  return d < 2 ? -0.5 * d ** 3 + 2.5 * d ** 2 - 4 * d + 2 : 0;
}

const KERNELS = {
  nearest: { reach: 1, weight: (d) => (d > -0.5 && d <= 0.5 ? 1 : 0) },
  linear: { reach: 1, weight: (d) => Math.max(0, 1 - Math.abs(d)) },
  cubic: { reach: 2, weight: keys },
};

function sample(frame, crop, x, y, filter) {
  if (filter === "nearest") return pixelOf(frame, crop, Math.floor(x), Math.floor(y));
  const { reach, weight } = KERNELS[filter];
  const sum = [0, 0, 0];
  for (let row = Math.floor(y - 0.5) - reach + 1; row <= Math.floor(y - 0.5) + reach; row++) {
    for (let column = Math.floor(x - 0.5) - reach + 1; column <= Math.floor(x - 0.5) + reach; column++) {
      const factor = weight(x - 0.5 - column) * weight(y - 0.5 - row);
      pixelOf(frame, crop, column, row).forEach((level, k) => {
        sum[k] += factor * level;
      });
    }
  }
  return sum.map((level) => Math.min(1, Math.max(0, level)));
}

/** Levels 0..1 of one pixel of the result, in its channels' order. */
function levelsAt(frame, options, x, y, shift = [0, 0]) {
  const at = locate(frame, options, x + 0.5 + shift[0], y + 0.5 + shift[1]);
  const [r, g, b] = at.inside
    ? sample(frame, at.crop, at.x, at.y, options.filter ?? "linear")
    : Array(3).fill((options.pad ?? 0) / 255);
  return {
    rgb: [r, g, b],
    bgr: [b, g, r],
    rgba: [r, g, b, 1],
    gray: [0.299 * r + 0.587 * g + 0.114 * b],
  }[options.color ?? "rgb"];
}

/**
 * The largest error of `got` in levels of 255, against `frame` ({ width, height, data: RGBA }) pre-processed by `options`:
 * crop, rotate, flip, width, height, fit, filter, pad, color, scale, bias, channelsLast. Where a pixel's place is on the
 * line between two pixels of the frame, either will do.
 */
export function worstError(got, frame, options) {
  const channels = { rgb: 3, bgr: 3, rgba: 4, gray: 1 }[options.color ?? "rgb"];
  const { width, height } = options;
  if (got.length !== width * height * channels) return Number.POSITIVE_INFINITY;
  const shifts = [-1e-3, 0, 1e-3].flatMap((dx) => [-1e-3, 0, 1e-3].map((dy) => [dx, dy]));
  let worst = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const errorOf = (shift) => {
        const levels = levelsAt(frame, options, x, y, shift);
        return Math.max(
          ...levels.map((level, k) => {
            const index = options.channelsLast ? (y * width + x) * channels + k : (k * height + y) * width + x;
            const [scale, bias] = k === 3 ? [1, 0] : [options.scale?.[k] ?? 1, options.bias?.[k] ?? 0];
            const error = Math.abs(got[index] - (level * scale + bias)) / Math.abs(scale / 255);
            return Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
          }),
        );
      };
      let error = errorOf([0, 0]);
      if (error > 1) error = Math.min(...shifts.map(errorOf));
      worst = Math.max(worst, error);
    }
  }
  return worst;
}

/** The frame as a model's input, float32: what {@link worstError} compares with. */
export function preprocessed(frame, options) {
  const out = [];
  for (let y = 0; y < options.height; y++) {
    for (let x = 0; x < options.width; x++) {
      levelsAt(frame, options, x, y).forEach((level, k) => {
        out.push(level * (options.scale?.[k] ?? 1) + (options.bias?.[k] ?? 0));
      });
    }
  }
  return Float32Array.from(out);
}

/** BlazeFace's 896 anchors: centres of the cells of a 16 x 16 and an 8 x 8 grid, in 0..1. */
export function blazefaceAnchors() {
  const grid = (side, count) =>
    Array.from({ length: side * side * count }, (_, i) => {
      const cell = Math.floor(i / count);
      return { x: ((cell % side) + 0.5) / side, y: (Math.floor(cell / side) + 0.5) / side };
    });
  return [...grid(16, 2), ...grid(8, 6)];
}

export function overlap(a, b) {
  const side = (p, size) => Math.max(0, Math.min(a[p] + a[size], b[p] + b[size]) - Math.max(a[p], b[p]));
  const inner = side("x", "width") * side("y", "height");
  return inner / (a.width * a.height + b.width * b.height - inner) || 0;
}

/**
 * Faces from BlazeFace's raw outputs, in pixels of the model's input of `size` pixels a side. `nms` is "best" or "blend"; a
 * result is { x, y, width, height, score, keypoints }.
 */
export function decodeFaces(scores, boxes, { size = 128, threshold = 0.5, iou = 0.3, nms = "best", max = 16 } = {}) {
  const rows = blazefaceAnchors().map((anchor, i) => {
    const raw = (k) => boxes[i * 16 + k];
    const point = (k) => ({ x: raw(k) + anchor.x * size, y: raw(k + 1) + anchor.y * size });
    const centre = point(0);
    return {
      score: 1 / (1 + Math.exp(-Math.min(100, Math.max(-100, scores[i])))),
      x: centre.x - raw(2) / 2,
      y: centre.y - raw(3) / 2,
      width: raw(2),
      height: raw(3),
      keypoints: [0, 1, 2, 3, 4, 5].map((k) => point(4 + 2 * k)),
    };
  });
  let left = rows.filter((row) => row.score >= threshold).sort((a, b) => b.score - a.score);
  const found = [];
  while (left.length > 0 && found.length < max) {
    const best = left[0];
    const same = left.filter((row) => row === best || overlap(best, row) > iou);
    left = left.filter((row) => !same.includes(row));
    if (nms === "best") {
      found.push(best);
      continue;
    }
    const total = same.reduce((sum, row) => sum + row.score, 0);
    const mean = (value) => same.reduce((sum, row) => sum + value(row) * row.score, 0) / total;
    found.push({
      score: best.score,
      x: mean((row) => row.x),
      y: mean((row) => row.y),
      width: mean((row) => row.width),
      height: mean((row) => row.height),
      keypoints: best.keypoints.map((_, k) => ({
        x: mean((row) => row.keypoints[k].x),
        y: mean((row) => row.keypoints[k].y),
      })),
    });
  }
  return found;
}

/** From the model's input to the frame. */
export function toFrame(found, frame, fit, size = 128) {
  const ratios = [frame.width / size, frame.height / size];
  const [sx, sy] = {
    stretch: ratios,
    contain: [Math.max(...ratios), Math.max(...ratios)],
    cover: [Math.min(...ratios), Math.min(...ratios)],
  }[fit];
  const point = ({ x, y }) => ({
    x: frame.width / 2 + (x - size / 2) * sx,
    y: frame.height / 2 + (y - size / 2) * sy,
  });
  return found.map((box) => ({
    ...box,
    ...point(box),
    width: box.width * sx,
    height: box.height * sy,
    keypoints: box.keypoints.map(point),
  }));
}
