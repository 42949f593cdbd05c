use super::{DType, Device, Layout, Shape, TensorDesc, TensorType, View};
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// An identity card as somebody fills it in. All four parts are required; layout and strides say the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Card {
    /// Dimensions.
    pub shape: Option<Shape>,
    /// Element type.
    pub dtype: Option<DType>,
    /// Distance between neighbours of each dimension, in elements.
    pub strides: Option<Vec<usize>>,
    /// A named layout in place of strides.
    pub layout: Option<Layout>,
    /// Where the elements are.
    pub device: Option<Device>,
}

impl Card {
    /// The card, complete. Without a name the error's place is `tensor()`.
    ///
    /// # Errors
    /// Names the part that is missing: `shape-mismatch`, `dtype-mismatch`, `layout-mismatch` or `device-mismatch`.
    pub fn complete(self, name: &str) -> Result<TensorDesc> {
        let place = || if name.is_empty() { "tensor()".to_owned() } else { format!("tensor {name:?}") };
        let missing = |kind, part: &str, hint: &str| {
            Error::new(kind, format!("the identity card has no {part}")).at(place()).hint(hint)
        };
        let shape = self.shape.ok_or_else(|| {
            missing(ErrorKind::ShapeMismatch, "shape", "say for instance shape: [1, 3, 128, 128], the outermost first")
        })?;
        let dtype = self.dtype.ok_or_else(|| {
            missing(ErrorKind::DtypeMismatch, "dtype", "say for instance dtype: \"float32\"; nothing is guessed")
        })?;
        if self.strides.is_none() && self.layout.is_none() {
            let hint = "say layout: \"row-major\" for an ordinary array, or strides in elements";
            return Err(missing(ErrorKind::LayoutMismatch, "strides", hint));
        }
        let device = self.device.ok_or_else(|| {
            let hint = "hand in data, memory, or a buffer: it says where the elements are";
            missing(ErrorKind::DeviceMismatch, "device", hint)
        })?;
        let layout = self.layout.unwrap_or_default();
        let strides = self.strides.unwrap_or_else(|| shape.row_major_strides());
        let view = View::new(shape, strides, 0).map_err(|e| e.at(place()))?;
        let (shape, strides) = (view.shape().clone(), view.strides().to_vec());
        Ok(TensorDesc { name: name.to_owned(), shape, dtype, strides, layout, device })
    }
}

impl TensorDesc {
    /// Shape and element type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, self.shape.clone())
    }

    /// Bytes of the elements where the card says they are: host memory holds 8-bit types in 8 bits, the GPU in 32
    /// ([`DType::gpu_bytes`]).
    pub fn bytes(&self) -> u64 {
        let size = if self.device == Device::Gpu { self.dtype.gpu_bytes() } else { self.dtype.bytes() };
        (self.layout.elements(&self.shape) as u64).saturating_mul(size as u64)
    }

    /// Whether the elements lie one behind the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        View::new(self.shape.clone(), self.strides.clone(), 0).is_ok_and(|v| v.is_contiguous())
            && self.layout == Layout::RowMajor
    }
}

/// One of the four items of a [`Check`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Whether the run needs no change of it.
    pub ok: bool,
    /// What the port takes.
    pub expected: String,
    /// What the tensor is.
    pub got: String,
    /// One line for people.
    pub message: String,
}

impl Item {
    fn new(ok: bool, expected: String, got: String, note: &str) -> Self {
        let message = match (ok, note) {
            (true, "") => format!("{got}: ok"),
            (true, note) => format!("{got}: ok, {note}"),
            (false, "") => format!("expected {expected}, got {got}"),
            (false, note) => format!("expected {expected}, got {got}: {note}"),
        };
        Self { ok, expected, got, message }
    }
}

/// Where a tensor's memory is, seen from the port's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// CPU memory.
    Cpu,
    /// The memory that a request reads the port from.
    InPlace,
    /// A buffer of the same GPU device.
    SameDevice,
    /// A picture that the pre-processing kernel samples where it lies.
    Sampled,
    /// A picture that must become a texture first.
    Picture,
    /// A buffer or texture of another GPU device.
    OtherDevice,
}

/// A tensor held against a port, item by item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Dimensions.
    pub shape: Item,
    /// Element type.
    pub dtype: Item,
    /// Strides.
    pub strides: Item,
    /// Where the elements are.
    pub device: Item,
    /// Whether anything is copied, and how it gets there.
    pub verdict: Verdict,
}

/// What zero copy hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The kernels can read the memory where it lies.
    SharedMemory,
    /// Shape and element type are the port's.
    TypeAndShape,
    /// Strides are the port's.
    Layout,
}

/// Whether a tensor is read where it lies, and if not, why and what is done instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Nothing is copied.
    pub zero_copy: bool,
    /// Conditions that are not met.
    pub failed: Vec<Condition>,
    /// What a run does with it, in words.
    pub path: String,
    /// Bytes that a run writes before the first kernel; 0 where nothing is copied, and where the run is refused.
    pub bytes: u64,
}

impl Verdict {
    /// Zero copy needs all three: shared memory, type and shape, layout.
    pub fn of(shared: bool, type_and_shape: bool, layout: bool) -> Self {
        let all =
            [(shared, Condition::SharedMemory), (type_and_shape, Condition::TypeAndShape), (layout, Condition::Layout)];
        let failed: Vec<Condition> = all.into_iter().filter(|(met, _)| !met).map(|(_, c)| c).collect();
        Self { zero_copy: failed.is_empty(), failed, path: String::new(), bytes: 0 }
    }
}

/// Whether elements of `given` become those of `port` on the way in, and in which words.
pub const fn conversion(given: DType, port: DType) -> Option<&'static str> {
    use DType::{Bool, F16, F32, I8, I32, I64, U8, U32};
    Some(match (given, port) {
        (F32, F32) | (F16, F16) | (U32, U32) | (I32, I32) => "",
        (I32, I64) => "the GPU computes int64 in int32",
        (I64, I32 | I64) => "int64 becomes int32",
        (I8, I8) | (U8, U8) | (U8 | Bool, Bool) => "8 bits become 32",
        (F32, F16) => "float32 becomes float16",
        _ => return None,
    })
}

/// Holds a tensor's card against a port's. `sampled` says that the port has a pre-processing, so that a picture becomes it.
pub fn check(given: &TensorDesc, port: &TensorDesc, reach: Reach, sampled: bool) -> Check {
    let picture = matches!(reach, Reach::Sampled | Reach::Picture);
    if picture || matches!(given.device, Device::Frame | Device::Texture) {
        return check_picture(given, port, reach, sampled);
    }
    // Elements in a GPU buffer are taken as they are.
    let as_is = same_bits(given.dtype, port.dtype);
    let in_buffer = matches!(reach, Reach::SameDevice | Reach::InPlace);
    let converted = conversion(given.dtype, port.dtype).filter(|_| as_is || !in_buffer);
    let shape = Item::new(given.shape == port.shape, port.shape.to_string(), given.shape.to_string(), "");
    let note = match reach {
        Reach::SameDevice | Reach::InPlace => converted.unwrap_or("elements in a GPU buffer are not converted"),
        _ => converted.unwrap_or("convert the elements first"),
    };
    let dtype = Item::new(converted.is_some(), port.dtype.to_string(), given.dtype.to_string(), note);
    let contiguous = given.is_contiguous();
    let wanted = format!("{:?}", given.shape.row_major_strides());
    let got = match given.layout {
        Layout::RowMajor => format!("{:?}", given.strides),
        Layout::C4 => "c4".to_owned(),
    };
    let strides = Item::new(contiguous, wanted, got, if contiguous { "" } else { "a run lays them again on the GPU" });
    let device = match reach {
        Reach::OtherDevice => Item::new(false, "gpu".into(), "gpu".into(), "the buffer belongs to another GPUDevice"),
        Reach::SameDevice => Item::new(true, "gpu".into(), "gpu".into(), "the same GPUDevice"),
        Reach::InPlace => Item::new(true, "gpu".into(), "gpu".into(), "the memory that the request reads"),
        _ => Item::new(
            true,
            "gpu".into(),
            device_word(given.device).into(),
            "uploaded: one crossing from CPU to GPU memory",
        ),
    };
    let fits = shape.ok && dtype.ok && reach != Reach::OtherDevice;
    let mut verdict = Verdict::of(reach == Reach::InPlace, shape.ok && as_is, contiguous);
    let target = (port.shape.elements() as u64).saturating_mul(port.dtype.gpu_bytes() as u64);
    (verdict.path, verdict.bytes) = match (fits, reach) {
        (false, Reach::OtherDevice) => ("refused: device-mismatch".to_owned(), 0),
        (false, _) if !shape.ok => ("refused: shape-mismatch".to_owned(), 0),
        (false, _) => ("refused: dtype-mismatch".to_owned(), 0),
        (true, _) if given.layout == Layout::C4 => ("refused: layout-mismatch".to_owned(), 0),
        (true, Reach::InPlace) if verdict.zero_copy => ("read where it lies by the network".to_owned(), 0),
        (true, reach) => {
            let mut steps = Vec::new();
            if !as_is {
                steps.push("converted on the CPU");
            }
            steps.push(match reach {
                Reach::SameDevice | Reach::InPlace => "copied inside GPU memory",
                _ => "uploaded from CPU to GPU memory",
            });
            if !contiguous {
                steps.push("laid again on the GPU");
            }
            (steps.join(", then "), if contiguous { target } else { target.saturating_mul(2) })
        }
    };
    Check { shape, dtype, strides, device, verdict }
}

fn same_bits(given: DType, port: DType) -> bool {
    conversion(given, port).is_some_and(str::is_empty) || (given == DType::I32 && port == DType::I64)
}

const fn device_word(device: Device) -> &'static str {
    match device {
        Device::Host => "host",
        Device::Wasm => "wasm",
        Device::Gpu => "gpu",
        Device::Texture => "texture",
        Device::Frame => "frame",
    }
}

fn check_picture(given: &TensorDesc, port: &TensorDesc, reach: Reach, sampled: bool) -> Check {
    let words = |what: &str| format!("{what} as the pre-processing makes it");
    let none = "the port has no pre-processing; say in `preprocess` how a frame becomes it";
    let item = |expected: String, got: String, what: &str| {
        let note = if sampled { words(what) } else { none.to_owned() };
        Item::new(sampled, expected, got, &note)
    };
    let shape = item(port.shape.to_string(), given.shape.to_string(), "any size,");
    let dtype = item(port.dtype.to_string(), given.dtype.to_string(), "levels 0 to 255,");
    let strides = item(format!("{:?}", port.strides), format!("{:?}", given.strides), "pixels,");
    let got = device_word(given.device);
    let (ok, note) = match reach {
        Reach::OtherDevice => (false, "the texture belongs to another GPUDevice"),
        Reach::Sampled => (true, "the kernel samples it where it lies"),
        _ => (true, "copied to a texture first"),
    };
    let device = Item::new(ok, "gpu".into(), got.into(), note);
    let mut verdict = Verdict::of(reach == Reach::Sampled, sampled, sampled);
    let copied = (given.shape.elements() as u64).saturating_mul(given.dtype.bytes() as u64);
    (verdict.path, verdict.bytes) = match (reach, sampled) {
        (Reach::OtherDevice, _) => ("refused: device-mismatch".to_owned(), 0),
        (_, false) => ("refused: bad-source, the input takes a tensor".to_owned(), 0),
        (Reach::Sampled, _) => ("read where it lies by the pre-processing kernel".to_owned(), 0),
        _ => ("copied to a texture, then read by the pre-processing kernel".to_owned(), copied),
    };
    Check { shape, dtype, strides, device, verdict }
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
