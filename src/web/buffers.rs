//! Tensors in the page's own GPU buffers, and what the browser says of GPU objects that may be another device's.

use super::error::words;
use super::frames::no_handle;
use super::js::number;
use super::webgpu::{Device, raw};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::ledger::Place;
use crate::runtime::{BufferTarget, TensorSource};
use crate::tensor::{DType, Data, Shape, View};
use js_sys::{Array, Promise};
use std::cell::RefCell;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

/// `GPUBufferUsage.COPY_SRC`.
const COPY_SRC: u32 = 4;
/// Where WebGPU lets a range begin that kernels read.
const ALIGNMENT: f64 = 256.0;

/// What the browser says of work with an object of the page's. WebGPU tells nobody which device an object belongs to: work with a
/// foreign one fails, and the error comes later.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer(RefCell<Option<Promise>>);

impl Answer {
    /// Does the work and asks how it went.
    pub(super) fn ask<T>(&self, device: &Device, work: impl FnOnce() -> T) -> T {
        device.push_error_scope("validation");
        let done = work();
        self.0.replace(Some(device.pop_error_scope()));
        done
    }

    /// How the work went that was asked of last; fine where none was. `what` is the object's kind.
    pub(super) async fn wait(&self, what: &str) -> Result<()> {
        let Some(answer) = self.0.take() else { return Ok(()) };
        let error = match JsFuture::from(answer).await {
            Ok(none) if none.is_null() || none.is_undefined() => return Ok(()),
            Ok(error) | Err(error) => words(&error),
        };
        // What the browser was doing is told in further lines. (Lower case would bring tables of all scripts with it.)
        let first = error.lines().next().unwrap_or_default();
        if first.contains("device") || first.contains("Device") {
            let message = format!("the {what} belongs to another GPUDevice than this runtime's");
            let hint = "make it with runtime.device, or give your device to Runtime.create({ device })";
            return Err(Error::new(ErrorKind::DeviceMismatch, message).hint(hint));
        }
        Err(Error::new(ErrorKind::BadSource, error))
    }
}

/// Elements in a range of a GPU buffer of the page's.
#[derive(Debug)]
pub(super) struct WebBuffer {
    buffer: JsValue,
    /// First byte of the view.
    first: f64,
    dtype: DType,
    view: View,
    answer: Answer,
}

impl WebBuffer {
    /// Elements of a view whose memory begins at byte `offset`.
    ///
    /// # Errors
    /// `layout-mismatch` where WebGPU allows nothing to begin there, `shape-mismatch` where the buffer is too short, `bad-source`
    /// where it must not be copied from.
    pub(super) fn new(buffer: JsValue, offset: f64, dtype: DType, view: View) -> Result<Self> {
        if !(offset >= 0.0 && offset % ALIGNMENT == 0.0) {
            let message = format!("offset {offset} of a GPU buffer is no multiple of {ALIGNMENT}");
            let next = (offset.max(0.0) / ALIGNMENT).ceil() * ALIGNMENT;
            return Err(Error::new(ErrorKind::LayoutMismatch, message).hint(format!(
                "WebGPU binds ranges of a buffer to kernels at multiples of {ALIGNMENT} bytes alone \
                 (minStorageBufferOffsetAlignment): begin each tensor at one, here for instance at {next}"
            )));
        }
        let size = dtype.gpu_bytes() as f64;
        let first = offset + view.offset() as f64 * size;
        if first % 4.0 != 0.0 {
            let message = format!("the view begins at byte {first} of its buffer, which is no multiple of 4");
            return Err(Error::new(ErrorKind::LayoutMismatch, message)
                .hint("WebGPU copies whole 32-bit words: begin a float16 view at an even element"));
        }
        let bytes = (view.span() as f64 * size / 4.0).ceil() * 4.0;
        let held = number(&buffer, "size").unwrap_or(0.0);
        if first + bytes > held {
            let message = format!("{bytes} bytes from byte {first} on reach beyond a buffer of {held} bytes");
            return Err(Error::new(ErrorKind::ShapeMismatch, message)
                .hint("elements of 8 bits and bool take 32 bits on the GPU, float16 takes 16"));
        }
        if number(&buffer, "usage").unwrap_or(0.0) as u32 & COPY_SRC == 0 {
            return Err(Error::new(ErrorKind::BadSource, "the buffer cannot be copied from")
                .hint("create it with GPUBufferUsage.COPY_SRC"));
        }
        Ok(Self { buffer, first, dtype, view, answer: Answer::default() })
    }

    /// How its memory is read, contiguous or not.
    pub(super) const fn whole_view(&self) -> &View {
        &self.view
    }

    /// Resolves once it is known that the runtime's device could read the buffer.
    pub(super) async fn settled(&self) -> Result<()> {
        self.answer.wait("buffer").await
    }

    fn is(&self, other: &JsValue) -> bool {
        &self.buffer == other
    }
}

impl TensorSource for WebBuffer {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.view.shape().elements()
    }

    fn shape(&self) -> Option<&Shape> {
        Some(self.view.shape())
    }

    fn view(&self) -> Option<&View> {
        Some(&self.view).filter(|view| !view.is_contiguous())
    }

    fn place(&self) -> Place {
        Place::Arena
    }

    fn lies_in(&self, to: &BufferTarget<'_>) -> bool {
        self.first == to.offset() as f64 && to.raw().is_some_and(|(_, target)| self.is(target.as_ref()))
    }

    fn write(&self, to: &BufferTarget<'_>) -> Result<()> {
        let device: &Device = raw(to.raw_device().ok_or_else(no_handle)?);
        let (_, target) = to.raw().ok_or_else(no_handle)?;
        if self.is(target.as_ref()) {
            let message = "the tensor lies elsewhere in the memory of the very request that reads it";
            return Err(Error::new(ErrorKind::BadSource, message)
                .hint("feed it to another request, or detach() a copy: WebGPU copies nothing within one buffer"));
        }
        self.answer
            .ask(device, || {
                let encoder = device.create_command_encoder();
                let (at, bytes) = (to.offset() as f64, to.bytes() as f64);
                encoder.copy_buffer(&self.buffer, self.first, target.as_ref(), at, bytes)?;
                device.queue().submit(&Array::of1(&encoder.finish()));
                Ok(())
            })
            .map_err(|e: JsValue| Error::new(ErrorKind::BadSource, words(&e)))
    }

    fn data(&self) -> Result<Data> {
        Err(Error::new(ErrorKind::DtypeMismatch, "elements in a GPU buffer are not converted")
            .hint("write them in the type that the GPU computes with: int64 is int32, 8-bit types are 32 bits wide"))
    }
}
