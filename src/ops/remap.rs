//! Moving elements: every movement operator is a map from output indices to input offsets, one list an axis.

use super::args::shape_error;
use super::elements::reserve;
use crate::error::Result;
use crate::tensor::{Data, Shape, Tensor};
use std::borrow::Cow;

/// For each index of one output axis, what it adds to the offset into the input; `None` reads the fill element.
pub(super) type AxisMap = Vec<Option<usize>>;

/// `n` steps of `stride`.
pub(super) fn steps(n: usize, stride: usize) -> AxisMap {
    (0..n).map(|i| i.checked_mul(stride)).collect()
}

/// The maps that copy a tensor as it is.
pub(super) fn identity(shape: &Shape) -> Vec<AxisMap> {
    shape.iter().zip(shape.row_major_strides()).map(|(&n, stride)| steps(n, stride)).collect()
}

/// Reads `data` through `axes`; elements that no offset names are zero, or `fill`'s first element (of the same type).
pub(super) fn remap(data: &Data, axes: &[AxisMap], fill: Option<&Data>) -> Result<Data> {
    let n = Shape(axes.iter().map(Vec::len).collect()).checked_elements()?;
    macro_rules! each {
        ($($variant:ident),*) => {
            match data {
                $(Data::$variant(src) => {
                    let fill = match fill {
                        Some(Data::$variant(f)) => f.first().copied().unwrap_or_default(),
                        _ => Default::default(),
                    };
                    let mut out = reserve(n)?;
                    if n > 0 {
                        walk(src, axes, Some(0), fill, &mut out);
                    }
                    Ok(Data::$variant(out))
                })*
            }
        };
    }
    each!(F32, F16, I32, U32, I64, U8, I8, Bool)
}

/// Depth is the rank, which [`super::args::output`] bounds.
fn walk<T: Copy>(src: &[T], axes: &[AxisMap], base: Option<usize>, fill: T, out: &mut Vec<T>) {
    let add = |offset: &Option<usize>| base.zip(*offset).and_then(|(b, o)| b.checked_add(o));
    match axes {
        [] => out.push(base.and_then(|at| src.get(at).copied()).unwrap_or(fill)),
        [last] => out.extend(last.iter().map(|o| add(o).and_then(|at| src.get(at).copied()).unwrap_or(fill))),
        [first, rest @ ..] => first.iter().for_each(|o| walk(src, rest, add(o), fill, out)),
    }
}

/// The maps that repeat a tensor of shape `from` over `to`, which must be its broadcast.
pub(super) fn broadcast_maps(from: &Shape, to: &Shape) -> Result<Vec<AxisMap>> {
    let lead = to
        .len()
        .checked_sub(from.len())
        .ok_or_else(|| shape_error(format!("shape {from} does not broadcast to {to}")))?;
    let strides = from.row_major_strides();
    let mut maps = Vec::with_capacity(to.len());
    for (i, &n) in to.iter().enumerate() {
        let Some(j) = i.checked_sub(lead) else {
            maps.push(steps(n, 0));
            continue;
        };
        match from[j] {
            d if d == n => maps.push(steps(n, strides[j])),
            1 => maps.push(steps(n, 0)),
            _ => return Err(shape_error(format!("shape {from} does not broadcast to {to}"))),
        }
    }
    Ok(maps)
}

/// The tensor's elements, repeated to shape `to`.
pub(super) fn broadcast<'a>(tensor: &'a Tensor, to: &Shape) -> Result<Cow<'a, Data>> {
    if tensor.shape() == to {
        return Ok(Cow::Borrowed(tensor.data()));
    }
    Ok(Cow::Owned(remap(tensor.data(), &broadcast_maps(tensor.shape(), to)?, None)?))
}
