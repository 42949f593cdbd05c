import type { ExplicitTensor, Runtime, TensorDesc } from "../lib/index.js";
import { visiblePart } from "./detector.js";

/** Something to hand to the detector. */
export interface Handed {
  readonly value: ExplicitTensor | HTMLVideoElement;
  /** Frees what was made for it. */
  free?(): void;
}

/** What the examples are made from. */
export interface Making {
  readonly runtime: Runtime;
  readonly video: HTMLVideoElement;
  /** The detector's input, [1, height, width, 3]. */
  readonly port: TensorDesc;
}

/** One thing that a page might hand in. */
export interface Example {
  readonly id: string;
  readonly label: string;
  make(from: Making): Handed | Promise<Handed>;
}

/** The part of the picture that the detector looks at, as levels of red, green, blue from -1 to 1; grey while there is no picture. */
function levels(video: HTMLVideoElement, width: number, height: number): Float32Array {
  const found = new Float32Array(width * height * 3);
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (!context || video.videoWidth === 0) return found;
  const part = visiblePart(video.videoWidth, video.videoHeight);
  context.drawImage(video, part.x, part.y, part.width, part.height, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  for (let i = 0, j = 0; i < data.length; i += 4) {
    for (let c = 0; c < 3; c++) found[j++] = (data[i + c] ?? 0) / 127.5 - 1;
  }
  return found;
}

/** The same numbers, all red ones first, then the green, then the blue. */
function planes(picture: Float32Array): Float32Array {
  const pixels = picture.length / 3;
  return picture.map((_, i) => picture[(i % pixels) * 3 + Math.floor(i / pixels)] ?? 0);
}

function sides({ shape }: TensorDesc): [height: number, width: number] {
  return [shape[1] ?? 1, shape[2] ?? 1];
}

/** Nothing but the card is looked at, or the run is refused. */
const ELSEWHERE_USAGE = 4; // GPUBufferUsage.COPY_SRC

/** From what needs no copy to what is refused. */
export const EXAMPLES: readonly Example[] = [
  { id: "video", label: "The video's frame", make: ({ video }) => ({ value: video }) },
  {
    id: "right",
    label: "An array of the right kind",
    make: ({ runtime, video, port }) => {
      const [height, width] = sides(port);
      const data = levels(video, width, height);
      return { value: runtime.tensor({ shape: port.shape, dtype: "float32", layout: "row-major", data }) };
    },
  },
  {
    id: "strides",
    label: "First all red, then green, blue",
    make: ({ runtime, video, port }) => {
      const [height, width] = sides(port);
      const data = planes(levels(video, width, height));
      const strides = [3 * height * width, width, 1, height * width];
      return { value: runtime.tensor({ shape: port.shape, dtype: "float32", strides, data }) };
    },
  },
  {
    id: "dtype",
    label: "Bytes in place of floats",
    make: ({ runtime, video, port }) => {
      const [height, width] = sides(port);
      const data = Uint8Array.from(levels(video, width, height), (level) => (level + 1) * 127.5);
      return { value: runtime.tensor({ shape: port.shape, dtype: "uint8", layout: "row-major", data }) };
    },
  },
  {
    id: "shape",
    label: "A picture half as wide",
    make: ({ runtime, video, port }) => {
      const [height, width] = sides(port);
      const shape = [1, height, width / 2, 3];
      const data = levels(video, width / 2, height);
      return { value: runtime.tensor({ shape, dtype: "float32", layout: "row-major", data }) };
    },
  },
  {
    id: "device",
    label: "A buffer of another GPU device",
    make: async ({ runtime, port }) => {
      const adapter = await navigator.gpu.requestAdapter();
      const device = await adapter?.requestDevice();
      if (!device) throw new Error("This browser gives the page no second GPU device.");
      const size = port.shape.reduce((product, side) => product * side, 4);
      const buffer = device.createBuffer({ size, usage: ELSEWHERE_USAGE });
      const value = runtime.tensor({ shape: port.shape, dtype: "float32", layout: "row-major", buffer });
      return { value, free: () => device.destroy() };
    },
  },
];
