//! How an operand is read at the place where an output element is written.

use super::context::{Arg, Context, to_u32};
use super::head::storage_type;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Layout, Shape};

/// The order in which a kernel visits its output, and with it the arguments of `epilogue` and of operand functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// Row-major, one element: `(i)`, its index.
    Scalar,
    /// Row-major, four neighbours in memory: `(i)`, the index of the vector.
    Flat4,
    /// C4, four channels of a pixel: `(i, n, c, p)`: the index of the vector, the picture, the channel group, and the pixel
    /// `y * width + x`.
    C4,
}

impl Walk {
    /// True where four values are computed at once.
    pub const fn wide(self) -> bool {
        !matches!(self, Self::Scalar)
    }

    /// The parameters of an operand function.
    pub const fn parameters(self) -> &'static str {
        match self {
            Self::Scalar | Self::Flat4 => "i: u32",
            Self::C4 => "i: u32, n: u32, c: u32, p: u32",
        }
    }

    /// The arguments to pass on.
    pub const fn arguments(self) -> &'static str {
        match self {
            Self::Scalar | Self::Flat4 => "i",
            Self::C4 => "i, n, c, p",
        }
    }
}

/// Dimensions that an operand is walked along in row-major order, outermost first, merged where memory allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    /// Output dimensions.
    pub dims: Vec<u32>,
    /// Elements to step in the operand; zero where it is broadcast.
    pub strides: Vec<u32>,
}

/// How a row-major operand follows a row-major output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowMajorAccess {
    /// The same elements in the same order.
    Full,
    /// One element.
    One,
    /// The operand repeats after so many elements.
    Suffix(u32),
    /// Anything else.
    Strided(Strided),
}

/// Merges neighbouring dimensions that are walked as one, and drops those of size one.
pub fn merge(dims: &[u32], strides: &[u32]) -> Strided {
    let mut out = Strided { dims: Vec::new(), strides: Vec::new() };
    for (&d, &s) in dims.iter().zip(strides) {
        if d == 1 {
            continue;
        }
        match (out.dims.last_mut(), out.strides.last_mut()) {
            (Some(outer), Some(stride)) if *stride == s.wrapping_mul(d) => {
                *outer *= d;
                *stride = s;
            }
            _ => {
                out.dims.push(d);
                out.strides.push(s);
            }
        }
    }
    out
}

/// The strides of `operand` along the dimensions of `output`, zero where it is broadcast.
pub fn broadcast_strides(operand: &Shape, output: &Shape) -> Result<Vec<u32>> {
    let lead = output.len().checked_sub(operand.len());
    let fits = lead.is_some_and(|lead| operand.iter().zip(&output[lead..]).all(|(a, b)| a == b || *a == 1));
    let (Some(lead), true) = (lead, fits) else {
        let message = format!("{operand} does not broadcast to {output}");
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    };
    let own = operand.row_major_strides();
    let mut strides = vec![0; output.len()];
    for (j, (&d, &s)) in operand.iter().zip(&own).enumerate() {
        if d != 1 {
            strides[lead + j] = to_u32(s)?;
        }
    }
    Ok(strides)
}

/// How `operand` follows `output`, both row-major.
pub fn row_major(operand: &Arg<'_>, output: &Arg<'_>) -> Result<RowMajorAccess> {
    let strides = broadcast_strides(operand.shape(), output.shape())?;
    if operand.shape().elements() == 1 {
        return Ok(RowMajorAccess::One);
    }
    let merged = merge(&output.dims()?, &strides);
    Ok(match (&merged.dims[..], &merged.strides[..]) {
        ([_], [1]) => RowMajorAccess::Full,
        ([_, n], [0, 1]) => RowMajorAccess::Suffix(*n),
        _ => RowMajorAccess::Strided(merged),
    })
}

/// How an operand follows a C4 output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum C4Access {
    /// The same elements in the same order.
    Full,
    /// One element.
    One,
    /// A vector per channel group, and so many vectors from picture to picture.
    Channel {
        /// 0 where all pictures share them.
        picture: u32,
    },
    /// Vectors at strides along n, c, h, w. Where the operand has one channel, its first lane stands for all.
    Strided {
        /// In vectors.
        strides: [u32; 4],
        /// One channel for all.
        splat: bool,
    },
    /// Elements of a row-major tensor at strides along n, channel, h, w.
    Lanes {
        /// In elements.
        strides: [u32; 4],
    },
}

/// How `operand` follows `output`, which is C4. A constant counts as C4: it is packed so.
pub fn c4(operand: &Arg<'_>, output: &Arg<'_>) -> Result<C4Access> {
    let plain = broadcast_strides(operand.shape(), output.shape())?;
    if operand.shape().elements() == 1 {
        return Ok(C4Access::One);
    }
    let out = output.c4()?;
    if operand.constant.is_none() && operand.layout == Layout::RowMajor {
        let strides = <[u32; 4]>::try_from(plain).unwrap_or_default();
        return Ok(C4Access::Lanes { strides });
    }
    let [n, c, h, w] = aligned4(operand.shape());
    let (groups, h32, w32) = (to_u32(c.div_ceil(4))?, to_u32(h)?, to_u32(w)?);
    let step = |dim: usize, stride: u32| if dim == 1 { 0 } else { stride };
    let strides = [step(n, groups * h32 * w32), step(c, h32 * w32), step(h, w32), step(w, 1)];
    Ok(if (n, c, h, w) == (out.n as usize, out.channels as usize, out.h as usize, out.w as usize) {
        C4Access::Full
    } else if c == out.channels as usize && c > 1 && h == 1 && w == 1 {
        C4Access::Channel { picture: strides[0] }
    } else {
        C4Access::Strided { strides, splat: c == 1 && out.channels > 1 }
    })
}

/// The inputs, from `first` on, that are read at the very place where output 0 is written, in the same representation: the
/// output may take over their storage.
pub fn same_places(ctx: &Context<'_>, first: usize, walk: Walk) -> Vec<usize> {
    let Ok(out) = ctx.output(0) else { return Vec::new() };
    let full = |arg: &Arg<'_>| {
        arg.constant.is_none()
            && arg.layout == out.layout
            && storage_type(arg.ty.dtype) == storage_type(out.ty.dtype)
            && match walk {
                Walk::C4 => c4(arg, &out) == Ok(C4Access::Full),
                Walk::Scalar | Walk::Flat4 => row_major(arg, &out) == Ok(RowMajorAccess::Full),
            }
    };
    (first..ctx.inputs.len()).filter(|&i| ctx.optional(i).is_some_and(|arg| full(&arg))).collect()
}

/// A shape of at most four dimensions, with ones in front.
pub fn aligned4(shape: &Shape) -> [usize; 4] {
    let mut out = [1; 4];
    for (to, from) in out.iter_mut().rev().zip(shape.iter().rev()) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_what_is_walked_as_one() {
        assert_eq!(merge(&[2, 3, 4], &[12, 4, 1]), Strided { dims: vec![24], strides: vec![1] });
        assert_eq!(merge(&[2, 3, 4], &[0, 4, 1]), Strided { dims: vec![2, 12], strides: vec![0, 1] });
        assert_eq!(merge(&[2, 1, 4, 5], &[4, 9, 1, 0]), Strided { dims: vec![8, 5], strides: vec![1, 0] });
    }

    #[test]
    fn broadcasts_never_widen_the_output() {
        assert!(broadcast_strides(&[2, 3].into(), &[3].into()).is_err());
        assert_eq!(broadcast_strides(&[3, 1].into(), &[2, 3, 5].into()).unwrap(), [0, 1, 0]);
    }
}
