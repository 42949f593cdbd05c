import type { LedgerEdge } from "../lib/index.js";

/** Times each step is measured; the median counts. */
const REPEATS = 5;

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/**
 * Moves one frame the way most pages do, from `<video>` through a canvas to a float tensor and back, and measures
 * each step on this machine: bytes as they are, milliseconds as the median of five.
 */
export function measureUsualWay(video: HTMLVideoElement, size: number, rawOutputBytes: number): LedgerEdge[] {
  const [width, height] = [video.videoWidth, video.videoHeight];
  const canvas = new OffscreenCanvas(width, height);
  const small = new OffscreenCanvas(size, size);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const smallContext = small.getContext("2d", { willReadFrequently: true });
  if (!context || !smallContext || width === 0) return [];
  const pixels = size * size;
  const heap = new ArrayBuffer(pixels * 3 * 4);
  const staging = new ArrayBuffer(pixels * 3 * 4);
  const output = new ArrayBuffer(rawOutputBytes);
  let image = smallContext.getImageData(0, 0, size, size);
  let floats = new Float32Array(pixels * 3);
  const steps: {
    from: string;
    to: string;
    kind: LedgerEdge["kind"];
    bytes: number;
    reason: string;
    run: () => void;
  }[] = [
    {
      from: "video",
      to: "canvas-2d",
      kind: "copy",
      bytes: width * height * 4,
      reason: "drawImage of the frame",
      run: () => context.drawImage(video, 0, 0),
    },
    {
      from: "canvas-2d",
      to: "canvas-small",
      kind: "copy",
      bytes: pixels * 4,
      reason: "drawImage at the model's size",
      run: () => smallContext.drawImage(canvas, 0, 0, size, size),
    },
    {
      from: "canvas-small",
      to: "javascript",
      kind: "readback",
      bytes: pixels * 4,
      reason: "getImageData",
      run: () => {
        image = smallContext.getImageData(0, 0, size, size);
      },
    },
    {
      from: "javascript",
      to: "float-array",
      kind: "convert",
      bytes: pixels * 12,
      reason: "a loop that drops alpha and scales to floats",
      run: () => {
        floats = new Float32Array(pixels * 3);
        for (let i = 0, j = 0; i < image.data.length; i += 4) {
          floats[j++] = (image.data[i] ?? 0) / 127.5 - 1;
          floats[j++] = (image.data[i + 1] ?? 0) / 127.5 - 1;
          floats[j++] = (image.data[i + 2] ?? 0) / 127.5 - 1;
        }
      },
    },
    {
      from: "float-array",
      to: "wasm",
      kind: "copy",
      bytes: pixels * 12,
      reason: "the array is copied into the wasm heap",
      run: () => new Float32Array(heap).set(floats),
    },
    {
      from: "wasm",
      to: "input",
      kind: "upload",
      bytes: pixels * 12,
      reason: "writeBuffer to the GPU",
      run: () => new Uint8Array(staging).set(new Uint8Array(heap)),
    },
    {
      from: "result",
      to: "javascript",
      kind: "readback",
      bytes: rawOutputBytes,
      reason: "every raw output is read back",
      run: () => new Uint8Array(output).slice(),
    },
  ];
  return steps.map((step, index) => {
    const times = Array.from({ length: REPEATS }, () => {
      const begin = performance.now();
      step.run();
      return performance.now() - begin;
    });
    return {
      id: `usual-${index}`,
      from: step.from,
      to: step.to,
      kind: step.kind,
      bytesPerFrame: step.bytes,
      count: 1,
      bytes: step.bytes,
      implicit: false,
      reason: step.reason,
      cpuMs: median(times),
    };
  });
}
