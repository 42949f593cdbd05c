//! GPU memory: the one place where buffers, textures and bind groups are made, each entered in the ledger, each freed on
//! drop.

use super::device::Gpu;
use super::ledger::{Class, Entry, Object};
use super::signal::{Signal, signal};
use crate::error::{Error, ErrorKind, Result};

/// Usages of a buffer that kernels read and write.
pub(super) const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);
/// Usages of a buffer of parameters.
pub(super) const UNIFORM: wgpu::BufferUsages = wgpu::BufferUsages::UNIFORM.union(wgpu::BufferUsages::COPY_DST);
/// Usages of a buffer that the CPU reads.
pub(super) const STAGING: wgpu::BufferUsages = wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);
/// Usages of a buffer that takes timestamps.
pub(super) const TIMESTAMPS: wgpu::BufferUsages = wgpu::BufferUsages::QUERY_RESOLVE.union(wgpu::BufferUsages::COPY_SRC);

/// A buffer; freed at once when dropped, not when a garbage collector finds it.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) raw: wgpu::Buffer,
    _entry: Entry,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.raw.destroy();
    }
}

/// A range of a buffer of a request's, for the page's own kernels.
#[cfg(target_arch = "wasm32")]
#[derive(Debug, Clone)]
pub struct GpuRange {
    pub(super) buffer: wgpu::Buffer,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

#[cfg(target_arch = "wasm32")]
impl Buffer {
    /// What a port takes of it.
    pub(super) fn range(&self, offset: u64, port: &crate::engine::Port) -> GpuRange {
        GpuRange { buffer: self.raw.clone(), offset, bytes: super::load::port_bytes(port) }
    }
}

#[cfg(target_arch = "wasm32")]
impl GpuRange {
    /// The browser's own buffer.
    pub fn raw(&self) -> Option<&wgpu::webgpu::GpuBuffer> {
        self.buffer.as_webgpu()
    }
}

/// A picture on the GPU, 8 bits a channel.
#[derive(Debug)]
pub(super) struct Texture {
    pub(super) raw: wgpu::Texture,
    pub(super) view: wgpu::TextureView,
    pub(super) width: u32,
    pub(super) height: u32,
    _entry: Entry,
}

impl Drop for Texture {
    fn drop(&mut self) {
        self.raw.destroy();
    }
}

impl Gpu {
    /// A buffer of `bytes` bytes, zeroed.
    pub(super) fn buffer(&self, class: Class, label: &str, bytes: u64, usage: wgpu::BufferUsages) -> Buffer {
        let raw = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage,
            mapped_at_creation: false,
        });
        Buffer { raw, _entry: self.ledger.open(Object::Buffer(class), bytes) }
    }

    /// A buffer that may be too big for the device: `memory-limit` then, naming the pool.
    pub(super) async fn big_buffer(&self, class: Class, pool: &str, bytes: u64) -> Result<Buffer> {
        let limit = self.limits.max_buffer_size;
        if bytes > limit {
            let message = format!("{pool} needs {bytes} bytes in one buffer, the device allows {limit}");
            return Err(Error::new(ErrorKind::MemoryLimit, message)
                .at(format!("pool {pool:?}"))
                .hint("use a smaller input shape or a smaller batch"));
        }
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.buffer(class, pool, bytes, STORAGE);
        match scope.pop().await {
            None => Ok(buffer),
            Some(_) => Err(Error::new(ErrorKind::MemoryLimit, format!("the device has no {bytes} bytes left"))
                .at(format!("pool {pool:?}"))
                .hint("close engines and requests that are no longer needed")),
        }
    }

    /// A texture for frames of `width` x `height` pixels, RGBA. Browsers copy pictures only into textures that can be
    /// rendered to.
    pub(super) fn texture(&self, label: &str, width: u32, height: u32) -> Texture {
        let raw = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(label),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm,
            usage: wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_DST
                | wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let view = raw.create_view(&wgpu::TextureViewDescriptor::default());
        let entry = self.ledger.open(Object::Texture, u64::from(width) * u64::from(height) * 4);
        Texture { raw, view, width, height, _entry: entry }
    }

    /// A bind group.
    pub(super) fn bind_group(
        &self,
        layout: &wgpu::BindGroupLayout,
        entries: &[wgpu::BindGroupEntry<'_>],
    ) -> wgpu::BindGroup {
        drop(self.ledger.open(Object::BindGroup, 0));
        self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries })
    }

    /// Writes `bytes` into `buffer` at `offset`, a multiple of four; the tail is filled with zeros up to one. What lies
    /// beyond the end of the buffer is an error.
    pub(super) fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        let whole = bytes.len() / 4 * 4;
        let end = offset.checked_add(bytes.len().next_multiple_of(4) as u64);
        if !offset.is_multiple_of(4) || end.is_none_or(|end| end > buffer.raw.size()) {
            let message = format!("{} bytes at {offset} do not fit a buffer of {}", bytes.len(), buffer.raw.size());
            return Err(Error::new(ErrorKind::PlanMismatch, message));
        }
        if whole > 0 {
            self.queue.write_buffer(&buffer.raw, offset, &bytes[..whole]);
        }
        if whole < bytes.len() {
            let mut tail = [0; 4];
            tail[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
            self.queue.write_buffer(&buffer.raw, offset + whole as u64, &tail);
        }
        Ok(())
    }

    /// Asks for the first `bytes` of a staging buffer to be mapped for reading.
    pub(super) fn map(&self, buffer: &Buffer, bytes: u64) -> Signal<std::result::Result<(), wgpu::BufferAsyncError>> {
        let (sender, mapped) = signal();
        buffer.raw.map_async(wgpu::MapMode::Read, ..bytes, move |result| sender.send(result));
        mapped
    }
}
