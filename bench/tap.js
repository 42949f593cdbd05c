// Listens to WebGPU: which pipelines a page makes and what it dispatches, so that each can be repeated by itself. On an adapter
// without precise timestamps this is the way to see what a layer costs.

/** Wraps a method of a WebGPU class: `see` is told the object, the arguments and what came back. */
function listen(type, method, see) {
  const original = type.prototype[method];
  type.prototype[method] = function (...args) {
    const result = original.apply(this, args);
    see(this, args, result);
    return result;
  };
}

/** Begins to listen, for the life of the page. */
export function tap() {
  const code = new WeakMap();
  const entries = new WeakMap();
  const groups = new WeakMap();
  const passes = new WeakMap();
  const pipelines = [];
  let dispatches;
  listen(GPUDevice, "createShaderModule", (_, [{ code: wgsl }], module) => code.set(module, wgsl));
  listen(GPUDevice, "createBindGroupLayout", (_, [descriptor], layout) => entries.set(layout, [...descriptor.entries]));
  listen(GPUDevice, "createPipelineLayout", (_, [{ bindGroupLayouts }], layout) =>
    groups.set(
      layout,
      [...bindGroupLayouts].map((group) => entries.get(group)),
    ),
  );
  listen(GPUDevice, "createComputePipeline", (_, [{ label, layout, compute }]) =>
    pipelines.push({
      label,
      wgsl: code.get(compute.module),
      groups: groups.get(layout),
      entryPoint: compute.entryPoint,
    }),
  );
  listen(GPUComputePassEncoder, "setPipeline", (pass, [pipeline]) => {
    passes.set(pass, { ...passes.get(pass), pipeline });
  });
  listen(GPUComputePassEncoder, "setBindGroup", (pass, [, group]) => {
    passes.set(pass, { ...passes.get(pass), group });
  });
  listen(GPUComputePassEncoder, "dispatchWorkgroups", (pass, [x, y = 1, z = 1]) => {
    dispatches?.push({ ...passes.get(pass), size: [x, y, z] });
  });
  return {
    pipelines,
    start() {
      dispatches = [];
    },
    stop() {
      const heard = dispatches;
      dispatches = undefined;
      return heard;
    },
  };
}

const least = (times) => Math.min(...times);

/** Milliseconds from submitting one dispatch, `count` times over, until the queue is empty. */
async function submit(device, dispatch, count) {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  if (dispatch) {
    pass.setPipeline(dispatch.pipeline);
    pass.setBindGroup(0, dispatch.group);
    for (let i = 0; i < count; i++) pass.dispatchWorkgroups(...dispatch.size);
  }
  pass.end();
  const commands = encoder.finish();
  const started = performance.now();
  device.queue.submit([commands]);
  await device.queue.onSubmittedWorkDone();
  return performance.now() - started;
}

/** The least time of each dispatch by itself, in milliseconds, without what an empty submission takes. */
export async function dispatchTimes(device, dispatches, repeats) {
  const empty = [];
  for (let i = 0; i < 20; i++) empty.push(await submit(device));
  const floor = least(empty);
  const times = [];
  for (const dispatch of dispatches) {
    // Short ones are repeated within a submission, so that the clock's grain does not matter.
    const once = await submit(device, dispatch, 1);
    const count = Math.min(32, Math.max(1, Math.ceil(4 / Math.max(once - floor, 0.05))));
    const taken = [];
    for (let i = 0; i < repeats; i++) taken.push((await submit(device, dispatch, count)) - floor);
    times.push({ label: dispatch.pipeline.label, groups: dispatch.size, ms: Math.max(0, least(taken)) / count });
  }
  return times;
}

/** What compiling each kernel takes on a device that has none yet, in milliseconds. */
export async function kernelTimes(pipelines) {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice({ requiredLimits: limitsOf(adapter) });
  const times = [];
  for (const { label, wgsl, groups, entryPoint } of pipelines) {
    const bindGroupLayouts = groups.map((entries) => device.createBindGroupLayout({ entries }));
    const layout = device.createPipelineLayout({ bindGroupLayouts });
    const started = performance.now();
    const module = device.createShaderModule({ code: wgsl });
    await device.createComputePipelineAsync({ layout, compute: { module, entryPoint } });
    times.push({ label, bytes: wgsl.length, ms: performance.now() - started });
  }
  device.destroy();
  return times;
}

function limitsOf(adapter) {
  const names = [
    "maxStorageBuffersPerShaderStage",
    "maxStorageBufferBindingSize",
    "maxBufferSize",
    "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup",
  ];
  return Object.fromEntries(names.map((name) => [name, adapter.limits[name]]));
}
