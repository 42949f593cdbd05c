//! Tensors as JavaScript has them: typed arrays, `{ data, shape?, dtype? }`, and ranges of the page's own GPU buffers.

use super::error::{bad_source, words};
use super::frames::{WebFrame, no_handle};
use super::js::{class, field, number};
use super::webgpu::{Device, Queue, raw};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::ledger::Place;
use crate::runtime::{BufferTarget, Feed, TensorSource};
use crate::tensor::{DType, Data, Shape};
use js_sys::{Array, ArrayBuffer, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

/// `GPUBufferUsage.COPY_SRC`.
const COPY_SRC: u32 = 4;

/// The element type of a typed array.
fn dtype_of(class: &str) -> Option<DType> {
    Some(match class {
        "Float32Array" => DType::F32,
        // Browsers without Float16Array hold its bits in a Uint16Array.
        "Float16Array" | "Uint16Array" => DType::F16,
        "Int32Array" => DType::I32,
        "Uint32Array" => DType::U32,
        "BigInt64Array" => DType::I64,
        "Uint8Array" | "Uint8ClampedArray" => DType::U8,
        "Int8Array" => DType::I8,
        _ => return None,
    })
}

/// Elements of a typed array.
#[derive(Debug)]
pub(super) struct WebTensor {
    array: JsValue,
    dtype: DType,
    shape: Option<Shape>,
    len: usize,
}

impl WebTensor {
    fn bytes(&self) -> Uint8Array {
        let view = |name: &str| number(&self.array, name).unwrap_or(0.0) as u32;
        Uint8Array::new_with_byte_offset_and_length(
            &field(&self.array, "buffer"),
            view("byteOffset"),
            view("byteLength"),
        )
    }
}

impl TensorSource for WebTensor {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.len
    }

    fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    fn place(&self) -> Place {
        Place::Javascript
    }

    fn write(&self, to: &BufferTarget<'_>) -> Result<()> {
        let bytes = self.bytes();
        if !bytes.length().is_multiple_of(4) {
            return to.write(&bytes.to_vec());
        }
        if u64::from(bytes.length()) > to.bytes() {
            return Err(Error::new(ErrorKind::ShapeMismatch, format!("more than {} bytes", to.bytes())));
        }
        // Straight from the JavaScript heap: the wasm heap never sees the elements.
        let (queue, buffer) = to.raw().ok_or_else(no_handle)?;
        raw::<Queue>(queue).write_buffer(buffer.as_ref(), to.offset() as f64, &bytes).map_err(|e| bad_source(&e))
    }

    fn data(&self) -> Result<Data> {
        Data::from_le_bytes(self.dtype, &self.bytes().to_vec())
    }
}

/// Elements in a range of a GPU buffer of the page's.
#[derive(Debug)]
pub(super) struct WebBuffer {
    buffer: JsValue,
    offset: u64,
    dtype: DType,
    shape: Shape,
}

impl TensorSource for WebBuffer {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.shape.elements()
    }

    fn shape(&self) -> Option<&Shape> {
        Some(&self.shape)
    }

    fn place(&self) -> Place {
        Place::Arena
    }

    fn write(&self, to: &BufferTarget<'_>) -> Result<()> {
        let size = number(&self.buffer, "size").unwrap_or(0.0) as u64;
        if !self.offset.is_multiple_of(4) || self.offset.saturating_add(to.bytes()) > size {
            let message = format!("{} bytes at offset {} of a buffer of {size}", to.bytes(), self.offset);
            return Err(Error::new(ErrorKind::ShapeMismatch, message).hint("the offset is a multiple of 4"));
        }
        if number(&self.buffer, "usage").unwrap_or(0.0) as u32 & COPY_SRC == 0 {
            return Err(Error::new(ErrorKind::BadSource, "the buffer cannot be copied from")
                .hint("create it with GPUBufferUsage.COPY_SRC"));
        }
        let device: &Device = raw(to.raw_device().ok_or_else(no_handle)?);
        let (_, target) = to.raw().ok_or_else(no_handle)?;
        let encoder = device.create_command_encoder();
        encoder
            .copy_buffer(&self.buffer, self.offset as f64, target.as_ref(), to.offset() as f64, to.bytes() as f64)
            .map_err(|e| Error::new(ErrorKind::DeviceMismatch, words(&e)))?;
        device.queue().submit(&Array::of1(&encoder.finish()));
        Ok(())
    }

    fn data(&self) -> Result<Data> {
        Err(Error::new(ErrorKind::DtypeMismatch, "elements in a GPU buffer are not converted")
            .hint("write them in the type that the GPU computes with: int64 is int32, 8-bit types are 32 bits wide"))
    }
}

/// What a page hands in for one input.
#[derive(Debug)]
pub(super) enum WebFeed {
    Tensor(WebTensor),
    Buffer(WebBuffer),
    Frame(WebFrame),
}

impl WebFeed {
    fn of(value: &JsValue, in_place: bool) -> Result<Self> {
        if let Some(frame) = WebFrame::of(value, in_place) {
            return Ok(Self::Frame(frame));
        }
        if dtype_of(&class(value)).is_some() {
            return Ok(Self::Tensor(tensor(value.clone(), None, None)?));
        }
        let shape = shape(&field(value, "shape"))?;
        let dtype = match field(value, "dtype").as_string() {
            Some(word) => Some(
                DType::parse(&word)
                    .ok_or_else(|| Error::new(ErrorKind::DtypeMismatch, format!("{word:?} is no element type")))?,
            ),
            None => None,
        };
        let buffer = field(value, "buffer");
        if class(&buffer) == "GPUBuffer" {
            let (Some(dtype), Some(shape)) = (dtype, shape) else {
                return Err(Error::new(ErrorKind::BadSource, "a tensor in a GPU buffer needs shape and dtype"));
            };
            let offset = number(value, "offset").unwrap_or(0.0) as u64;
            return Ok(Self::Buffer(WebBuffer { buffer, offset, dtype, shape }));
        }
        let data = field(value, "data");
        match class(&data).as_str() {
            "" => {
                let got = match class(value) {
                    name if !name.is_empty() => name,
                    _ if Array::is_array(value) => "a plain array".to_owned(),
                    _ => value.js_typeof().as_string().unwrap_or_default(),
                };
                Err(Error::new(ErrorKind::BadSource, format!("{got} is no input"))
                    .hint(format!("hand in {}", WebFrame::TAKEN)))
            }
            _ => Ok(Self::Tensor(tensor(data, dtype, shape)?)),
        }
    }

    fn feed(&self) -> Feed<'_> {
        match self {
            Self::Tensor(tensor) => Feed::Tensor(tensor),
            Self::Buffer(buffer) => Feed::Tensor(buffer),
            Self::Frame(frame) => Feed::Frame(frame),
        }
    }
}

fn tensor(array: JsValue, dtype: Option<DType>, shape: Option<Shape>) -> Result<WebTensor> {
    let name = class(&array);
    let held = dtype_of(&name).ok_or_else(|| {
        Error::new(ErrorKind::DtypeMismatch, format!("no element type is held in a {name}"))
            .hint("convert it, for instance with Float32Array.from(values)")
    })?;
    let dtype = match (dtype, held) {
        (Some(DType::Bool), DType::U8) => DType::Bool,
        (Some(said), held) if said != held => {
            return Err(Error::new(ErrorKind::DtypeMismatch, format!("dtype says {said}, the array holds {held}")));
        }
        _ => held,
    };
    let len = number(&array, "length").unwrap_or(0.0) as usize;
    Ok(WebTensor { array, dtype, shape, len })
}

fn shape(value: &JsValue) -> Result<Option<Shape>> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let whole = |d: JsValue| d.as_f64().filter(|d| *d >= 0.0 && d.fract() == 0.0 && *d <= f64::from(u32::MAX));
    let dims: Option<Vec<usize>> = Array::is_array(value)
        .then(|| Array::from(value).iter().map(|d| whole(d).map(|d| d as usize)).collect())
        .flatten();
    let dims = dims.ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, "a shape is an array of whole numbers"))?;
    Ok(Some(Shape(dims)))
}

/// The inputs of a run, by name.
#[derive(Debug)]
pub(super) struct WebFeeds(Vec<(String, WebFeed)>);

impl WebFeeds {
    /// Reads `{ [input]: value }`. `in_place` allows reading video frames without a copy.
    pub(super) fn of(feeds: &JsValue, in_place: bool) -> Result<Self> {
        let Some(object) = feeds.dyn_ref::<Object>() else {
            return Err(Error::new(ErrorKind::BadSource, "a run takes an object of inputs by name"));
        };
        let names = Object::keys(object);
        let read = |name: JsValue| {
            let value = Reflect::get(object, &name).map_err(|e| bad_source(&e))?;
            let name = name.as_string().unwrap_or_default();
            let feed = WebFeed::of(&value, in_place).map_err(|e| e.at(format!("input {name:?}")))?;
            Ok((name, feed))
        };
        Ok(Self(names.iter().map(read).collect::<Result<_>>()?))
    }

    pub(super) fn feeds(&self) -> Vec<(&str, Feed<'_>)> {
        self.0.iter().map(|(name, feed)| (name.as_str(), feed.feed())).collect()
    }
}

/// A typed array over mapped GPU memory, without a copy; none for a type that the GPU holds in another form. It is emptied by
/// the browser when the memory is unmapped.
pub(super) fn view(dtype: DType, elements: usize, bytes: &Uint8Array) -> Option<JsValue> {
    let (buffer, offset, n) = (bytes.buffer(), bytes.byte_offset(), u32::try_from(elements).ok()?);
    Some(match dtype {
        DType::F32 => js_sys::Float32Array::new_with_byte_offset_and_length(&buffer, offset, n).into(),
        DType::I32 => js_sys::Int32Array::new_with_byte_offset_and_length(&buffer, offset, n).into(),
        DType::U32 => js_sys::Uint32Array::new_with_byte_offset_and_length(&buffer, offset, n).into(),
        DType::F16 => half_array(&buffer, offset, n),
        DType::I64 | DType::U8 | DType::I8 | DType::Bool => return None,
    })
}

/// A Float16Array where the browser has them, else its bits in a Uint16Array.
fn half_array(buffer: &ArrayBuffer, offset: u32, n: u32) -> JsValue {
    let make = || -> Option<JsValue> {
        let class = field(&js_sys::global(), "Float16Array").dyn_into::<js_sys::Function>().ok()?;
        Reflect::construct(&class, &Array::of3(buffer, &offset.into(), &n.into())).ok()
    };
    make().unwrap_or_else(|| js_sys::Uint16Array::new_with_byte_offset_and_length(buffer, offset, n).into())
}

/// A typed array of its own.
pub(super) fn array(data: &Data) -> JsValue {
    match data {
        Data::F32(v) => js_sys::Float32Array::from(v.as_slice()).into(),
        Data::I32(v) => js_sys::Int32Array::from(v.as_slice()).into(),
        Data::U32(v) => js_sys::Uint32Array::from(v.as_slice()).into(),
        Data::I64(v) => js_sys::BigInt64Array::from(v.as_slice()).into(),
        Data::U8(v) | Data::Bool(v) => Uint8Array::from(v.as_slice()).into(),
        Data::I8(v) => js_sys::Int8Array::from(v.as_slice()).into(),
        Data::F16(v) => {
            let bytes = Uint8Array::from(bytemuck::cast_slice::<_, u8>(v));
            half_array(&bytes.buffer(), 0, u32::try_from(v.len()).unwrap_or(0))
        }
    }
}
