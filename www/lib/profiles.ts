import type { Feeds } from "./engine.js";
import { FramewayError } from "./errors.js";
import type { Preprocess } from "./preprocess.js";
import type { DType } from "./types.js";
import type { LoadedHandle } from "./wasm/frameway.js";

/** An input as the model's file states it. */
export interface StatedInput {
  readonly name: string;
  readonly dtype: DType;
  /** A number where the file fixes the dimension, a name or null where it does not; absent where nothing is stated. */
  readonly dims?: readonly (number | string | null)[];
}

/** Shapes of inputs by name. */
export type Shapes = Readonly<Record<string, readonly number[]>>;

/** Profiles of one engine that are kept: each holds its plan and its weights. */
const MOST_PROFILES = 4;

/** True where the file does not fix every dimension. */
export function isDynamic(input: StatedInput): boolean {
  return !input.dims?.every((dim) => typeof dim === "number");
}

function dimsText(input: StatedInput): string {
  return input.dims ? `[${input.dims.map((dim) => dim ?? "?").join(", ")}]` : "[…]";
}

function unfixed(input: StatedInput, message: string, hint: string): FramewayError {
  return new FramewayError(
    "shape-mismatch",
    `${message}; the model says ${dimsText(input)}`,
    `input "${input.name}"`,
    hint,
  );
}

/** The shape that a feed gives a dynamic input. */
function shapeFrom(input: StatedInput, feed: unknown, preprocess: Preprocess | undefined): readonly number[] {
  const fix = `pass shapes: { "${input.name}": [...] } to compile()`;
  if (feed === undefined) throw unfixed(input, "its shape is not fixed and nothing is fed", fix);
  if (typeof feed === "object" && feed !== null && "shape" in feed && Array.isArray(feed.shape)) {
    return feed.shape as number[];
  }
  const dims = input.dims;
  if (dims === undefined) throw unfixed(input, "its shape is not stated", `hand in a tensor with a shape, or ${fix}`);
  const open = dims.flatMap((dim, i) => (typeof dim === "number" ? [] : [i]));
  const known = dims.reduce<number>((product, dim) => (typeof dim === "number" ? product * dim : product), 1);
  if (ArrayBuffer.isView(feed) && "length" in feed) {
    const size = (feed.length as number) / known;
    // A batch of one is what an unnamed first dimension nearly always is.
    const unknown = open.length === 2 && open[0] === 0 ? open.slice(1) : open;
    if (unknown.length === 1 && Number.isInteger(size) && size > 0) {
      return dims.map((dim, i) => (typeof dim === "number" ? dim : i === unknown[0] ? size : 1));
    }
    throw unfixed(input, "an array of numbers does not say its shape", `hand in { data, shape }, or ${fix}`);
  }
  const resize = preprocess?.steps.findLast((step) => step.step === "resize");
  const { width, height } = resize?.step === "resize" ? resize : {};
  if (dims.length === 4 && width !== undefined && height !== undefined) {
    const last = dims[3] === 3 || dims[3] === 1 || dims[3] === 4;
    const sides: (number | undefined)[] = last ? [1, height, width, undefined] : [1, undefined, height, width];
    return dims.map((dim, i) => (typeof dim === "number" ? dim : (sides[i] ?? 3)));
  }
  throw unfixed(input, "a frame does not say how big the model's input is", `say resize({ width, height }), or ${fix}`);
}

/** The plans of a model with dynamic dimensions: one for each set of input shapes, made when it is first fed. */
export class Profiles {
  readonly #inputs: readonly StatedInput[];
  readonly #preprocess: Readonly<Record<string, Preprocess>>;
  readonly #make: (shapes: Shapes) => Promise<LoadedHandle>;
  /** In order of use, the latest last. */
  readonly #made = new Map<string, Promise<LoadedHandle>>();
  #closed = false;

  constructor(
    inputs: readonly StatedInput[],
    preprocess: Readonly<Record<string, Preprocess>>,
    make: (shapes: Shapes) => Promise<LoadedHandle>,
  ) {
    this.#inputs = inputs;
    this.#preprocess = preprocess;
    this.#make = make;
  }

  /** The shapes that these feeds give the dynamic inputs. */
  shapes(feeds: Feeds): Shapes {
    return Object.fromEntries(
      this.#inputs.map((input) => [input.name, shapeFrom(input, feeds[input.name], this.#preprocess[input.name])]),
    );
  }

  /** The engine for these feeds; compiled once for each set of shapes. */
  async for(feeds: Feeds): Promise<LoadedHandle> {
    if (this.#closed) throw new FramewayError("closed", "it was closed", "engine", "compile the model again");
    const shapes = this.shapes(feeds);
    const key = JSON.stringify(shapes);
    const made = this.#made.get(key) ?? this.#make(shapes);
    this.#made.delete(key);
    this.#made.set(key, made);
    try {
      return await made;
    } catch (error) {
      this.#made.delete(key);
      throw error;
    } finally {
      await this.#forget();
    }
  }

  async #forget(): Promise<void> {
    for (const [key, made] of this.#made) {
      if (this.#made.size <= MOST_PROFILES) return;
      this.#made.delete(key);
      const handle = await made.catch(() => undefined);
      await handle?.close();
    }
  }

  /** Number of plans that are kept. */
  get size(): number {
    return this.#made.size;
  }

  /** Waits for what is in flight and frees every plan. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#made.values()];
    this.#made.clear();
    for (const made of all) await (await made.catch(() => undefined))?.close();
  }
}
