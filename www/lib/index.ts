export { Engine, type Feeds } from "./engine.js";
export { type ErrorKind, FramewayError } from "./errors.js";
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
export { type FrameReport, InferRequest, Lease, LeasedOutput, RequestPool } from "./requests.js";
export { type CompileOptions, Runtime, type RuntimeOptions } from "./runtime.js";
export type { StreamOptions } from "./stream.js";
export { ExplicitTensor, isContiguous, type Tensor, type TensorInit } from "./tensor.js";
export type * from "./types.js";
export { version } from "./version.js";
