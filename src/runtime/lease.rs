//! A lease: the right to read the results of one run, until the request runs again.

use super::context::Context;
use super::ledger::{Move, MoveKind, Place};
use super::live::Slot;
use super::load::{home, port_bytes};
use super::report::RunTimes;
use super::request::Handle;
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Tensor};
use std::rc::{Rc, Weak};

/// The results of one run.
#[derive(Debug)]
pub struct Lease {
    handle: Rc<Handle>,
    slot: Option<Weak<Slot>>,
    run: u64,
    times: RunTimes,
}

impl Lease {
    pub(super) const fn new(handle: Rc<Handle>, slot: Option<Weak<Slot>>, run: u64, times: RunTimes) -> Self {
        Self { handle, slot, run, times }
    }

    fn context(&self) -> &Context {
        &self.handle.member.context
    }

    fn slot(&self) -> Option<Rc<Slot>> {
        self.slot.as_ref().and_then(Weak::upgrade)
    }

    /// The outputs' identity cards, in the model's order.
    pub fn outputs(&self) -> &[Port] {
        &self.handle.pool.loaded.engine.outputs
    }

    /// How long the run took.
    pub const fn times(&self) -> &RunTimes {
        &self.times
    }

    /// False once the request has run again or was released: reading would give `stale-output`.
    pub fn is_fresh(&self) -> bool {
        self.context().is_fresh(self.slot().as_deref(), self.run)
    }

    /// Looks at the bytes of output `output` where they are mapped, without a copy: as the arena holds them
    /// ([`DType::gpu_bytes`]), at the end up to two bytes of padding.
    pub fn with<T>(&self, output: usize, look: impl FnOnce(&wgpu::BufferView) -> T) -> Result<T> {
        let slot = self.slot();
        let view = self.context().read(slot.as_deref(), self.run, output)?;
        Ok(look(&view))
    }

    /// A copy of output `output`, in the model's own element type.
    pub fn read(&self, output: usize) -> Result<Tensor> {
        let port = self.outputs().get(output);
        let port = port.ok_or_else(|| Error::new(ErrorKind::BadSource, format!("there is no output {output}")))?;
        let (dtype, elements) = (port.desc.dtype, port.desc.shape.elements());
        // A browser maps no empty range.
        let data = if elements == 0 && self.is_fresh() && !self.is_on_gpu(output) {
            decode(dtype, 0, &[])?
        } else {
            self.with(output, |bytes| decode(dtype, elements, bytes))??
        };
        let m = Move::new(Place::Javascript, home(), MoveKind::Copy, port_bytes(port));
        self.handle.pool.loaded.gpu.ledger.enter(m.because("a copy that lives on"));
        Tensor::new(port.desc.shape.clone(), data)
    }

    /// Copies of all outputs that are read back, in the model's order; `None` for those that stay on the GPU.
    pub fn detach(&self) -> Result<Vec<Option<Tensor>>> {
        let staged = &self.handle.pool.loaded.staged;
        staged.iter().enumerate().map(|(i, s)| s.map(|_| self.read(i)).transpose()).collect()
    }

    /// True where output `output` is not read back.
    pub fn is_on_gpu(&self, output: usize) -> bool {
        self.handle.pool.loaded.staged.get(output).is_some_and(Option::is_none)
    }

    /// Where output `output` lies on the GPU. Valid until the next run.
    #[cfg(target_arch = "wasm32")]
    pub fn on_gpu(&self, output: usize) -> Result<super::GpuRange> {
        self.context().on_gpu(self.run, output)
    }

    /// Gives the results up, and the request back to its pool. Nothing happens where the request has run again since: it
    /// belongs to the later lease.
    pub fn release(&self) {
        if self.is_fresh() {
            self.context().release(self.slot().as_deref(), self.run);
            self.handle.release();
        }
    }
}

/// Elements of type `dtype` from the form in which the arena holds them.
pub(super) fn decode(dtype: DType, elements: usize, bytes: &[u8]) -> Result<Data> {
    let want = elements.saturating_mul(dtype.gpu_bytes());
    let bytes = bytes.get(..want).ok_or_else(|| {
        Error::new(ErrorKind::ShapeMismatch, format!("{} bytes for {elements} elements of {dtype}", bytes.len()))
    })?;
    let words = || bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    Ok(match dtype {
        DType::I64 => Data::I64(words().map(i64::from).collect()),
        DType::U8 => Data::U8(words().map(|w| w as u8).collect()),
        DType::I8 => Data::I8(words().map(|w| w as i8).collect()),
        DType::Bool => Data::Bool(words().map(|w| u8::from(w != 0)).collect()),
        DType::F32 | DType::F16 | DType::I32 | DType::U32 => Data::from_le_bytes(dtype, bytes)?,
    })
}
