import { guardedSync } from "./errors.js";
import type { GpuObjects } from "./gpu-objects.js";
import { ExplicitTensor, report } from "./tensor.js";
import type { TensorDesc } from "./types.js";
import type { RuntimeHandle } from "./wasm/frameway.js";

/** One part of an identity card held against a port's. */
export interface CheckItem {
  /** Whether a run takes it as it is; a red line otherwise. */
  readonly ok: boolean;
  /** What the port takes. */
  readonly expected: string;
  /** What was handed in. */
  readonly got: string;
  /** Both in one line. */
  readonly message: string;
}

/** What zero copy hangs on: the kernels can read the memory where it lies; type and shape are the port's; strides are. */
export type ZeroCopyCondition = "shared-memory" | "type-and-shape" | "layout";

/** Whether what is handed in is read where it lies, and if not, why and what is done instead. */
export interface ZeroCopyVerdict {
  /** Nothing is copied. */
  readonly zeroCopy: boolean;
  /** Conditions that are not met. */
  readonly failed: readonly ZeroCopyCondition[];
  /** What a run does with it, in words; `refused: <kind>` where it rejects. */
  readonly path: string;
  /** Bytes that a run writes before the first kernel; 0 where nothing is copied, and where the run is refused. */
  readonly bytes: number;
}

const PARTS = ["shape", "dtype", "strides", "device"] as const;

/** What is handed in held against an input, part by part; printed as four lines and the verdict. */
export class Check {
  readonly shape: CheckItem;
  readonly dtype: CheckItem;
  readonly strides: CheckItem;
  readonly device: CheckItem;
  readonly verdict: ZeroCopyVerdict;

  /** @internal Made by `runtime.check()`. */
  constructor(parts: Pick<Check, (typeof PARTS)[number] | "verdict">) {
    this.shape = parts.shape;
    this.dtype = parts.dtype;
    this.strides = parts.strides;
    this.device = parts.device;
    this.verdict = parts.verdict;
  }

  /** True where all four parts are ok. */
  get ok(): boolean {
    return PARTS.every((part) => this[part].ok);
  }

  /** A line for each part, and the verdict. */
  toLines(): string[] {
    const { zeroCopy, failed, path } = this.verdict;
    const verdict = zeroCopy ? `zero copy: ${path}` : `no zero copy (${failed.join(", ")}): ${path}`;
    return [...PARTS.map((part) => `${part.padEnd(8)}${this[part].message}`), verdict];
  }

  /** The lines of {@link toLines} as one text. */
  toString(): string {
    return this.toLines().join("\n");
  }
}

/** Holds `value` against `port` without running anything. */
export function check(handle: RuntimeHandle, objects: GpuObjects, value: unknown, port: TensorDesc): Check {
  return guardedSync(() => {
    const [object, first] = value instanceof ExplicitTensor ? [value.buffer, value.firstByte] : [value, 0];
    const card = JSON.stringify(port);
    return new Check(report(handle.check(value, card, port.takesFrames ?? false, objects.known(object, first))));
  });
}
