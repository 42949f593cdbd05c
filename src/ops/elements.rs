//! Element buffers of the reference: floats are computed as f64, integers as i64, and rounded or wrapped once at the end.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data};
use half::f16;

/// An empty vector with room for `n` elements, or `memory-limit`.
pub(super) fn reserve<T>(n: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    v.try_reserve_exact(n).map_err(|_| {
        Error::new(ErrorKind::MemoryLimit, format!("no memory for {n} elements of {} bytes", size_of::<T>()))
    })?;
    Ok(v)
}

/// `n` copies of `value`, or `memory-limit`.
pub(super) fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut v = reserve(n)?;
    v.resize(n, value);
    Ok(v)
}

/// Integers (and bool) as i64. Floats are truncated.
pub(super) fn to_i64(data: &Data) -> Vec<i64> {
    match data {
        Data::F32(v) => v.iter().map(|&x| x as i64).collect(),
        Data::F16(v) => v.iter().map(|&x| x.to_f64() as i64).collect(),
        Data::I32(v) => v.iter().map(|&x| i64::from(x)).collect(),
        Data::U32(v) => v.iter().map(|&x| i64::from(x)).collect(),
        Data::I64(v) => v.clone(),
        Data::U8(v) | Data::Bool(v) => v.iter().map(|&x| i64::from(x)).collect(),
        Data::I8(v) => v.iter().map(|&x| i64::from(x)).collect(),
    }
}

/// Wraps to an integer type, as two's complement does; rounds to a float type.
pub(super) fn from_i64(dtype: DType, v: Vec<i64>) -> Data {
    match dtype {
        DType::F32 => Data::F32(v.into_iter().map(|x| x as f32).collect()),
        DType::F16 => Data::F16(v.into_iter().map(|x| f16::from_f64(x as f64)).collect()),
        DType::I32 => Data::I32(v.into_iter().map(|x| x as i32).collect()),
        DType::U32 => Data::U32(v.into_iter().map(|x| x as u32).collect()),
        DType::I64 => Data::I64(v),
        DType::U8 => Data::U8(v.into_iter().map(|x| x as u8).collect()),
        DType::I8 => Data::I8(v.into_iter().map(|x| x as i8).collect()),
        DType::Bool => Data::Bool(v.into_iter().map(|x| u8::from(x != 0)).collect()),
    }
}

/// The smallest and largest value of an element type, as f64 (int64: the nearest f64).
pub(super) fn range(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F32 | DType::F16 => (f64::NEG_INFINITY, f64::INFINITY),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::U32 => (0.0, f64::from(u32::MAX)),
        DType::I64 => (i64::MIN as f64, i64::MAX as f64),
        DType::U8 => (0.0, f64::from(u8::MAX)),
        DType::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        DType::Bool => (0.0, 1.0),
    }
}
