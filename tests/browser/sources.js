// Pictures for the tests, each made by the browser from the same pixels.

/** RGBA, a different colour at every pixel. */
export function pixels(width, height) {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      data.set([(x * 255) / width, (y * 255) / height, ((x + y) * 7) % 256, 255], (y * width + x) * 4);
    }
  }
  return data;
}

function canvas(width, height) {
  const surface = new OffscreenCanvas(width, height);
  surface.getContext("2d").putImageData(new ImageData(pixels(width, height), width, height), 0, 0);
  return surface;
}

/** A playing video of one grey, from a canvas's stream. */
async function video(width, height, level) {
  const surface = document.createElement("canvas");
  Object.assign(surface, { width, height });
  const paint = () => {
    const context = surface.getContext("2d");
    context.fillStyle = `rgb(${level}, ${level}, ${level})`;
    context.fillRect(0, 0, width, height);
  };
  paint();
  const element = document.createElement("video");
  element.muted = true;
  element.srcObject = surface.captureStream(30);
  const timer = setInterval(paint, 30);
  await element.play();
  await new Promise((resolve) => element.requestVideoFrameCallback(resolve));
  clearInterval(timer);
  return element;
}

export async function makeSource(kind, width, height) {
  const data = pixels(width, height);
  switch (kind) {
    case "imagedata":
      return new ImageData(data, width, height);
    case "offscreencanvas":
      return canvas(width, height);
    case "canvas": {
      const surface = document.createElement("canvas");
      Object.assign(surface, { width, height });
      surface.getContext("2d").putImageData(new ImageData(data, width, height), 0, 0);
      return surface;
    }
    case "bitmap":
      return createImageBitmap(new ImageData(data, width, height));
    case "image": {
      const image = new Image();
      image.src = URL.createObjectURL(await canvas(width, height).convertToBlob({ type: "image/png" }));
      await image.decode();
      return image;
    }
    case "videoframe":
      return new VideoFrame(data, { format: "RGBA", codedWidth: width, codedHeight: height, timestamp: 0 });
    case "closedframe": {
      const frame = new VideoFrame(data, { format: "RGBA", codedWidth: width, codedHeight: height, timestamp: 0 });
      frame.close();
      return frame;
    }
    case "video":
      return video(width, height, 128);
    case "emptyvideo":
      return document.createElement("video");
    default:
      throw new Error(kind);
  }
}

/** A GPUDevice of the page's own. */
export async function makeDevice() {
  const adapter = await navigator.gpu.requestAdapter();
  return adapter.requestDevice({ label: "the page's" });
}

/** A GPUBuffer with float32 values in it, at `offset`. */
export function makeBuffer(device, values, offset) {
  const buffer = device.createBuffer({
    size: offset + values.byteLength,
    usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  });
  device.queue.writeBuffer(buffer, offset, values);
  return buffer;
}

/** The float32 values of a range of a GPUBuffer. */
export async function readBuffer(device, buffer, offset, bytes) {
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  return new Float32Array(staging.getMappedRange().slice(0));
}
