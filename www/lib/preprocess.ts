/** One step of a pre-processing, as it is handed to the compiler. */
export type PreprocessStep =
  | { step: "crop"; x: number; y: number; width: number; height: number }
  | { step: "rotate"; degrees: number }
  | { step: "flip"; axis: "horizontal" | "vertical" }
  | {
      step: "resize";
      width?: number;
      height?: number;
      fit?: "stretch" | "contain" | "cover";
      filter?: "linear" | "nearest" | "cubic";
      pad?: number;
    }
  | { step: "color"; order: "rgb" | "bgr" | "gray" | "rgba" }
  | { step: "range"; low: number; high: number }
  | { step: "normalize"; mean: number[]; std: number[] }
  | { step: "layout"; layout: "NCHW" | "NHWC" }
  | { step: "dtype"; dtype: "float32" | "float16" | "uint8" };

/** Options of {@link Preprocess.resize}. */
export interface ResizeOptions {
  /** Pixels; the model's own width when absent. */
  width?: number;
  /** Pixels; the model's own height when absent. */
  height?: number;
  /** `stretch` (default), `contain` (letterbox) or `cover` (cut). */
  fit?: "stretch" | "contain" | "cover";
  /** `linear` (default), `nearest` or `cubic`. */
  filter?: "linear" | "nearest" | "cubic";
  /** Level of the letterbox, 0 to 255; 0 when absent. */
  pad?: number;
}

function list(values: number | readonly number[]): number[] {
  return typeof values === "number" ? [values] : [...values];
}

/**
 * The way from a frame to a model's input. Each step gives a new object; all of them run as one GPU dispatch that samples
 * the frame and writes the input tensor. Shape, layout and element type are the model's own when not said.
 */
export class Preprocess {
  /** The steps in order. */
  readonly steps: readonly PreprocessStep[];

  constructor(steps: readonly PreprocessStep[] = []) {
    this.steps = steps;
  }

  #with(step: PreprocessStep): Preprocess {
    return new Preprocess([...this.steps, step]);
  }

  /** Looks at a part of the frame, in its pixels. Comes before turn and flip, wherever it is written. */
  crop(rect: { x: number; y: number; width: number; height: number }): Preprocess {
    return this.#with({ step: "crop", ...rect });
  }

  /** Turns clockwise. */
  rotate(degrees: 0 | 90 | 180 | 270): Preprocess {
    return this.#with({ step: "rotate", degrees });
  }

  /** Mirrors, after the turn. */
  flip(axis: "horizontal" | "vertical" = "horizontal"): Preprocess {
    return this.#with({ step: "flip", axis });
  }

  /** Scales to the model's size. */
  resize(options: ResizeOptions = {}): Preprocess {
    return this.#with({ step: "resize", ...options });
  }

  /** Channel order; `rgb` when absent. A fourth channel that a model asks for is 1. */
  color(order: "rgb" | "bgr" | "gray" | "rgba"): Preprocess {
    return this.#with({ step: "color", order });
  }

  /** Maps levels 0..255 to `low..high`; 0..1 when absent. */
  range(low: number, high: number): Preprocess {
    return this.#with({ step: "range", low, high });
  }

  /** (v - mean) / std, after the range; one value, or one a channel in the colour's order. */
  normalize(options: { mean: number | readonly number[]; std: number | readonly number[] }): Preprocess {
    return this.#with({ step: "normalize", mean: list(options.mean), std: list(options.std) });
  }

  /** Checks that the model takes this layout. */
  layout(layout: "NCHW" | "NHWC"): Preprocess {
    return this.#with({ step: "layout", layout });
  }

  /** Checks that the model takes this element type. */
  dtype(dtype: "float32" | "float16" | "uint8"): Preprocess {
    return this.#with({ step: "dtype", dtype });
  }

  /** For `JSON.stringify`: each step as `{ name: options }`, the form in which the compiler reads it. */
  toJSON(): Record<string, unknown>[] {
    return this.steps.map(({ step, ...options }) => ({ [step]: options }));
  }
}

/** Where a pre-processing begins. */
export const preprocess: {
  /** From a frame: video, picture, canvas. */
  image(): Preprocess;
} = {
  image: () => new Preprocess(),
};
