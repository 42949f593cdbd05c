//! Tensors as JavaScript has them: typed arrays, `{ data, shape?, dtype? }`, wasm memory, ranges of the page's own GPU buffers.

use super::buffers::WebBuffer;
use super::error::bad_source;
use super::frames::{WebFrame, no_handle};
use super::js::{class, field, number};
use super::webgpu::{Queue, raw};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::ledger::Place;
use crate::runtime::{BufferTarget, Feed, TensorSource};
use crate::tensor::{DType, Data, Device as Memory, Layout, Reach, Shape, TensorDesc, View};
use js_sys::{Array, ArrayBuffer, Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};

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

/// Elements of a typed array, or of a view of one.
#[derive(Debug)]
pub(super) struct WebTensor {
    array: JsValue,
    dtype: DType,
    shape: Option<Shape>,
    view: Option<View>,
    len: usize,
    place: Place,
}

impl WebTensor {
    fn bytes(&self) -> Uint8Array {
        let of = |name: &str| number(&self.array, name).unwrap_or(0.0) as u32;
        let (mut first, mut length) = (of("byteOffset"), of("byteLength"));
        if let Some(view) = &self.view {
            // The view was held against the array's length, which fits 32 bits.
            first += (view.offset() * self.dtype.bytes()) as u32;
            length = (view.span() * self.dtype.bytes()) as u32;
        }
        Uint8Array::new_with_byte_offset_and_length(&field(&self.array, "buffer"), first, length)
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

    fn view(&self) -> Option<&View> {
        self.view.as_ref().filter(|view| !view.is_contiguous())
    }

    fn place(&self) -> Place {
        self.place
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

/// What a page hands in for one input.
#[derive(Debug)]
pub(super) enum WebFeed {
    Tensor(WebTensor),
    Buffer(WebBuffer),
    Frame(WebFrame),
}

impl WebFeed {
    pub(super) fn of(value: &JsValue, in_place: bool) -> Result<Self> {
        if let Some(frame) = WebFrame::of(value, in_place) {
            return Ok(Self::Frame(frame));
        }
        if dtype_of(&class(value)).is_some() {
            return Ok(Self::Tensor(tensor(value.clone(), None, None, None)?));
        }
        let shape = shape(&field(value, "shape"))?;
        let dtype = match field(value, "dtype").as_string() {
            Some(word) => Some(DType::parse(&word).ok_or_else(|| {
                Error::new(ErrorKind::DtypeMismatch, format!("{word:?} is no element type"))
                    .hint("one of float32, float16, int32, uint32, int64, uint8, int8, bool")
            })?),
            None => None,
        };
        let view = view_of(value, shape.as_ref())?;
        let buffer = field(value, "buffer");
        if class(&buffer) == "GPUBuffer" {
            let (Some(dtype), Some(shape)) = (dtype, shape) else {
                return Err(Error::new(ErrorKind::BadSource, "a tensor in a GPU buffer needs shape and dtype"));
            };
            let offset = number(value, "offset").unwrap_or(0.0);
            let view = view.unwrap_or_else(|| View::contiguous(shape));
            return WebBuffer::new(buffer, offset, dtype, view).map(Self::Buffer);
        }
        let memory = field(value, "memory");
        if class(&memory) == "WebAssembly.Memory" {
            let (Some(dtype), Some(shape)) = (dtype, shape) else {
                return Err(Error::new(ErrorKind::BadSource, "a tensor in wasm memory needs shape and dtype"));
            };
            let view = view.unwrap_or_else(|| View::contiguous(shape));
            return wasm_tensor(&memory, number(value, "offset").unwrap_or(0.0), dtype, view).map(Self::Tensor);
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
            _ => Ok(Self::Tensor(tensor(data, dtype, shape, view)?)),
        }
    }

    /// Its identity card, as far as `port` does not have to say the rest: an array without a shape takes the port's.
    pub(super) fn card(&self, port: &TensorDesc) -> Result<TensorDesc> {
        let described = |dtype, shape: Shape, view: Option<&View>, device| {
            let strides = view.map_or_else(|| shape.row_major_strides(), |v| v.strides().to_vec());
            TensorDesc { name: port.name.clone(), shape, dtype, strides, layout: Layout::RowMajor, device }
        };
        Ok(match self {
            Self::Tensor(t) => {
                let plain = if t.len == port.shape.elements() { port.shape.clone() } else { Shape::from([t.len]) };
                let device = if t.place == Place::Wasm { Memory::Wasm } else { Memory::Host };
                described(t.dtype, t.shape.clone().unwrap_or(plain), t.view(), device)
            }
            Self::Buffer(b) => described(b.dtype(), b.whole_view().shape().clone(), b.view(), Memory::Gpu),
            Self::Frame(frame) => {
                let (width, height) = crate::runtime::FrameSource::size(frame)?;
                let shape = Shape::from([height as usize, width as usize, 4]);
                let device = if frame.is_texture() { Memory::Texture } else { Memory::Frame };
                described(DType::U8, shape, None, device)
            }
        })
    }

    /// Where it lies, seen from the runtime; `known` is what the package knows of a GPU object.
    pub(super) fn reach(&self, known: Reach) -> Reach {
        match self {
            Self::Tensor(_) => Reach::Cpu,
            Self::Buffer(_) => known,
            Self::Frame(frame) if frame.is_texture() && known == Reach::OtherDevice => known,
            Self::Frame(frame) if frame.may_be_sampled() => Reach::Sampled,
            Self::Frame(_) => Reach::Picture,
        }
    }

    /// Resolves once it is known that the runtime's device could read it.
    async fn settled(&self) -> Result<()> {
        match self {
            Self::Tensor(_) => Ok(()),
            Self::Buffer(buffer) => buffer.settled().await,
            Self::Frame(frame) => frame.settled().await,
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

fn tensor(array: JsValue, dtype: Option<DType>, shape: Option<Shape>, view: Option<View>) -> Result<WebTensor> {
    let name = class(&array);
    let held = dtype_of(&name).ok_or_else(|| {
        Error::new(ErrorKind::DtypeMismatch, format!("no element type is held in a {name}"))
            .hint("convert it, for instance with Float32Array.from(values)")
    })?;
    let dtype = match (dtype, held) {
        (Some(DType::Bool), DType::U8) => DType::Bool,
        (Some(said), held) if said != held => {
            return Err(Error::new(ErrorKind::DtypeMismatch, format!("dtype says {said}, the array holds {held}"))
                .hint(
                    "say the type that the array holds; what has to be converted is then converted where it is fed",
                ));
        }
        _ => held,
    };
    let length = number(&array, "length").unwrap_or(0.0) as usize;
    let ours = field(&array, "buffer") == field(&wasm_bindgen::memory(), "buffer");
    let place = if ours { Place::Wasm } else { Place::Javascript };
    let len = match &view {
        Some(view) => {
            view.holds(length, dtype)?;
            view.shape().elements()
        }
        None => length,
    };
    Ok(WebTensor { array, dtype, shape, view, len, place })
}

/// Elements in a wasm memory from byte `offset` on. The memory's buffer is asked for now: it is another after the memory has
/// grown.
fn wasm_tensor(memory: &JsValue, offset: f64, dtype: DType, view: View) -> Result<WebTensor> {
    let buffer = field(memory, "buffer");
    let size = number(&buffer, "byteLength").unwrap_or(0.0);
    let bytes = view.extent() as f64 * dtype.bytes() as f64;
    if !(offset >= 0.0 && offset.fract() == 0.0 && offset + bytes <= size && size <= f64::from(u32::MAX)) {
        let message = format!("{bytes} bytes from byte {offset} on do not lie in a wasm memory of {size} bytes");
        return Err(
            Error::new(ErrorKind::ShapeMismatch, message).hint("the offset counts bytes from the memory's start")
        );
    }
    let array = Uint8Array::new_with_byte_offset_and_length(&buffer, offset as u32, bytes as u32).into();
    let (shape, len) = (Some(view.shape().clone()), view.shape().elements());
    Ok(WebTensor { array, dtype, shape, view: Some(view), len, place: Place::Wasm })
}

/// The view that `strides` and `start` say, and nothing for an ordinary array.
fn view_of(value: &JsValue, shape: Option<&Shape>) -> Result<Option<View>> {
    if field(value, "layout").as_string().as_deref() == Some("c4") {
        return Err(Error::new(ErrorKind::LayoutMismatch, "inputs are row-major or strided, not c4")
            .hint("say strides, or layout: \"row-major\""));
    }
    let (strides, start) = (field(value, "strides"), number(value, "start").unwrap_or(0.0));
    let said = !strides.is_undefined() && !strides.is_null();
    let Some(shape) = shape.filter(|_| said || start != 0.0) else { return Ok(None) };
    let strides = if said { whole_numbers(&strides) } else { Some(shape.row_major_strides()) };
    let strides = strides.ok_or_else(|| {
        Error::new(ErrorKind::LayoutMismatch, "strides are an array of whole numbers")
            .hint("count elements, not bytes; one for each dimension, the outermost first")
    })?;
    if !(start >= 0.0 && start.fract() == 0.0 && start <= f64::from(u32::MAX)) {
        return Err(Error::new(ErrorKind::ShapeMismatch, format!("a view begins at element {start}"))
            .hint("start is a whole number of elements"));
    }
    View::new(shape.clone(), strides, start as usize).map(Some)
}

fn whole_numbers(value: &JsValue) -> Option<Vec<usize>> {
    let whole = |d: JsValue| d.as_f64().filter(|d| *d >= 0.0 && d.fract() == 0.0 && *d <= f64::from(u32::MAX));
    Array::is_array(value).then(|| Array::from(value).iter().map(|d| whole(d).map(|d| d as usize)).collect()).flatten()
}

fn shape(value: &JsValue) -> Result<Option<Shape>> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let dims = whole_numbers(value)
        .ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, "a shape is an array of whole numbers"))?;
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

    /// Resolves once it is known that the runtime's device could read every GPU object.
    pub(super) async fn settled(&self) -> Result<()> {
        for (name, feed) in &self.0 {
            feed.settled().await.map_err(|e| e.at(format!("input {name:?}")))?;
        }
        Ok(())
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
