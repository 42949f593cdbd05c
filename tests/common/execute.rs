//! A plain executor of recordings on the native adapter (Chromium's SwiftShader in CI): every dispatch as it is written,
//! nothing cached but pipelines. The arena is filled with NaN before each run, so that what is read must have been written.

#![allow(dead_code, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use frameway::kernels::DeviceLimits;
use frameway::lower::Lowered;
use frameway::recording::{Binding, Command, Dispatch, Recording, Resource, Space};
use frameway::tensor::{DType, Data, Tensor, TensorType};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pub limits: DeviceLimits,
    pipelines: Mutex<HashMap<String, wgpu::ComputePipeline>>,
    errors: std::sync::Arc<Mutex<Vec<String>>>,
}

impl Gpu {
    /// The native adapter; `None`, and a printed line, where there is none.
    pub fn open() -> Option<Self> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(descriptor);
        let Ok(adapter) = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())) else {
            println!("skipped: there is no Vulkan adapter");
            return None;
        };
        let limits = adapter.limits();
        let features = adapter.features() & wgpu::Features::SHADER_F16;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: features,
            required_limits: limits.clone(),
            ..Default::default()
        }))
        .expect("a device");
        let errors = std::sync::Arc::new(Mutex::new(Vec::new()));
        let sink = errors.clone();
        device.on_uncaptured_error(std::sync::Arc::new(move |e: wgpu::Error| sink.lock().unwrap().push(e.to_string())));
        let limits = DeviceLimits {
            max_storage_buffers: limits.max_storage_buffers_per_shader_stage.min(8),
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            max_buffer_bytes: limits.max_buffer_size,
            f16: features.contains(wgpu::Features::SHADER_F16),
            cpu: adapter.get_info().device_type == wgpu::DeviceType::Cpu,
            ..DeviceLimits::default()
        };
        Some(Self { device, queue, limits, pipelines: Mutex::default(), errors })
    }

    fn buffer(&self, bytes: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let size = bytes.next_multiple_of(256).max(256);
        let usage = usage | wgpu::BufferUsages::COPY_DST;
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn pipeline(&self, recording: &Recording, dispatch: &Dispatch) -> wgpu::ComputePipeline {
        let shader = &recording.shaders[dispatch.shader];
        let mut pipelines = self.pipelines.lock().unwrap();
        pipelines
            .entry(shader.wgsl.clone())
            .or_insert_with(|| {
                let entries: Vec<_> = dispatch.bindings.iter().map(layout_entry).collect();
                let layout = self
                    .device
                    .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
                let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: None,
                    bind_group_layouts: &[Some(&layout)],
                    ..Default::default()
                });
                let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                    label: Some(&shader.label),
                    source: wgpu::ShaderSource::Wgsl(shader.wgsl.as_str().into()),
                });
                self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(&shader.label),
                    layout: Some(&layout),
                    module: &module,
                    entry_point: Some("main"),
                    compilation_options: Default::default(),
                    cache: None,
                })
            })
            .clone()
    }

    /// Loads an engine: pipelines, buffers and bind groups are made once.
    pub fn load(&self, lowered: &Lowered) -> Loaded<'_> {
        let recording = &lowered.recording;
        let arena = self.buffer(recording.arena_bytes, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
        let weights = self.buffer(recording.weights_bytes, wgpu::BufferUsages::STORAGE);
        let params = self.buffer(recording.params.len() as u64, wgpu::BufferUsages::UNIFORM);
        self.queue.write_buffer(&weights, 0, &lowered.weights);
        self.queue.write_buffer(&params, 0, &recording.params);
        let mut steps = Vec::new();
        for command in &recording.commands {
            let Command::Dispatch(dispatch) = command else { continue };
            let pipeline = self.pipeline(recording, dispatch);
            let entries: Vec<_> = dispatch
                .bindings
                .iter()
                .map(|Binding { slot, resource }| {
                    let Resource::Buffer(range) = resource else { panic!("frames need the runtime") };
                    let buffer = match range.space {
                        Space::Arena => &arena,
                        Space::Weights => &weights,
                        Space::Params => &params,
                        Space::Frame => panic!("frames need the runtime"),
                    };
                    let size = std::num::NonZeroU64::new(range.bytes);
                    let binding = wgpu::BufferBinding { buffer, offset: range.offset, size };
                    wgpu::BindGroupEntry { binding: *slot, resource: wgpu::BindingResource::Buffer(binding) }
                })
                .collect();
            let layout = pipeline.get_bind_group_layout(0);
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&recording.shaders[dispatch.shader].label),
                layout: &layout,
                entries: &entries,
            });
            steps.push((pipeline, group, dispatch.groups, dispatch.layer));
        }
        let errors = std::mem::take(&mut *self.errors.lock().unwrap());
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        Loaded { gpu: self, lowered: lowered.clone(), arena, steps }
    }

    fn submit(&self, encoder: wgpu::CommandEncoder) {
        self.queue.submit([encoder.finish()]);
    }

    fn wait(&self) {
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
        let errors = std::mem::take(&mut *self.errors.lock().unwrap());
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }
}

fn layout_entry(binding: &Binding) -> wgpu::BindGroupLayoutEntry {
    let Resource::Buffer(range) = binding.resource else { panic!("frames need the runtime") };
    let ty = match range.space {
        Space::Arena => wgpu::BufferBindingType::Storage { read_only: false },
        Space::Weights => wgpu::BufferBindingType::Storage { read_only: true },
        Space::Params | Space::Frame => wgpu::BufferBindingType::Uniform,
    };
    wgpu::BindGroupLayoutEntry {
        binding: binding.slot,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

type Step = (wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3], usize);

/// An engine with an arena.
pub struct Loaded<'g> {
    gpu: &'g Gpu,
    lowered: Lowered,
    arena: wgpu::Buffer,
    steps: Vec<Step>,
}

impl Loaded<'_> {
    fn encode(&self, encoder: &mut wgpu::CommandEncoder, steps: &[Step]) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for (pipeline, group, groups, _) in steps {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
        }
    }

    fn upload(&self, feeds: &[Tensor]) {
        let poison: Vec<u8> = f32::NAN.to_le_bytes().repeat(self.arena.size() as usize / 4);
        self.gpu.queue.write_buffer(&self.arena, 0, &poison);
        for (range, feed) in self.lowered.inputs.iter().zip(feeds) {
            let mut bytes = frameway::kernels::pack::to_gpu(feed);
            bytes.resize(range.bytes as usize, 0);
            self.gpu.queue.write_buffer(&self.arena, range.offset, &bytes);
        }
    }

    /// One run; `types` are the outputs'.
    pub fn run(&self, feeds: &[Tensor], types: &[TensorType]) -> Vec<Tensor> {
        self.upload(feeds);
        let mut encoder = self.gpu.encoder();
        self.encode(&mut encoder, &self.steps);
        let staging: Vec<_> = self
            .lowered
            .outputs
            .iter()
            .map(|range| {
                let staging = self.gpu.buffer(range.bytes, wgpu::BufferUsages::MAP_READ);
                if range.bytes > 0 {
                    encoder.copy_buffer_to_buffer(&self.arena, range.offset, &staging, 0, range.bytes);
                }
                staging
            })
            .collect();
        self.gpu.submit(encoder);
        staging.iter().for_each(|s| s.map_async(wgpu::MapMode::Read, .., |r| r.expect("mapped")));
        self.gpu.wait();
        let read = |(staging, ty): (&wgpu::Buffer, &TensorType)| {
            let bytes = ty.shape.elements() * ty.dtype.gpu_bytes();
            from_gpu(ty, &staging.get_mapped_range(..).expect("mapped")[..bytes])
        };
        staging.iter().zip(types).map(read).collect()
    }

    /// Median time of a run without upload and readback.
    pub fn time(&self, runs: usize) -> Duration {
        let mut times: Vec<Duration> = (0..runs)
            .map(|_| {
                let start = Instant::now();
                let mut encoder = self.gpu.encoder();
                self.encode(&mut encoder, &self.steps);
                self.gpu.submit(encoder);
                self.gpu.wait();
                start.elapsed()
            })
            .collect();
        times.sort();
        times[times.len() / 2]
    }

    /// Time of each layer on its own, the best of `runs`; for people who look for the slow one.
    pub fn time_layers(&self, runs: usize) -> Vec<Duration> {
        let mut best = vec![Duration::MAX; self.lowered.layers.len()];
        for _ in 0..runs {
            let mut times = vec![Duration::ZERO; best.len()];
            for step in &self.steps {
                let start = Instant::now();
                let mut encoder = self.gpu.encoder();
                self.encode(&mut encoder, std::slice::from_ref(step));
                self.gpu.submit(encoder);
                self.gpu.wait();
                times[step.3] += start.elapsed();
            }
            best.iter_mut().zip(times).for_each(|(b, t)| *b = (*b).min(t));
        }
        best
    }
}

fn from_gpu(ty: &TensorType, bytes: &[u8]) -> Tensor {
    let ints = || bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()));
    let data = match ty.dtype {
        DType::F32 | DType::F16 | DType::I32 | DType::U32 => Data::from_le_bytes(ty.dtype, bytes).unwrap(),
        DType::I64 => Data::I64(ints().map(i64::from).collect()),
        DType::I8 => Data::I8(ints().map(|v| v as i8).collect()),
        DType::U8 => Data::U8(ints().map(|v| v as u8).collect()),
        DType::Bool => Data::Bool(ints().map(|v| v as u8).collect()),
    };
    Tensor::new(ty.shape.clone(), data).unwrap()
}
