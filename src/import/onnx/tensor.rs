//! `TensorProto` to [`Tensor`]: the one copy of the weights.

use super::proto;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Shape, Tensor};
use half::{bf16, f16};

/// The element types of `onnx.proto3` that differ from ours are taken in the next wider one; float64 narrows to float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stored {
    As(DType),
    Bf16,
    F64,
    I16,
    U16,
    U64,
}

fn stored(data_type: i64) -> Result<Stored> {
    Ok(match data_type {
        1 => Stored::As(DType::F32),
        2 => Stored::As(DType::U8),
        3 => Stored::As(DType::I8),
        4 => Stored::U16,
        5 => Stored::I16,
        6 => Stored::As(DType::I32),
        7 => Stored::As(DType::I64),
        9 => Stored::As(DType::Bool),
        10 => Stored::As(DType::F16),
        11 => Stored::F64,
        12 => Stored::As(DType::U32),
        13 => Stored::U64,
        16 => Stored::Bf16,
        other => return Err(unknown_type(other)),
    })
}

fn unknown_type(data_type: i64) -> Error {
    let name = match data_type {
        0 => return Error::new(ErrorKind::InvalidModel, "the element type is not stated"),
        8 => "string",
        14 | 15 => "complex",
        17..=20 => "float8",
        21..=25 => "4-bit",
        _ => return Error::new(ErrorKind::InvalidModel, format!("element type {data_type} does not exist")),
    };
    Error::new(ErrorKind::DtypeMismatch, format!("{name} elements are not supported"))
}

/// The element type of a model input or of a `Cast`, which must be one of ours.
pub fn dtype(data_type: i64) -> Result<DType> {
    match stored(data_type)? {
        Stored::As(dtype) => Ok(dtype),
        other => {
            let name = match other {
                Stored::Bf16 => "bfloat16",
                Stored::F64 => "float64",
                Stored::I16 => "int16",
                Stored::U16 => "uint16",
                _ => "uint64",
            };
            Err(Error::new(ErrorKind::DtypeMismatch, format!("{name} elements are not supported")))
        }
    }
}

/// Reads the elements, copying them once.
///
/// # Errors
/// `invalid-model` where number and shape disagree or the elements lie in another file; `dtype-mismatch` for element types
/// that are not served.
pub fn read(proto: &proto::Tensor<'_>) -> Result<Tensor> {
    if proto.external {
        return Err(Error::new(ErrorKind::InvalidModel, "its elements lie in another file (external data)")
            .hint("save the model as one file: onnx.save(model, path, save_as_external_data=False)"));
    }
    let stored = stored(proto.data_type)?;
    let dims = proto.dims.iter().map(|&d| usize::try_from(d)).collect::<std::result::Result<Vec<_>, _>>();
    let shape = Shape(dims.map_err(|_| {
        Error::new(ErrorKind::InvalidModel, format!("a dimension of {:?} is negative or too large", proto.dims))
    })?);
    let count = shape.checked_elements().map_err(|e| Error::new(ErrorKind::InvalidModel, e.message()))?;
    let data = match proto.raw {
        Some(raw) => from_raw(stored, raw)?,
        None => from_fields(stored, proto)?,
    };
    if data.len() != count {
        let message = format!("shape {shape} needs {count} elements, the file holds {}", data.len());
        return Err(Error::new(ErrorKind::InvalidModel, message).hint("the file is truncated or damaged"));
    }
    Tensor::new(shape, data)
}

fn from_raw(stored: Stored, raw: &[u8]) -> Result<Data> {
    fn each<const N: usize, T>(raw: &[u8], f: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let (chunks, rest) = raw.as_chunks::<N>();
        if !rest.is_empty() {
            let message = format!("{} bytes are no whole number of {N}-byte elements", raw.len());
            return Err(Error::new(ErrorKind::InvalidModel, message));
        }
        Ok(chunks.iter().map(|&c| f(c)).collect())
    }
    Ok(match stored {
        Stored::As(dtype) => Data::from_le_bytes(dtype, raw)?,
        Stored::Bf16 => Data::F32(each(raw, |b| bf16::from_le_bytes(b).to_f32())?),
        Stored::F64 => Data::F32(each(raw, |b| f64::from_le_bytes(b) as f32)?),
        Stored::I16 => Data::I32(each(raw, |b| i32::from(i16::from_le_bytes(b)))?),
        Stored::U16 => Data::I32(each(raw, |b| i32::from(u16::from_le_bytes(b)))?),
        Stored::U64 => Data::I64(each(raw, u64::from_le_bytes)?.into_iter().map(signed).collect::<Result<_>>()?),
    })
}

/// The repeated fields: 4 float_data, 5 int32_data (also every narrower type, and float16 bits), 7 int64_data,
/// 10 double_data, 11 uint64_data (also uint32).
fn from_fields(stored: Stored, proto: &proto::Tensor<'_>) -> Result<Data> {
    let ints = |number| {
        let mut v = Vec::new();
        proto.each_field(number, |f| f.ints(&mut v))?;
        Ok::<_, Error>(v)
    };
    fn narrow<T: TryFrom<i64>>(ints: Vec<i64>) -> Result<Vec<T>> {
        ints.into_iter()
            .map(|i| {
                T::try_from(i).map_err(|_| Error::new(ErrorKind::InvalidModel, format!("element {i} is too large")))
            })
            .collect()
    }
    Ok(match stored {
        Stored::As(DType::F32) => {
            let mut v = Vec::new();
            proto.each_field(4, |f| f.floats(&mut v))?;
            Data::F32(v)
        }
        Stored::F64 => {
            let mut v = Vec::new();
            proto.each_field(10, |f| f.doubles(&mut v))?;
            Data::F32(v.into_iter().map(|x| x as f32).collect())
        }
        Stored::As(DType::F16) => Data::F16(narrow::<u16>(ints(5)?)?.into_iter().map(f16::from_bits).collect()),
        Stored::Bf16 => Data::F32(narrow::<u16>(ints(5)?)?.into_iter().map(|b| bf16::from_bits(b).to_f32()).collect()),
        Stored::As(DType::I32) | Stored::I16 | Stored::U16 => Data::I32(narrow(ints(5)?)?),
        Stored::As(DType::I8) => Data::I8(narrow(ints(5)?)?),
        Stored::As(DType::U8) => Data::U8(narrow(ints(5)?)?),
        Stored::As(DType::Bool) => Data::Bool(ints(5)?.into_iter().map(|i| u8::from(i != 0)).collect()),
        Stored::As(DType::I64) => Data::I64(ints(7)?),
        Stored::As(DType::U32) => Data::U32(narrow(ints(11)?)?),
        Stored::U64 => Data::I64(ints(11)?.into_iter().map(|i| signed(i as u64)).collect::<Result<_>>()?),
    })
}

fn signed(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| Error::new(ErrorKind::InvalidModel, format!("element {value} is too large")))
}
