//! The way in of a tensor whose strides are not the input's: a buffer that takes its memory as it is, and a kernel that lays the
//! elements where the network reads them.

use super::device::Gpu;
use super::kernels::{SlotKind, layout_entry};
use super::ledger::Class;
use super::limits::Room;
use super::load::port_bytes;
use super::memory::{Buffer, STORAGE, UNIFORM};
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::strided;
use crate::tensor::View;

/// What a view needs on the GPU, made once for each input and view.
#[derive(Debug)]
pub(super) struct Relay {
    view: View,
    bytes: u64,
    staging: Buffer,
    _params: Buffer,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    groups: [u32; 3],
    _room: Room,
}

impl Relay {
    /// For `view` into `port`, which lies at `offset` of the arena. Views that differ in their first element alone share one.
    pub(super) fn new(gpu: &Gpu, view: &View, port: &Port, arena: &Buffer, offset: u64) -> Result<Self> {
        let kernel = strided(view, port.desc.dtype, &gpu.kernel_limits())?;
        let bytes = (view.span() as u64).saturating_mul(port.desc.dtype.gpu_bytes() as u64).next_multiple_of(4);
        let most = gpu.limits.max_buffer_size.min(gpu.limits.max_storage_buffer_binding_size);
        if bytes > most {
            let message = format!("the view spans {bytes} bytes, the device binds {most} in one buffer");
            return Err(Error::new(ErrorKind::MemoryLimit, message).hint("hand in a contiguous copy"));
        }
        let room = gpu.pools.take("a strided input", [0, 0, 0, bytes])?;
        let kinds = [SlotKind::Uniform, SlotKind::ReadWrite, SlotKind::ReadWrite];
        let entries: Vec<_> = (0u32..).zip(kinds).map(|(slot, kind)| layout_entry(slot, kind)).collect();
        let device = &gpu.device;
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("strided"),
            source: wgpu::ShaderSource::Wgsl(kernel.shader.wgsl.as_str().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("strided"),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let staging = gpu.buffer(Class::Staging, "strided input", bytes, STORAGE);
        let params = gpu.buffer(Class::Uniforms, "strided input", kernel.params.len() as u64, UNIFORM);
        gpu.write(&params, 0, &kernel.params)?;
        let input = wgpu::BufferBinding { buffer: &arena.raw, offset, size: wgpu::BufferSize::new(port_bytes(port)) };
        let resources =
            [params.raw.as_entire_binding(), staging.raw.as_entire_binding(), wgpu::BindingResource::Buffer(input)];
        let entries: Vec<_> =
            (0u32..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let group = gpu.bind_group(&layout, &entries);
        let view = view.clone();
        Ok(Self { view, bytes, staging, _params: params, pipeline, group, groups: kernel.groups, _room: room })
    }

    /// Whether it can take `view`: dimensions and strides are the same.
    pub(super) fn serves(&self, view: &View) -> bool {
        self.view.shape() == view.shape() && self.view.strides() == view.strides()
    }

    /// Takes the view's memory, from its first element on.
    pub(super) const fn staging(&self) -> &Buffer {
        &self.staging
    }

    /// Bytes of the view's memory, as the GPU holds them.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lays the elements where the network reads them.
    pub(super) fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let descriptor = wgpu::ComputePassDescriptor { label: Some("strided input"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        let [x, y, z] = self.groups;
        pass.dispatch_workgroups(x, y, z);
    }
}
