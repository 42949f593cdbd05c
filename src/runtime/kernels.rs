//! Compiled kernels of a runtime, by their text: what one engine has compiled another finds.

use super::device::Gpu;
use super::load::{LoadTimes, Progress, dispatch_of};
use crate::engine::{Engine, Phase};
use crate::error::{Error, ErrorKind, Result};
use crate::recording::{Binding, Resource, Shader, Space};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a slot of group 0 holds, as far as its layout goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SlotKind {
    ReadWrite,
    ReadOnly,
    Uniform,
    Texture,
}

/// Slots of group 0, in order.
pub(super) type Signature = Vec<(u32, SlotKind)>;

/// A compiled kernel and the layout of what it binds.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// Kernels of all engines of a runtime, by their text.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    layouts: RefCell<BTreeMap<Signature, (wgpu::BindGroupLayout, wgpu::PipelineLayout)>>,
    kernels: RefCell<BTreeMap<(String, Signature), Rc<Kernel>>>,
}

impl Kernels {
    pub(super) fn clear(&self) {
        self.layouts.borrow_mut().clear();
        self.kernels.borrow_mut().clear();
    }

    fn layout(&self, gpu: &Gpu, signature: &Signature) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout) {
        let mut layouts = self.layouts.borrow_mut();
        layouts
            .entry(signature.clone())
            .or_insert_with(|| {
                let entries: Vec<_> = signature.iter().map(|&(slot, kind)| layout_entry(slot, kind)).collect();
                let group = gpu
                    .device
                    .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
                let pipeline = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: None,
                    bind_group_layouts: &[Some(&group)],
                    ..Default::default()
                });
                (group, pipeline)
            })
            .clone()
    }

    /// Drops a kernel that turned out to be refused.
    pub(super) fn forget(&self, shader: &Shader, signature: &Signature) {
        self.kernels.borrow_mut().remove(&(shader.wgsl.clone(), signature.clone()));
    }

    /// Starts compiling; the error, if any, is known when `check` resolves.
    pub(super) fn compile(
        &self,
        gpu: &Gpu,
        shader: &Shader,
        signature: &Signature,
    ) -> (Rc<Kernel>, impl Future<Output = Option<wgpu::Error>> + use<>) {
        let (layout, pipeline_layout) = self.layout(gpu, signature);
        let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&shader.label),
            source: wgpu::ShaderSource::Wgsl(shader.wgsl.as_str().into()),
        });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&shader.label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let kernel = Rc::new(Kernel { pipeline, layout });
        self.kernels.borrow_mut().insert((shader.wgsl.clone(), signature.clone()), Rc::clone(&kernel));
        (kernel, scope.pop())
    }
}

pub(super) fn layout_entry(slot: u32, kind: SlotKind) -> wgpu::BindGroupLayoutEntry {
    let buffer = |ty| wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    wgpu::BindGroupLayoutEntry {
        binding: slot,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: match kind {
            SlotKind::ReadWrite => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
            SlotKind::ReadOnly => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
            SlotKind::Uniform => buffer(wgpu::BufferBindingType::Uniform),
            SlotKind::Texture => wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Float { filterable: true },
                view_dimension: wgpu::TextureViewDimension::D2,
                multisampled: false,
            },
        },
        count: None,
    }
}

fn signature(bindings: &[Binding]) -> Signature {
    let kind = |b: &Binding| match b.resource {
        Resource::Buffer(range) => match range.space {
            Space::Arena => SlotKind::ReadWrite,
            Space::Weights => SlotKind::ReadOnly,
            Space::Params | Space::Frame => SlotKind::Uniform,
        },
        Resource::Frame { .. } => SlotKind::Texture,
    };
    bindings.iter().map(|b| (b.slot, kind(b))).collect()
}

/// The kernel of each dispatch, in order of the commands.
pub(super) async fn compile_all(
    gpu: &Gpu,
    kernels: &Kernels,
    engine: &Engine,
    times: &mut LoadTimes,
    progress: &dyn Fn(Progress),
) -> Result<Vec<Rc<Kernel>>> {
    let recording = &engine.recording;
    let mut of_dispatch = Vec::new();
    let mut pending = Vec::new();
    for dispatch in recording.commands.iter().filter_map(dispatch_of) {
        let shader =
            recording.shaders.get(dispatch.shader).ok_or_else(|| super::check::mismatch("a shader is missing"))?;
        if shader.f16 && !gpu.features.contains(wgpu::Features::SHADER_F16) {
            return Err(Error::new(ErrorKind::UnsupportedOp, "this adapter has no shader-f16")
                .at(format!("kernel {:?}", shader.label))
                .hint("compile with precision \"float32\" or \"auto\""));
        }
        let key = (shader.wgsl.clone(), signature(&dispatch.bindings));
        let known = kernels.kernels.borrow().get(&key).cloned();
        let kernel = match known {
            Some(kernel) => {
                times.kernels_reused += 1;
                kernel
            }
            None => {
                let (kernel, check) = kernels.compile(gpu, shader, &key.1);
                pending.push((&shader.label, key, check));
                kernel
            }
        };
        of_dispatch.push(kernel);
    }
    let total = pending.len() as u64;
    times.kernels_compiled = total;
    let mut first_error = None;
    for (done, (label, key, check)) in pending.into_iter().enumerate() {
        if let Some(error) = check.await {
            // It must not be found the next time.
            kernels.kernels.borrow_mut().remove(&key);
            let error = Error::new(ErrorKind::UnsupportedOp, format!("this adapter refuses the kernel: {error}"));
            first_error.get_or_insert(error.at(format!("kernel {label:?}")));
        }
        progress(Progress { phase: Phase::Kernels, done: done as u64 + 1, total });
    }
    first_error.map_or(Ok(of_dispatch), Err)
}
