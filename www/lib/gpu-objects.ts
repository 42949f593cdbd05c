/** What is known of the page's GPU objects: WebGPU itself tells nobody which device an object belongs to. */

/** Of the runtime's device, of another, or the memory that a request reads. */
export type Known = "here" | "elsewhere" | "in-place";

/** `GPUBufferUsage.COPY_DST` and `GPUShaderStage.COMPUTE`. */
const [COPY_DST, COMPUTE] = [8, 4];

function isGpuObject(value: unknown): value is GPUBuffer | GPUTexture {
  if (typeof GPUBuffer === "undefined") return false;
  return value instanceof GPUBuffer || value instanceof GPUTexture;
}

/** Work with an object on a device: an error where it is another device's. */
function use(device: GPUDevice, object: GPUBuffer | GPUTexture): void {
  if (object instanceof GPUBuffer) {
    const scratch = device.createBuffer({ size: 4, usage: COPY_DST });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(object, 0, scratch, 0, 0);
    encoder.finish();
    scratch.destroy();
  } else {
    const layout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: COMPUTE, texture: {} }],
    });
    device.createBindGroup({ layout, entries: [{ binding: 0, resource: object.createView() }] });
  }
}

/** Whether the browser's error is about an object of another device. What it was doing is told in further lines. */
function isForeign(error: GPUError | null): boolean {
  return /device/i.test(error?.message.split("\n")[0] ?? "");
}

/** The GPU objects of one runtime. It holds none of them. */
export class GpuObjects {
  readonly #device: GPUDevice;
  /** By object: true for one of this device. */
  readonly #here = new WeakMap<object, boolean>();
  /** First bytes that requests read inputs from, by buffer. */
  readonly #inputs = new WeakMap<object, Set<number>>();
  /** True where every buffer of the device passes by here. */
  readonly #own: boolean;

  /** `own`: the runtime made the device, so nobody has a buffer of it yet. A device of the page's own is left as it is. */
  constructor(device: GPUDevice, own: boolean) {
    this.#device = device;
    this.#own = own;
    if (!own) return;
    const create = device.createBuffer.bind(device);
    const value = (descriptor: GPUBufferDescriptor) => {
      const made = create(descriptor);
      this.#here.set(made, true);
      return made;
    };
    Object.defineProperty(device, "createBuffer", { value, configurable: true, writable: true });
  }

  /** Asks the device whether an object is its own, where that is not known. The answer comes later. */
  async ask(object: unknown): Promise<void> {
    if (!isGpuObject(object) || this.#here.has(object) || (this.#own && object instanceof GPUBuffer)) return;
    this.#here.set(object, true);
    this.#device.pushErrorScope("validation");
    use(this.#device, object);
    const error = await this.#device.popErrorScope().catch(() => null);
    this.#here.set(object, !isForeign(error));
  }

  /** A request reads an input at this place. */
  noteInput(buffer: GPUBuffer, first: number): void {
    const all = this.#inputs.get(buffer) ?? new Set();
    this.#inputs.set(buffer, all.add(first));
  }

  /** What is known of an object whose elements begin at byte `first`: `here` while the device has not answered yet. */
  known(object: unknown, first: number): Known {
    if (!isGpuObject(object)) return "here";
    if (this.#inputs.get(object)?.has(first)) return "in-place";
    void this.ask(object);
    return this.#here.get(object) ? "here" : "elsewhere";
  }
}
