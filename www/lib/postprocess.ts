/** Options of {@link postprocess.detections}. */
export interface DetectionsOptions {
  /** `ssd` (default): offsets from anchors; `yolox`: one tensor of boxes, objectness and classes. */
  format?: "ssd" | "yolox";
  /** Outputs with raw scores, in the order of the anchors. */
  scores: string | readonly string[];
  /** Outputs with raw boxes, in the same order. */
  boxes: string | readonly string[];
  /** Grids (pixels between cells, anchors a cell), or every anchor as [centre x, centre y, width, height] in 0..1. */
  anchors: readonly { stride: number; count?: number }[] | readonly (readonly [number, number, number, number])[];
  /** Keypoints of a box; 0 when absent. */
  keypoints?: number;
  /** Raw scores are logits; true when absent, false for `yolox`. */
  sigmoid?: boolean;
  /** Logits are clamped to this magnitude; 100 when absent. */
  scoreLimit?: number;
  /** Boxes with a lower score are dropped; 0.5 when absent. */
  threshold?: number;
  /** Boxes overlap above this intersection over union; 0.3 when absent. */
  iou?: number;
  /** `best` (default) keeps the best of overlapping boxes, `blend` averages them by score. */
  nms?: "best" | "blend";
  /** Boxes of different classes suppress one another too. */
  classAgnostic?: boolean;
  /** Most boxes in the result; 32 when absent. */
  max?: number;
  /** The input whose frame the coordinates refer to; the first when absent. */
  input?: string;
  /** Name of the resulting output; `detections` when absent. */
  output?: string;
}

/** One step of a post-processing, as it is handed to the compiler. */
export type PostprocessStep = { readonly step: string; readonly [option: string]: unknown };

/** What happens to the model's outputs on the GPU before anything is read back. */
export class Postprocess {
  /** The steps in order. */
  readonly steps: readonly PostprocessStep[];

  constructor(steps: readonly PostprocessStep[] = []) {
    this.steps = steps;
  }

  #with(step: PostprocessStep): Postprocess {
    return new Postprocess([...this.steps, step]);
  }

  /** Decodes boxes, drops what is below the threshold, suppresses overlaps: a short list in frame coordinates. */
  detections(options: DetectionsOptions): Postprocess {
    const names = (value: string | readonly string[]) => (typeof value === "string" ? [value] : [...value]);
    const { scores, boxes, anchors, ...rest } = options;
    // Every anchor written out is a list of four numbers; a grid is an object.
    const form = Array.isArray(anchors[0]) ? "boxes" : "grids";
    return this.#with({
      step: "detections",
      ...rest,
      scores: names(scores),
      boxes: names(boxes),
      anchors: { [form]: anchors },
    });
  }

  /** Softmax over the last axis of an output (the first when absent). */
  softmax(output?: string): Postprocess {
    return this.#with({ step: "softmax", ...(output === undefined ? {} : { output }) });
  }

  /** Sigmoid of an output (the first when absent). */
  sigmoid(output?: string): Postprocess {
    return this.#with({ step: "sigmoid", ...(output === undefined ? {} : { output }) });
  }

  /** Outputs as float16: half the bytes are read back. Without `output`, every output of floats. */
  to(dtype: "float16" | "float32", output?: string): Postprocess {
    return this.#with({ step: "to", dtype, ...(output === undefined ? {} : { output }) });
  }

  /** For `JSON.stringify`: each step as `{ name: options }`, the form in which the compiler reads it. */
  toJSON(): Record<string, unknown>[] {
    return this.steps.map(({ step, ...options }) => ({ [step]: options }));
  }
}

/** Where a post-processing begins; steps can be chained. */
export const postprocess = new Postprocess();

/** One box of {@link detectionsOf}. */
export interface Detection {
  /** Left edge in pixels of the frame. */
  x: number;
  /** Top edge in pixels of the frame. */
  y: number;
  /** Pixels of the frame. */
  width: number;
  /** Pixels of the frame. */
  height: number;
  /** 0..1. */
  score: number;
  /** Index of the class. */
  label: number;
  /** Points in pixels of the frame. */
  keypoints: { x: number; y: number }[];
}

/** Values of a row before its keypoints: x, y, width, height, score, class. */
const ROW_HEAD = 6;

/** Reads the count-prefixed list that `postprocess.detections()` gives: shape [1 + max, row]. */
export function detectionsOf(output: {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
}): Detection[] {
  const row = output.shape[1] ?? 0;
  const at = (index: number) => output.data[index] ?? 0;
  return Array.from({ length: at(0) }, (_, i) => {
    const base = (i + 1) * row;
    const keypoints = Array.from({ length: Math.max(0, (row - ROW_HEAD) >> 1) }, (_, k) => ({
      x: at(base + ROW_HEAD + 2 * k),
      y: at(base + ROW_HEAD + 2 * k + 1),
    }));
    return {
      x: at(base),
      y: at(base + 1),
      width: at(base + 2),
      height: at(base + 3),
      score: at(base + 4),
      label: at(base + 5),
      keypoints,
    };
  });
}
