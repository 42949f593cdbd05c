//! What a run is fed with: tensors and frames. Where they come from is behind two traits, so that a browser's typed array
//! or `<video>` goes to the GPU without passing through the wasm heap.

use super::device::Gpu;
use super::ledger::Place;
use super::load::home;
use super::memory::Texture;
use super::tensor_feed::TensorSource;
use crate::error::{Error, ErrorKind, Result};
use std::any::Any;
use std::cell::{Cell, RefCell};

/// One input of a run.
#[derive(Clone, Copy)]
pub enum Feed<'a> {
    /// Numbers.
    Tensor(&'a dyn TensorSource),
    /// A picture.
    Frame(&'a dyn FrameSource),
}

/// A picture, somewhere.
pub trait FrameSource {
    /// Width and height in pixels; `bad-source` where there is no picture (yet).
    fn size(&self) -> Result<(u32, u32)>;
    /// Where it lies.
    fn place(&self) -> Place;
    /// Copies it to a texture of its size.
    fn copy(&self, to: &TextureTarget<'_>) -> Result<()>;
    /// Runs the pre-processing on the picture where it lies, without a copy; false where that cannot be done, and then
    /// nothing has been done.
    fn run_in_place(&self, pass: &FramePass<'_>) -> Result<bool> {
        let _ = pass;
        Ok(false)
    }
}

/// A texture that takes a frame.
pub struct TextureTarget<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) texture: &'a Texture,
}

impl TextureTarget<'_> {
    /// Writes RGBA pixels, 8 bits a channel, rows from the top.
    pub fn write(&self, pixels: &[u8]) -> Result<()> {
        let Texture { raw, width, height, .. } = self.texture;
        if pixels.len() as u64 != u64::from(*width) * u64::from(*height) * 4 {
            let message = format!("{} bytes are no {width} x {height} RGBA pixels", pixels.len());
            return Err(Error::new(ErrorKind::BadSource, message));
        }
        self.gpu.queue.write_texture(
            raw.as_image_copy(),
            pixels,
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(width * 4), rows_per_image: None },
            raw.size(),
        );
        Ok(())
    }

    /// Width and height in pixels.
    pub const fn size(&self) -> (u32, u32) {
        (self.texture.width, self.texture.height)
    }

    /// The browser's own queue and texture.
    #[cfg(target_arch = "wasm32")]
    pub fn raw(&self) -> Option<(&wgpu::webgpu::GpuQueue, &wgpu::webgpu::GpuTexture)> {
        Some((self.gpu.queue.as_webgpu()?, self.texture.raw.as_webgpu()?))
    }
}

/// The pre-processing of one frame, for a source that can run it on its own picture.
pub struct FramePass<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) wgsl: &'a str,
    pub(super) plain: &'a str,
    pub(super) slots: Vec<FrameSlot<'a>>,
    pub(super) groups: [u32; 3],
    pub(super) cache: &'a RefCell<Option<Box<dyn Any>>>,
    /// Takes the timestamps of the pass's beginning and end, resolved, at an offset; none where they are not wanted.
    pub(super) timing: Option<(&'a wgpu::Buffer, u64)>,
    /// Set by a source that has written them.
    pub(super) timed: Cell<bool>,
}

/// What a slot of group 0 holds.
pub enum FrameSlot<'a> {
    /// The frame itself.
    Frame {
        /// `@binding(slot)`.
        slot: u32,
    },
    /// A range of a buffer.
    Buffer {
        /// `@binding(slot)`.
        slot: u32,
        /// The buffer.
        buffer: &'a wgpu::Buffer,
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
}

impl FramePass<'_> {
    /// The kernel over `texture_external`, entry point `main`.
    pub const fn wgsl(&self) -> &str {
        self.wgsl
    }

    /// The same kernel over `texture_2d<f32>`.
    pub const fn plain_wgsl(&self) -> &str {
        self.plain
    }

    /// Group 0.
    pub fn slots(&self) -> &[FrameSlot<'_>] {
        &self.slots
    }

    /// Workgroups per dimension.
    pub const fn groups(&self) -> [u32; 3] {
        self.groups
    }

    /// Where the source keeps what it made for this kernel, from frame to frame.
    pub const fn cache(&self) -> &RefCell<Option<Box<dyn Any>>> {
        self.cache
    }

    /// Where the pass's two timestamps are wanted, resolved: a buffer and an offset in it. A source that puts them there
    /// says so with [`Self::has_timed`].
    pub const fn timing(&self) -> Option<(&wgpu::Buffer, u64)> {
        self.timing
    }

    /// The timestamps are where they are wanted.
    pub fn has_timed(&self) {
        self.timed.set(true);
    }

    /// Counts a bind group that the source made.
    pub fn count_bind_group(&self) {
        drop(self.gpu.ledger.open(super::ledger::Object::BindGroup, 0));
    }

    /// The browser's own device.
    #[cfg(target_arch = "wasm32")]
    pub fn raw_device(&self) -> Option<&wgpu::webgpu::GpuDevice> {
        self.gpu.device.as_webgpu()
    }
}

/// A picture in this process's memory: RGBA, 8 bits a channel, rows from the top.
#[derive(Debug, Clone, Copy)]
pub struct Pixels<'a> {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `width * height * 4` bytes.
    pub rgba: &'a [u8],
}

impl FrameSource for Pixels<'_> {
    fn size(&self) -> Result<(u32, u32)> {
        Ok((self.width, self.height))
    }

    fn place(&self) -> Place {
        home()
    }

    fn copy(&self, to: &TextureTarget<'_>) -> Result<()> {
        to.write(self.rgba)
    }
}
