//! Numbers that a run is fed with: held against an input, converted where the arena holds another type, written.

use super::device::Gpu;
use super::ledger::{Frame, Move, MoveKind, Place};
use super::load::{home, port_bytes};
use super::memory::Buffer;
use super::relay::Relay;
use crate::engine::Port;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Shape, Tensor, View};

/// Numbers, somewhere.
pub trait TensorSource {
    /// Their element type.
    fn dtype(&self) -> DType;
    /// Their number.
    fn len(&self) -> usize;
    /// True where there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Their shape; `None` for a plain array, which takes the input's.
    fn shape(&self) -> Option<&Shape>;
    /// How its memory is read, where that is not in row-major order.
    fn view(&self) -> Option<&View> {
        None
    }
    /// Where they lie.
    fn place(&self) -> Place;
    /// True where the elements lie in `to` already.
    fn lies_in(&self, to: &BufferTarget<'_>) -> bool {
        let _ = to;
        false
    }
    /// Writes the elements as they are; of a view its whole span, from its first element on.
    fn write(&self, to: &BufferTarget<'_>) -> Result<()>;
    /// The elements in this process's memory, for a conversion; of a view its whole span.
    fn data(&self) -> Result<Data>;
}

/// A view of elements in this process's memory.
#[derive(Debug, Clone)]
pub struct Viewed<'a> {
    memory: &'a Data,
    view: View,
}

impl<'a> Viewed<'a> {
    /// The elements of `memory` that `view` reaches.
    ///
    /// # Errors
    /// `shape-mismatch` where it reaches beyond the end.
    pub fn new(memory: &'a Data, view: View) -> Result<Self> {
        view.holds(memory.len(), memory.dtype())?;
        Ok(Self { memory, view })
    }

    fn bytes(&self) -> &[u8] {
        let size = self.memory.dtype().bytes();
        let first = self.view.offset().saturating_mul(size);
        let end = first.saturating_add(self.view.span().saturating_mul(size));
        self.memory.as_bytes().get(first..end).unwrap_or_default()
    }
}

impl TensorSource for Viewed<'_> {
    fn dtype(&self) -> DType {
        self.memory.dtype()
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
        home()
    }

    fn write(&self, to: &BufferTarget<'_>) -> Result<()> {
        to.write(self.bytes())
    }

    fn data(&self) -> Result<Data> {
        Data::from_le_bytes(self.dtype(), self.bytes())
    }
}

impl TensorSource for Tensor {
    fn dtype(&self) -> DType {
        Tensor::dtype(self)
    }

    fn len(&self) -> usize {
        Tensor::data(self).len()
    }

    fn shape(&self) -> Option<&Shape> {
        Some(Tensor::shape(self))
    }

    fn place(&self) -> Place {
        home()
    }

    fn write(&self, to: &BufferTarget<'_>) -> Result<()> {
        to.write(Tensor::data(self).as_bytes())
    }

    fn data(&self) -> Result<Data> {
        Ok(Tensor::data(self).clone())
    }
}

/// A place in the arena that takes an input's elements.
pub struct BufferTarget<'a> {
    gpu: &'a Gpu,
    buffer: &'a Buffer,
    offset: u64,
    bytes: u64,
}

impl BufferTarget<'_> {
    /// Writes `bytes`, from the beginning.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 > self.bytes {
            let message = format!("{} bytes do not fit {}", bytes.len(), self.bytes);
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        self.gpu.write(self.buffer, self.offset, bytes)
    }

    /// Offset in the buffer, in bytes.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that may be written.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The browser's own queue and buffer.
    #[cfg(target_arch = "wasm32")]
    pub fn raw(&self) -> Option<(&wgpu::webgpu::GpuQueue, &wgpu::webgpu::GpuBuffer)> {
        Some((self.gpu.queue.as_webgpu()?, self.buffer.raw.as_webgpu()?))
    }

    /// The browser's own device.
    #[cfg(target_arch = "wasm32")]
    pub fn raw_device(&self) -> Option<&wgpu::webgpu::GpuDevice> {
        self.gpu.device.as_webgpu()
    }
}

/// How given elements become those of the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    /// They are the same bits.
    None,
    /// 8 bits become 32, as the arena holds them.
    Widen,
    /// int64 becomes int32; values that do not fit are an error.
    Narrow,
    /// float32 becomes float16.
    Half,
}

impl Conversion {
    /// From `given` to a port of type `port`, or `dtype-mismatch`.
    pub(super) fn between(given: DType, port: DType) -> Result<Self> {
        use DType::{Bool, F16, F32, I8, I32, I64, U8, U32};
        match (given, port) {
            (F32, F32) | (F16, F16) | (U32, U32) | (I32, I32 | I64) => Ok(Self::None),
            (I64, I32 | I64) => Ok(Self::Narrow),
            (I8, I8) | (U8, U8) | (U8 | Bool, Bool) => Ok(Self::Widen),
            (F32, F16) => Ok(Self::Half),
            _ => Err(Error::new(ErrorKind::DtypeMismatch, format!("expected {port}, got {given}"))),
        }
    }

    /// Why it is done, and whether nobody asked for it: then an explicit way exists.
    const fn reason(self) -> Option<(&'static str, bool)> {
        match self {
            Self::None => None,
            Self::Widen => Some(("8 bits become 32", false)),
            Self::Narrow => Some(("int64 becomes int32", true)),
            Self::Half => Some(("float32 becomes float16", true)),
        }
    }

    fn apply(self, data: &Data) -> Result<Vec<u8>> {
        let bytes_of = |v: Vec<i32>| bytemuck::cast_slice(&v).to_vec();
        Ok(match (self, data) {
            (_, Data::U8(v) | Data::Bool(v)) => bytes_of(v.iter().map(|&x| i32::from(x)).collect()),
            (_, Data::I8(v)) => bytes_of(v.iter().map(|&x| i32::from(x)).collect()),
            (_, Data::I64(v)) => {
                let narrow = |&x: &i64| {
                    i32::try_from(x).map_err(|_| {
                        Error::new(ErrorKind::DtypeMismatch, format!("{x} does not fit int32"))
                            .hint("int64 is int32 on the GPU")
                    })
                };
                bytes_of(v.iter().map(narrow).collect::<Result<_>>()?)
            }
            (Self::Half, Data::F32(v)) => {
                let half: Vec<half::f16> = v.iter().map(|&x| half::f16::from_f32(x)).collect();
                bytemuck::cast_slice(&half).to_vec()
            }
            (_, other) => other.as_bytes().to_vec(),
        })
    }
}

/// Holds a tensor against a port; `strict` refuses conversions that nobody asked for.
pub(super) fn check_tensor(port: &Port, source: &dyn TensorSource, strict: bool) -> Result<Conversion> {
    let place = || format!("input {:?}", port.desc.name);
    let conversion = Conversion::between(source.dtype(), port.desc.dtype).map_err(|e| e.at(place()))?;
    if let Some(shape) = source.shape().filter(|shape| **shape != port.desc.shape) {
        let message = format!("expected {}, got {shape}", port.desc.shape);
        return Err(Error::new(ErrorKind::ShapeMismatch, message)
            .at(place())
            .hint("compile again with `shapes` for another input shape"));
    }
    let want = port.desc.shape.elements();
    if source.len() != want {
        let message = format!("expected {want} elements for {}, got {}", port.desc.shape, source.len());
        return Err(Error::new(ErrorKind::ShapeMismatch, message).at(place()));
    }
    let edge = || format!("{} (edge {}>{})", place(), source.place().as_str(), Place::Input.as_str());
    if let Some(view) = source.view().filter(|_| strict) {
        let message = format!(
            "expected strides {:?}, got {:?}, and copies are \"strict\"",
            view.shape().row_major_strides(),
            view.strides()
        );
        return Err(Error::new(ErrorKind::LayoutMismatch, message).at(edge()).hint(
            "hand in a contiguous row-major copy, or compile with copies: \"report\" to have it laid again on the GPU",
        ));
    }
    match conversion.reason() {
        Some((reason, true)) if strict => {
            let message = format!("{reason}, and copies are \"strict\"");
            Err(Error::new(ErrorKind::DtypeMismatch, message)
                .at(edge())
                .hint("hand in elements of the type the GPU computes with"))
        }
        _ => Ok(conversion),
    }
}

/// Where a tensor is written.
pub(super) struct Destination<'a> {
    arena: &'a Buffer,
    offset: u64,
    port: &'a Port,
    relay: Option<&'a Relay>,
}

impl<'a> Destination<'a> {
    /// The input's place in the arena; by way of `relay` where strides differ.
    pub(super) const fn new(arena: &'a Buffer, offset: u64, port: &'a Port, relay: Option<&'a Relay>) -> Self {
        Self { arena, offset, port, relay }
    }
}

/// Writes a tensor that [`check_tensor`] let through, and enters what moved. What goes by way of a relay is laid again by a
/// dispatch that the caller encodes.
pub(super) fn write_tensor(
    gpu: &Gpu,
    destination: &Destination<'_>,
    source: &dyn TensorSource,
    conversion: Conversion,
    frame: &Frame,
) -> Result<()> {
    let Destination { arena, offset, port, relay } = *destination;
    let (target, to) = match relay {
        None => (BufferTarget { gpu, buffer: arena, offset, bytes: port_bytes(port) }, Place::Input),
        Some(relay) => {
            let again = Move::new(Place::Staging, Place::Input, MoveKind::Relayout, port_bytes(port));
            frame.enter(again.because("strides are not the input's").implicit());
            (BufferTarget { gpu, buffer: relay.staging(), offset: 0, bytes: relay.bytes() }, Place::Staging)
        }
    };
    let bytes = target.bytes;
    let started = (gpu.clock)();
    let Some((reason, implicit)) = conversion.reason() else {
        if source.lies_in(&target) {
            frame.enter(Move::new(source.place(), to, MoveKind::Reference, 0));
            return Ok(());
        }
        source.write(&target)?;
        let kind = if source.place().on_gpu() { MoveKind::Copy } else { MoveKind::Upload };
        frame.enter(Move::new(source.place(), to, kind, bytes).took((gpu.clock)() - started));
        return Ok(());
    };
    let converted = conversion.apply(&source.data()?).map_err(|e| e.at(format!("input {:?}", port.desc.name)))?;
    let mut m = Move::new(source.place(), home(), MoveKind::Convert, converted.len() as u64).because(reason);
    m.implicit = implicit;
    let between = (gpu.clock)();
    frame.enter(m.took(between - started));
    target.write(&converted)?;
    frame.enter(Move::new(home(), to, MoveKind::Upload, bytes).took((gpu.clock)() - between));
    Ok(())
}
