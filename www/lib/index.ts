export { Check, type CheckItem, type ZeroCopyCondition, type ZeroCopyVerdict } from "./check.js";
export { Engine, type Feeds } from "./engine.js";
export { type ErrorKind, FramewayError } from "./errors.js";
export type { FlowReport, FlowVerdict } from "./flow.js";
export type { HintChoice, Measured, RequestsOptions } from "./hint.js";
export type { HandleKind, LeakReport } from "./leaks.js";
export { Ledger, type LedgerBounds } from "./ledger.js";
export {
  type Detection,
  type DetectionsOptions,
  detectionsOf,
  Postprocess,
  type PostprocessStep,
  postprocess,
} from "./postprocess.js";
export { Preprocess, type PreprocessStep, preprocess, type ResizeOptions } from "./preprocess.js";
export { InferRequest, Lease, LeasedOutput, type PoolReport, RequestPool } from "./requests.js";
export { type CompileOptions, Runtime, type RuntimeOptions } from "./runtime.js";
export type { Suspect, Verdict } from "./slope.js";
export { type FrameReport, FrameStream, type StreamOptions } from "./stream.js";
export { ExplicitTensor, isContiguous, type Tensor, type TensorInit } from "./tensor.js";
export type * from "./types.js";
export { version } from "./version.js";
export { type Watermark, Watermarks } from "./watermarks.js";
