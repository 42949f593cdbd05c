// The runtimes under comparison behind one interface: `open` a model, `run` it, `close` it. Each is imported when it is first opened, so
// that what it costs to load belongs to its first result.

const ORT = "/node_modules/onnxruntime-web/dist/";

/** @typedef {{ shape: readonly number[], data: ArrayLike<number> }} Result one output, on the CPU */
/**
 * @typedef {object} Session
 * @property {string} adapter vendor and architecture of the WebGPU adapter, empty without one
 * @property {Record<string, number>} parts milliseconds of what opening consisted of
 * @property {(inputs: Record<string, { shape: number[], data: Float32Array }>) => Promise<Record<string, Result>>} run
 * @property {() => Promise<void>} close
 */

/** A clock that adds up named laps. */
function stopwatch() {
  const parts = {};
  let last = performance.now();
  return {
    parts,
    lap(name) {
      const now = performance.now();
      parts[name] = (parts[name] ?? 0) + now - last;
      last = now;
    },
  };
}

const adapterName = (info) => (info ? [info.vendor, info.architecture].filter(Boolean).join(" ") : "");

async function openFrameway(bytes, shapes) {
  const watch = stopwatch();
  const { Runtime } = await import("/lib/index.js");
  watch.lap("module");
  const runtime = await Runtime.create();
  watch.lap("device");
  // Each phase is told when it begins; before the first one kernel variants are measured, after the last one kernels compile.
  let phase = "tune";
  const engine = await runtime.compile(bytes, {
    shapes,
    onProgress: (progress) => {
      if (progress.phase === phase || phase === "kernels") return;
      watch.lap(phase);
      phase = progress.phase === "lower" ? "kernels" : progress.phase;
    },
  });
  watch.lap(phase);
  return {
    adapter: adapterName(runtime.adapter),
    parts: watch.parts,
    engine,
    runtime,
    async run(inputs) {
      const feeds = Object.fromEntries(Object.entries(inputs).map(([name, { data }]) => [name, data]));
      return engine.run(feeds);
    },
    async close() {
      await runtime.close();
    },
  };
}

function openOrt(file, provider) {
  return async (bytes) => {
    const watch = stopwatch();
    const ort = await import(`${ORT}${file}`);
    watch.lap("module");
    ort.env.wasm.wasmPaths = ORT;
    ort.env.wasm.numThreads = crossOriginIsolated ? navigator.hardwareConcurrency : 1;
    ort.env.logLevel = "error";
    const session = await ort.InferenceSession.create(bytes, { executionProviders: [provider] });
    watch.lap("compile");
    const device = provider === "webgpu" ? await ort.env.webgpu.device : undefined;
    return {
      adapter: adapterName(device?.adapterInfo),
      parts: watch.parts,
      async run(inputs) {
        const feeds = Object.fromEntries(
          Object.entries(inputs).map(([name, { shape, data }]) => [name, new ort.Tensor("float32", data, shape)]),
        );
        const outputs = await session.run(feeds);
        return Object.fromEntries(
          Object.entries(outputs).map(([name, { dims, data }]) => [name, { shape: dims, data }]),
        );
      },
      close: () => session.release(),
    };
  };
}

/** By name: opens a model's bytes, with the shapes of its inputs. */
export const backends = {
  frameway: openFrameway,
  "ort-webgpu": openOrt("ort.webgpu.bundle.min.mjs", "webgpu"),
  "ort-wasm": openOrt("ort.wasm.bundle.min.mjs", "wasm"),
};
