import { FramewayError, guardedSync } from "./errors.js";
import type { Device, DType, Layout, TypedArray } from "./types.js";
import { completeCard } from "./wasm/frameway.js";

/** A tensor on the CPU: what a run gives, and what can be handed in. */
export interface Tensor {
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
  /** Element type. */
  readonly dtype: DType;
  /** The elements, row-major. */
  readonly data: TypedArray;
}

/** What {@link Runtime.tensor} is given: the whole identity card, and where the elements lie. */
export interface TensorInit {
  /** Dimensions, outermost first. */
  shape: readonly number[];
  /** Element type. */
  dtype: DType;
  /** `row-major` for an ordinary array; or say `strides`. */
  layout?: Layout;
  /** Elements between neighbours of each dimension, the outermost first; or say `layout`. */
  strides?: readonly number[];
  /** Elements on the CPU. */
  data?: TypedArray;
  /** A buffer of the runtime's own device, with usage COPY_SRC. Elements of 8 bits and bool take 32 bits in it. */
  buffer?: GPUBuffer;
  /** A wasm memory of the page's own. */
  memory?: WebAssembly.Memory;
  /** First byte in `buffer`, a multiple of 256, or in `memory`; 0 when absent. */
  offset?: number;
}

/** Bytes of an element on the CPU. */
const BYTES: Readonly<Record<DType, number>> = {
  float32: 4,
  float16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint8: 1,
  int8: 1,
  bool: 1,
};

const PLACES = ["data", "buffer", "memory"] as const;

/** Refuses what is no list of whole numbers. */
function checkNumbers(
  name: "shape" | "strides" | "start" | "size",
  numbers: readonly number[] | undefined,
  kind: "shape-mismatch" | "layout-mismatch",
): void {
  if (numbers === undefined) return;
  if (Array.isArray(numbers) && numbers.every((n) => Number.isInteger(n) && n >= 0)) return;
  throw new FramewayError(
    kind,
    `${name} is no list of whole numbers: ${JSON.stringify(numbers)}`,
    "tensor()",
    "count elements, one number for each dimension, the outermost first",
  );
}

/** An explicit tensor: shape, element type, strides and place are all said. Views of it share its memory. */
export class ExplicitTensor {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Elements between neighbours of each dimension. */
  readonly strides: readonly number[];
  readonly layout: Layout;
  readonly device: Device;
  readonly data: TypedArray | undefined;
  readonly buffer: GPUBuffer | undefined;
  readonly memory: WebAssembly.Memory | undefined;
  /** First byte of the memory. */
  readonly offset: number;
  /** The view's first element, counted from {@link offset}. */
  readonly start: number;

  /** @internal Made by `runtime.tensor()`. */
  constructor(init: TensorInit, start = 0) {
    const given = PLACES.filter((place) => init[place] !== undefined && init[place] !== null);
    if (given.length > 1) {
      throw new FramewayError(
        "bad-source",
        `a tensor lies in one place, not in ${given.join(" and ")}`,
        "tensor()",
        "give one of data, buffer and memory",
      );
    }
    if (init.offset && given[0] === "data") {
      throw new FramewayError(
        "bad-source",
        "an offset belongs to a buffer or a memory",
        "tensor()",
        "a typed array begins anywhere by data.subarray()",
      );
    }
    checkNumbers("shape", init.shape, "shape-mismatch");
    checkNumbers("strides", init.strides, "layout-mismatch");
    if (init.dtype !== undefined && !(init.dtype in BYTES)) {
      throw new FramewayError(
        "dtype-mismatch",
        `"${init.dtype}" is no element type`,
        "tensor()",
        `one of ${Object.keys(BYTES).join(", ")}`,
      );
    }
    if (init.layout !== undefined && init.layout !== "row-major") {
      throw new FramewayError(
        "layout-mismatch",
        `elements are not handed in as "${init.layout}"`,
        "tensor()",
        'say layout: "row-major" for elements in the order of the shape, or their strides; permute() reads NHWC as NCHW',
      );
    }
    this.data = init.data;
    this.buffer = init.buffer;
    this.memory = init.memory;
    this.offset = init.offset ?? 0;
    this.start = start;
    const device = ({ data: "host", buffer: "gpu", memory: "wasm" } as const)[given[0] ?? "data"];
    const { shape, dtype, strides, layout } = init;
    const said = { shape, dtype, strides, layout, ...(given.length > 0 && { device }) };
    const value = { ...said, ...init, offset: this.offset, start };
    const card = report<Pick<ExplicitTensor, "shape" | "dtype" | "strides" | "layout" | "device">>(
      guardedSync(() => completeCard(JSON.stringify(said), value)),
    );
    this.shape = card.shape;
    this.dtype = card.dtype;
    this.strides = card.strides;
    this.layout = card.layout;
    this.device = card.device;
  }

  /** Whether the elements lie one behind the other in row-major order. */
  get isContiguous(): boolean {
    return isContiguous(this);
  }

  /** Bytes of its elements where they lie: on the GPU 8-bit types and bool take 32 bits, int64 is int32. */
  get bytes(): number {
    return this.shape.reduce((product, dim) => product * dim, this.#elementBytes);
  }

  get #elementBytes(): number {
    return this.device === "gpu" && this.dtype !== "float16" ? 4 : BYTES[this.dtype];
  }

  /** @internal First byte of the view in its buffer or memory. */
  get firstByte(): number {
    return this.offset + this.start * this.#elementBytes;
  }

  /** The part that begins at `start` and has `size` elements in each dimension: a region of interest, without a copy. */
  region({ start, size }: { start: readonly number[]; size: readonly number[] }): ExplicitTensor {
    return guardedSync(() => {
      checkNumbers("start", start, "shape-mismatch");
      checkNumbers("size", size, "shape-mismatch");
      const inside = this.shape.every((dim, i) => (start[i] ?? Number.NaN) + (size[i] ?? Number.NaN) <= dim);
      if (!inside || start.length !== this.shape.length || size.length !== this.shape.length) {
        throw new FramewayError(
          "shape-mismatch",
          `a region of [${size.join(", ")}] from [${start.join(", ")}] is not inside [${this.shape.join(", ")}]`,
          "region()",
          "give a start and a size for each dimension, and keep the region inside the tensor",
        );
      }
      const first = this.strides.reduce((at, stride, i) => at + stride * (start[i] ?? 0), this.start);
      return this.#view(size, this.strides, first);
    });
  }

  /** The same elements with dimension `order[i]` in place `i`, without a copy: `[0, 3, 1, 2]` reads NHWC as NCHW. */
  permute(order: readonly number[]): ExplicitTensor {
    return guardedSync(() => {
      const rank = this.shape.length;
      const axes = new Set(order);
      if (order.length !== rank || axes.size !== rank || order.some((axis) => this.shape[axis] === undefined)) {
        throw new FramewayError(
          "shape-mismatch",
          `[${order.join(", ")}] is no order of ${rank} dimensions`,
          "permute()",
          "name each dimension once, counted from 0",
        );
      }
      const pick = (of: readonly number[]) => order.map((axis) => of[axis] ?? 0);
      return this.#view(pick(this.shape), pick(this.strides), this.start);
    });
  }

  #view(shape: readonly number[], strides: readonly number[], start: number): ExplicitTensor {
    const { dtype, data, buffer, memory, offset } = this;
    const place = data ? { data } : buffer ? { buffer, offset } : { ...(memory && { memory }), offset };
    return new ExplicitTensor({ shape, dtype, strides, ...place }, start);
  }
}

/** Strides of a contiguous row-major tensor, in elements. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 1; i > 0; i--) strides[i - 1] = (strides[i] ?? 1) * Math.max(1, shape[i] ?? 1);
  return strides;
}

/** Whether strides are those of a contiguous row-major tensor. */
export function isContiguous(tensor: {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}): boolean {
  const wanted = rowMajorStrides(tensor.shape);
  return tensor.shape.includes(0) || tensor.shape.every((size, i) => size <= 1 || tensor.strides[i] === wanted[i]);
}

/** Parses a report that crossed from wasm as JSON. */
export function report<T>(json: string): T {
  return guardedSync(() => JSON.parse(json) as T);
}
