import { FramewayError, guardedSync } from "./errors.js";
import type { DType, Layout, TypedArray } from "./types.js";

/** A tensor on the CPU: what a run gives, and what can be handed in. */
export interface Tensor {
  /** Dimensions, outermost first. */
  readonly shape: readonly number[];
  /** Element type. */
  readonly dtype: DType;
  /** The elements, row-major. */
  readonly data: TypedArray;
}

/** What {@link Runtime.tensor} is given: the whole identity card, and the elements or a range of a GPU buffer. */
export interface TensorInit {
  /** Dimensions, outermost first. */
  shape: readonly number[];
  /** Element type. */
  dtype: DType;
  /** Named layout; or say `strides`. */
  layout?: Layout;
  /** Elements between neighbours of each dimension; or say `layout`. */
  strides?: readonly number[];
  /** Elements on the CPU. */
  data?: TypedArray;
  /** A buffer of the runtime's own device. */
  buffer?: GPUBuffer;
  /** First byte in `buffer`; 0 when absent. */
  offset?: number;
}

/** An explicit tensor: shape, element type, strides and place are all said. */
export class ExplicitTensor {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly strides: readonly number[];
  readonly layout: Layout;
  readonly data: TypedArray | undefined;
  readonly buffer: GPUBuffer | undefined;
  readonly offset: number;

  constructor(init: TensorInit) {
    if ((init.data === undefined) === (init.buffer === undefined)) {
      throw new FramewayError(
        "bad-source",
        "a tensor lies in one place",
        "tensor()",
        "give either `data` or `buffer`, not both and not neither",
      );
    }
    if (!Array.isArray(init.shape) || !init.dtype || (init.layout === undefined && init.strides === undefined)) {
      throw new FramewayError(
        "layout-mismatch",
        "an identity card has four parts: shape, dtype, layout or strides, and data or buffer",
        "tensor()",
        'say layout: "row-major" for an ordinary array',
      );
    }
    this.shape = [...init.shape];
    this.dtype = init.dtype;
    this.layout = init.layout ?? "row-major";
    this.strides = init.strides ? [...init.strides] : rowMajorStrides(this.shape);
    this.data = init.data;
    this.buffer = init.buffer;
    this.offset = init.offset ?? 0;
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
  return tensor.shape.every((size, i) => size <= 1 || tensor.strides[i] === wanted[i]);
}

/** Parses a report that crossed from wasm as JSON. */
export function report<T>(json: string): T {
  return guardedSync(() => JSON.parse(json) as T);
}
