use super::{DType, Element, Shape, TensorType};
use crate::error::{Error, ErrorKind, Result};
use half::f16;

/// Elements in host memory, row-major.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "one variant an element type")]
pub enum Data {
    F32(Vec<f32>),
    F16(Vec<f16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    I8(Vec<i8>),
    /// 0 or 1.
    Bool(Vec<u8>),
}

macro_rules! each {
    ($self:expr, $v:ident => $e:expr) => {
        match $self {
            Data::F32($v) => $e,
            Data::F16($v) => $e,
            Data::I32($v) => $e,
            Data::U32($v) => $e,
            Data::I64($v) => $e,
            Data::U8($v) => $e,
            Data::I8($v) => $e,
            Data::Bool($v) => $e,
        }
    };
}

impl Data {
    /// `n` zeros.
    pub fn zeros(dtype: DType, n: usize) -> Self {
        match dtype {
            DType::F32 => Self::F32(vec![0.0; n]),
            DType::F16 => Self::F16(vec![f16::ZERO; n]),
            DType::I32 => Self::I32(vec![0; n]),
            DType::U32 => Self::U32(vec![0; n]),
            DType::I64 => Self::I64(vec![0; n]),
            DType::U8 => Self::U8(vec![0; n]),
            DType::I8 => Self::I8(vec![0; n]),
            DType::Bool => Self::Bool(vec![0; n]),
        }
    }

    /// Reads little-endian bytes; the length must be a multiple of the element size.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Result<Self> {
        if !bytes.len().is_multiple_of(dtype.bytes()) {
            let message = format!("{} bytes are no whole number of {dtype} elements", bytes.len());
            return Err(Error::new(ErrorKind::InvalidModel, message));
        }
        let mut data = Self::zeros(dtype, bytes.len() / dtype.bytes());
        each!(&mut data, v => bytemuck::cast_slice_mut(v).copy_from_slice(bytes));
        if let Self::Bool(v) = &mut data {
            v.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(data)
    }

    /// The bytes, little-endian.
    pub fn as_bytes(&self) -> &[u8] {
        each!(self, v => bytemuck::cast_slice(v))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F16(_) => DType::F16,
            Self::I32(_) => DType::I32,
            Self::U32(_) => DType::U32,
            Self::I64(_) => DType::I64,
            Self::U8(_) => DType::U8,
            Self::I8(_) => DType::I8,
            Self::Bool(_) => DType::Bool,
        }
    }

    /// Elements of the given type: floats are rounded, integers truncated and saturated, bool is whether it is not zero.
    pub fn from_f64(dtype: DType, v: Vec<f64>) -> Self {
        match dtype {
            DType::F32 => Self::F32(v.into_iter().map(|x| x as f32).collect()),
            DType::F16 => Self::F16(v.into_iter().map(f16::from_f64).collect()),
            DType::I32 => Self::I32(v.into_iter().map(|x| x as i32).collect()),
            DType::U32 => Self::U32(v.into_iter().map(|x| x as u32).collect()),
            DType::I64 => Self::I64(v.into_iter().map(|x| x as i64).collect()),
            DType::U8 => Self::U8(v.into_iter().map(|x| x as u8).collect()),
            DType::I8 => Self::I8(v.into_iter().map(|x| x as i8).collect()),
            DType::Bool => Self::Bool(v.into_iter().map(|x| u8::from(x != 0.0)).collect()),
        }
    }

    /// Every element as f64; exact but for int64 beyond 2^53.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::F16(v) => v.iter().map(|&x| x.to_f64()).collect(),
            Self::I32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::U32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::I64(v) => v.iter().map(|&x| x as f64).collect(),
            Self::U8(v) | Self::Bool(v) => v.iter().map(|&x| f64::from(x)).collect(),
            Self::I8(v) => v.iter().map(|&x| f64::from(x)).collect(),
        }
    }
}

/// A tensor in host memory, row-major and contiguous.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    shape: Shape,
    data: Data,
}

impl Tensor {
    /// Puts shape and elements together; their number must agree.
    pub fn new(shape: impl Into<Shape>, data: Data) -> Result<Self> {
        let shape = shape.into();
        let want = shape.checked_elements()?;
        if want != data.len() {
            let message = format!("shape {shape} needs {want} elements, got {}", data.len());
            return Err(Error::new(ErrorKind::ShapeMismatch, message));
        }
        Ok(Self { shape, data })
    }

    /// A tensor of zeros.
    pub fn zeros(ty: &TensorType) -> Result<Self> {
        let n = ty.shape.checked_elements()?;
        Self::new(ty.shape.clone(), Data::zeros(ty.dtype, n))
    }

    /// From float32 elements.
    pub fn f32(shape: impl Into<Shape>, data: Vec<f32>) -> Result<Self> {
        Self::new(shape, Data::F32(data))
    }

    /// From int64 elements.
    pub fn i64(shape: impl Into<Shape>, data: Vec<i64>) -> Result<Self> {
        Self::new(shape, Data::I64(data))
    }

    /// A scalar of float32.
    pub fn scalar(value: f32) -> Self {
        Self { shape: Shape::default(), data: Data::F32(vec![value]) }
    }

    /// Dimensions.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// Shape and element type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype(), self.shape.clone())
    }

    /// Elements.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The elements, given up.
    pub fn into_data(self) -> Data {
        self.data
    }

    /// The same elements under another shape.
    pub fn reshaped(self, shape: impl Into<Shape>) -> Result<Self> {
        Self::new(shape, self.data)
    }

    /// The elements as `T`, or `dtype-mismatch`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if T::DTYPE != self.dtype() {
            let message = format!("expected {}, got {}", T::DTYPE, self.dtype());
            return Err(Error::new(ErrorKind::DtypeMismatch, message));
        }
        Ok(bytemuck::cast_slice(self.data.as_bytes()))
    }

    /// Whole numbers from an int64 or int32 tensor: axes, shapes, pads.
    pub fn to_ints(&self) -> Result<Vec<i64>> {
        match &self.data {
            Data::I64(v) => Ok(v.clone()),
            Data::I32(v) => Ok(v.iter().map(|&x| i64::from(x)).collect()),
            other => {
                Err(Error::new(ErrorKind::DtypeMismatch, format!("expected int64 or int32, got {}", other.dtype())))
            }
        }
    }

    /// Every element as float32, whatever the type.
    pub fn to_f32(&self) -> Vec<f32> {
        match &self.data {
            Data::F32(v) => v.clone(),
            other => other.to_f64().into_iter().map(|x| x as f32).collect(),
        }
    }
}
