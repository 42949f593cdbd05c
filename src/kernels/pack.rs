//! Constants in the element order and type that kernels read.

use super::access::aligned4;
use super::launch::Packed;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{DType, Data, Tensor};

/// One element as it lies in GPU memory, little-endian.
fn gpu_bytes(data: &Data, i: usize, out: &mut Vec<u8>) {
    match data {
        Data::F32(v) => out.extend_from_slice(&v.get(i).copied().unwrap_or_default().to_le_bytes()),
        Data::F16(v) => out.extend_from_slice(&v.get(i).copied().unwrap_or_default().to_le_bytes()),
        Data::I32(v) => out.extend_from_slice(&v.get(i).copied().unwrap_or_default().to_le_bytes()),
        Data::U32(v) => out.extend_from_slice(&v.get(i).copied().unwrap_or_default().to_le_bytes()),
        // The importer has checked the range; what is left saturates.
        Data::I64(v) => {
            let wide = v.get(i).copied().unwrap_or_default();
            let narrow = wide.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            out.extend_from_slice(&narrow.to_le_bytes());
        }
        Data::U8(v) | Data::Bool(v) => {
            out.extend_from_slice(&u32::from(v.get(i).copied().unwrap_or_default()).to_le_bytes());
        }
        Data::I8(v) => out.extend_from_slice(&i32::from(v.get(i).copied().unwrap_or_default()).to_le_bytes()),
    }
}

/// Row-major elements of [`DType::gpu_bytes`] each, as an arena tensor has them.
pub fn to_gpu(tensor: &Tensor) -> Vec<u8> {
    let data = tensor.data();
    if matches!(data.dtype(), DType::F32 | DType::F16 | DType::I32 | DType::U32) {
        return data.as_bytes().to_vec();
    }
    let mut out = Vec::with_capacity(data.len().saturating_mul(4));
    (0..data.len()).for_each(|i| gpu_bytes(data, i, &mut out));
    out
}

/// The tensor in row-major order, padded to whole vectors.
pub fn row_major(tensor: &Tensor) -> Packed<'_> {
    let bytes = (tensor.data().len() * tensor.dtype().gpu_bytes()).next_multiple_of(16).max(16);
    Packed::new(bytes, move || {
        let mut out = to_gpu(tensor);
        out.resize(bytes, 0);
        Ok(out)
    })
}

/// A tensor of up to four dimensions as C4, with ones in front; padding lanes are zero.
pub fn c4(tensor: &Tensor) -> Result<Packed<'_>> {
    if tensor.shape().len() > 4 {
        let message = format!("a constant of shape {} cannot be packed by channels", tensor.shape());
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    let [n, c, h, w] = aligned4(tensor.shape());
    let groups = c.div_ceil(4);
    let size = tensor.dtype().gpu_bytes();
    let bytes = [n, groups, h, w, 4 * size].iter().try_fold(1usize, |a, &b| a.checked_mul(b));
    let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, "a packed constant is too large"))?.max(16);
    Ok(Packed::new(bytes.next_multiple_of(16), move || {
        let mut out = Vec::with_capacity(bytes);
        for (n, g) in (0..n).flat_map(|n| (0..groups).map(move |g| (n, g))) {
            for p in 0..h * w {
                for channel in 4 * g..4 * g + 4 {
                    if channel < c {
                        gpu_bytes(tensor.data(), (n * c + channel) * h * w + p, &mut out);
                    } else {
                        out.resize(out.len() + size, 0);
                    }
                }
            }
        }
        out.resize(bytes.next_multiple_of(16), 0);
        Ok(out)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_by_four_channels_and_widens_bools() {
        let t = Tensor::f32([1, 5, 1, 2], (0..10).map(|i| i as f32).collect()).unwrap();
        let packed = c4(&t).unwrap().pack().unwrap();
        let got: Vec<f32> = packed.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(got, [0., 2., 4., 6., 1., 3., 5., 7., 8., 0., 0., 0., 9., 0., 0., 0.]);
        let t = Tensor::new([3], Data::Bool(vec![1, 0, 1])).unwrap();
        assert_eq!(row_major(&t).pack().unwrap(), [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
