//! Runs one node's kernel on the native adapter and holds its results against the operator's own `eval`.

use frameway::kernels::{self, Arg, Choices, Context, DeviceLimits, Kernel, Source};
use frameway::ops::{Epilogue, Op, Step};
use frameway::tensor::{Data, Layout, Tensor, TensorType};
use frameway::{Error, ErrorKind};
use std::collections::BTreeMap;
use wgpu::util::DeviceExt as _;

/// A device.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// What kernels may ask of it.
    pub limits: DeviceLimits,
}

impl Gpu {
    /// The adapter of this machine; `None`, with a printed line, where there is none.
    pub fn new() -> Option<Self> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(descriptor);
        let found = pollster::block_on(async {
            let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await.ok()?;
            let f16 = adapter.features().contains(wgpu::Features::SHADER_F16);
            let descriptor = wgpu::DeviceDescriptor {
                required_features: adapter.features() & wgpu::Features::SHADER_F16,
                required_limits: adapter.limits(),
                ..wgpu::DeviceDescriptor::default()
            };
            let (device, queue) = adapter.request_device(&descriptor).await.ok()?;
            Some(Self { device, queue, limits: DeviceLimits { f16, ..DeviceLimits::default() } })
        });
        if found.is_none() {
            println!("skipped: no Vulkan adapter (VK_ICD_FILENAMES may name Chromium's SwiftShader)");
        }
        found
    }

    fn buffer(&self, bytes: &[u8]) -> wgpu::Buffer {
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytes,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_SRC,
        })
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: buffer.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |r| r.expect("the staging buffer maps"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        staging.slice(..).get_mapped_range().expect("it is mapped").to_vec()
    }

    /// Runs the launches. `storages` are the arena's ranges by number, outputs among them.
    fn run(
        &self,
        kernel: &Kernel<'_>,
        ctx: &Context<'_>,
        storages: &BTreeMap<u32, wgpu::Buffer>,
    ) -> frameway::Result<()> {
        let scratch = self.buffer(&vec![0xff; kernel.scratch.max(16) as usize]);
        for launch in &kernel.launches {
            let owned: Vec<Option<wgpu::Buffer>> = launch
                .bindings
                .iter()
                .map(|source| {
                    Ok(match source {
                        Source::Params => Some(self.buffer(&launch.params)),
                        Source::Weights(packed) => Some(self.buffer(&packed.pack()?)),
                        _ => None,
                    })
                })
                .collect::<frameway::Result<_>>()?;
            let storage = |arg: frameway::Result<Arg<'_>>| arg.ok().and_then(|arg| storages.get(&arg.storage));
            let bound: Vec<wgpu::BindGroupEntry<'_>> = launch
                .bindings
                .iter()
                .zip(&owned)
                .enumerate()
                .map(|(slot, (source, owned))| {
                    let buffer = match source {
                        Source::Input(i) => storage(ctx.input(*i)),
                        Source::Output(i) => storage(ctx.output(*i)),
                        Source::Scratch => Some(&scratch),
                        _ => owned.as_ref(),
                    };
                    let resource = buffer.expect("every source has a buffer").as_entire_binding();
                    wgpu::BindGroupEntry { binding: slot as u32, resource }
                })
                .collect();
            let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(&launch.shader.label),
                source: wgpu::ShaderSource::Wgsl(launch.shader.wgsl.as_str().into()),
            });
            let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(&launch.shader.label),
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &bound,
            });
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&pipeline);
                pass.set_bind_group(0, &group, &[]);
                let [x, y, z] = launch.groups;
                if x * y * z > 0 {
                    pass.dispatch_workgroups(x, y, z);
                }
            }
            self.queue.submit([encoder.finish()]);
        }
        Ok(())
    }
}

/// An operand: a constant, or a tensor in the arena.
pub struct Operand {
    value: Tensor,
    arena: Option<Layout>,
}

/// Known at compile time.
pub fn constant(value: Tensor) -> Operand {
    Operand { value, arena: None }
}

/// In the arena, packed by four channels.
pub fn c4(value: Tensor) -> Operand {
    Operand { value, arena: Some(Layout::C4) }
}

/// In the arena, row-major.
pub fn rows(value: Tensor) -> Operand {
    Operand { value, arena: Some(Layout::RowMajor) }
}

/// A node and its operands.
pub struct Case {
    /// Printed where it fails.
    pub name: String,
    pub op: Op,
    /// The operator's own inputs.
    pub inputs: Vec<Operand>,
    /// The epilogue's steps and its inputs.
    pub steps: Vec<Step>,
    pub extra: Vec<Operand>,
    /// Layout of the output.
    pub layout: Layout,
    /// The output takes over the storage of this input.
    pub in_place: Option<usize>,
    /// A variant to ask for; `None` takes the kernel's rule.
    pub variant: Option<&'static str>,
    /// Largest error allowed, relative to the largest magnitude of the reference.
    pub tolerance: f64,
}

impl Case {
    /// A node without epilogue.
    pub fn new(name: impl Into<String>, op: Op, inputs: Vec<Operand>, layout: Layout) -> Self {
        Self {
            name: name.into(),
            op,
            inputs,
            steps: Vec::new(),
            extra: Vec::new(),
            layout,
            in_place: None,
            variant: None,
            tolerance: 2e-6,
        }
    }

    /// Runs it; what went wrong, where something did. Gives the kernel's label.
    pub fn check(&self, gpu: &Gpu) -> Result<String, String> {
        self.try_check(gpu).map_err(|e| format!("{}: {e}", self.name))
    }

    fn try_check(&self, gpu: &Gpu) -> frameway::Result<String> {
        let operands: Vec<&Operand> = self.inputs.iter().chain(&self.extra).collect();
        let values: Vec<Option<&Tensor>> = operands.iter().map(|o| Some(&o.value)).collect();
        let epilogue = Epilogue { steps: self.steps.clone() };
        let plain = self.op.definition().eval(&values[..self.inputs.len()])?.swap_remove(0);
        let want = epilogue.apply(plain, &values)?;

        let types: Vec<TensorType> = operands.iter().map(|o| o.value.ty()).collect();
        let ty = want.ty();
        let out = self.in_place.map_or(1000, |i| i as u32);
        let mut choices = Choices::default();
        let context = |choices: &Choices| -> frameway::Result<(Option<kernels::Choice>, String)> {
            let ctx = Context {
                op: &self.op,
                inputs: operands
                    .iter()
                    .zip(&types)
                    .enumerate()
                    .map(|(i, (o, ty))| {
                        let constant = o.arena.is_none().then_some(&o.value);
                        Some(Arg { ty, layout: o.arena.unwrap_or_default(), constant, storage: i as u32 })
                    })
                    .collect(),
                own_inputs: self.inputs.len(),
                epilogue: &epilogue,
                outputs: vec![Arg { ty: &ty, layout: self.layout, constant: None, storage: out }],
                choices,
                limits: &gpu.limits,
            };
            let kernel = kernels::select(&ctx)?;
            if self.variant.is_some() && choices.iter().next().is_none() {
                return Ok((kernel.choice, kernel.label));
            }
            if let Some(i) = self.in_place.filter(|i| !kernel.in_place.contains(i)) {
                return Err(failed(format!("input {i} may not be taken over")));
            }
            let mut storages = BTreeMap::new();
            for (i, o) in operands.iter().enumerate() {
                if let Some(layout) = o.arena {
                    storages.insert(i as u32, gpu.buffer(&to_layout(&o.value, layout)));
                }
            }
            let bytes = to_layout(&want, self.layout);
            storages.entry(out).or_insert_with(|| gpu.buffer(&vec![0xff; bytes.len()]));
            gpu.run(&kernel, &ctx, &storages)?;
            let got = gpu.read(storages.get(&out).ok_or_else(|| failed("no output"))?);
            compare(&got, &bytes, &want, self.layout, self.tolerance)?;
            Ok((kernel.choice, kernel.label))
        };
        if let Some(variant) = self.variant {
            let choice = context(&choices)?.0.ok_or_else(|| failed("this kernel has no variants"))?;
            if !choice.candidates.contains(&variant) {
                return Err(failed(format!("{variant} is no candidate: {:?}", choice.candidates)));
            }
            choices.set(choice.specialisation, variant);
            let (choice, label) = context(&choices)?;
            return match choice {
                Some(choice) if choice.taken == variant => Ok(label),
                _ => Err(failed(format!("{label} was taken where {variant} was chosen"))),
            };
        }
        Ok(context(&choices)?.1)
    }
}

fn failed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidModel, message)
}

/// The tensor as it lies in the arena; padding lanes are zero.
fn to_layout(t: &Tensor, layout: Layout) -> Vec<u8> {
    let mut bytes = match (layout, &t.shape()[..]) {
        (Layout::C4, &[n, c, h, w]) => {
            let size = t.dtype().gpu_bytes();
            let source = kernels::pack::to_gpu(t);
            let plane = h * w;
            let mut out = vec![0; Layout::C4.elements(t.shape()) * size];
            for (i, element) in source.chunks_exact(size).enumerate() {
                let (n_, c_, p) = (i / plane / c, i / plane % c, i % plane);
                let to = ((n_ * c.div_ceil(4) + c_ / 4) * plane + p) * 4 + c_ % 4;
                out[to * size..][..size].copy_from_slice(element);
            }
            assert_eq!(source.len(), n * c * plane * size);
            out
        }
        _ => kernels::pack::to_gpu(t),
    };
    bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
    bytes
}

/// `got` against `want`, both as they lie in memory; for anything but floats the bytes must agree.
fn compare(got: &[u8], want: &[u8], reference: &Tensor, layout: Layout, tolerance: f64) -> frameway::Result<()> {
    let floats = |bytes: &[u8]| -> Vec<f64> {
        match reference.data() {
            Data::F16(_) => bytes.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()).collect(),
            _ => bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        }
    };
    if !reference.dtype().is_float() {
        return if got == want { Ok(()) } else { Err(failed("the results differ")) };
    }
    // Bytes beyond the tensor pad the buffer to whole vectors and mean nothing.
    let count = layout.elements(reference.shape());
    let (got, want) = (floats(got), floats(want));
    let scale = want.iter().fold(1e-3f64, |a, b| a.max(b.abs()));
    for (i, (g, w)) in got.iter().zip(&want).take(count).enumerate() {
        let equal = g == w || (g - w).abs() <= tolerance * scale;
        if !equal {
            return Err(failed(format!("element {i} is {g}, expected {w} (scale {scale})")));
        }
    }
    Ok(())
}

/// Numbers in (-1, 1), the same for the same seed.
pub fn noise(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let n = shape.iter().product();
    let data = (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::f32(shape, data).expect("the sizes agree")
}
