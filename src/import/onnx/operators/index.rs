//! Operators about places: the largest element's, a table's, a triangle's. Spelled out in comparisons and row look-ups.

use super::steps::count;
use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{Binary, Expand, Op, Reduce, ReduceKind};
use crate::tensor::{DType, Data, Tensor};

/// <https://onnx.ai/onnx/operators/onnx__ArgMax.html> and ArgMin: the first (or last) place that holds the extreme.
pub fn arg(s: &mut Scope<'_, '_>, kind: ReduceKind) -> Result<()> {
    let axis = s.int("axis", 0)?;
    let keep_dims = s.flag("keepdims", true)?;
    let last = s.flag("select_last_index", false)?;
    let x = s.input(0)?;
    let dims = s.dims(x)?;
    let at = s.dimension(axis, dims.len())?;
    let n = dims[at];
    if n == 0 {
        return Err(unsupported("an empty dimension has no extreme"));
    }
    let extreme = s.reduced(kind, x, vec![at as i64])?;
    let hit = s.join(Binary::Equal, x, extreme)?;
    let mut along = vec![1; dims.len() - at];
    along[0] = n;
    let places = s.table(DType::I64, &along, |i| i[0] as f64)?;
    let miss = s.table(DType::I64, &[], |_| if last { -1.0 } else { n as f64 })?;
    let places = s.choose(hit, places, miss)?;
    let kind = if last { ReduceKind::Max } else { ReduceKind::Min };
    let axes = s.ints_input("axes", vec![at as i64])?;
    let op = Reduce { kind, keep_dims, noop_with_empty_axes: false };
    s.finish(Op::Reduce(op), vec![Some(places), Some(axes)])
}

/// <https://onnx.ai/onnx/operators/onnx__Trilu.html>
pub fn triangle(s: &mut Scope<'_, '_>) -> Result<()> {
    let upper = s.flag("upper", true)?;
    let x = s.input(0)?;
    let k = s.constant_ints(1, "k")?.and_then(|k| k.first().copied()).unwrap_or(0);
    let dims = s.dims(x)?;
    let &[.., rows, columns] = &dims[..] else { return Err(unsupported("a tensor of rank below 2")) };
    let dtype = s.dtype(x)?;
    let kept = s.table(DType::Bool, &[rows, columns], |i| {
        let right = i[1].saturating_sub(i[0]);
        f64::from(u8::from(if upper { right >= k } else { right <= k }))
    })?;
    let zero = s.scalar_input("zero", dtype, 0.0)?;
    let y = s.choose(kept, x, zero)?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__OneHot.html>
pub fn one_hot(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", -1)?;
    let (indices, depth, values) = (s.input(0)?, s.input(1)?, s.input(2)?);
    let depth = s.constant(depth).and_then(|t| t.data().to_f64().first().copied());
    let depth = depth.ok_or_else(|| unsupported("depth is not a constant"))? as i64;
    let mut dims = s.dims(indices)?;
    let at = s.dimension(axis, dims.len() + 1)?;
    dims.insert(at, 1);
    let mut along = vec![1; dims.len() - at];
    along[0] = depth;
    let indices = s.convert(indices, DType::I64)?;
    let indices = s.reshaped(indices, dims)?;
    // A negative index counts from the end.
    let (from_begin, from_end) =
        (s.table(DType::I64, &along, |i| i[0] as f64)?, s.table(DType::I64, &along, |i| (i[0] - depth) as f64)?);
    let (a, b) = (s.join(Binary::Equal, indices, from_begin)?, s.join(Binary::Equal, indices, from_end)?);
    let hit = s.join(Binary::Or, a, b)?;
    let (off, on) = (s.cut(values, 0, 0, 1)?, s.cut(values, 0, 1, 2)?);
    let y = s.choose(hit, on, off)?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__Tile.html>: each dimension gets a neighbour that is expanded.
pub fn tile(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let repeats = s.constant_ints(1, "repeats")?.ok_or_else(|| unsupported("repeats are missing"))?;
    let dims = s.dims(x)?;
    if repeats.len() != dims.len() {
        return Err(unsupported(format!("{} repeats for rank {}", repeats.len(), dims.len())));
    }
    let pairs = |lead: &dyn Fn(i64) -> i64| repeats.iter().zip(&dims).flat_map(|(&r, &d)| [lead(r), d]).collect();
    let split = s.reshaped(x, pairs(&|_| 1))?;
    let wanted = s.ints_input("repeated", pairs(&|r| r))?;
    let repeated = s.step(Op::Expand(Expand), vec![Some(split), Some(wanted)])?;
    let joined = repeats.iter().zip(&dims).map(|(&r, &d)| r.saturating_mul(d)).collect();
    let y = s.reshaped(repeated, joined)?;
    s.give(0, y)
}

/// Row-major strides of `dims`.
fn strides(dims: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(dims[i]);
    }
    strides
}

/// `indices`, where negative counts from the end of `n` elements; `n` broadcasts.
fn from_begin(s: &mut Scope<'_, '_>, indices: ValueId, n: ValueId) -> Result<ValueId> {
    let zero = s.table(DType::I64, &[], |_| 0.0)?;
    let negative = s.join(Binary::Less, indices, zero)?;
    let shifted = s.join(Binary::Add, indices, n)?;
    s.choose(negative, shifted, indices)
}

/// <https://onnx.ai/onnx/operators/onnx__GatherElements.html>: rows of the flat tensor.
pub fn gather_elements(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", 0)?;
    let (x, indices) = (s.input(0)?, s.input(1)?);
    let (dims, wanted) = (s.dims(x)?, s.dims(indices)?);
    if dims.len() != wanted.len() {
        return Err(unsupported("data and indices differ in rank"));
    }
    let at = s.dimension(axis, dims.len())?;
    let strides = strides(&dims);
    let indices = s.convert(indices, DType::I64)?;
    let n = s.table(DType::I64, &[], |_| dims[at] as f64)?;
    let place = from_begin(s, indices, n)?;
    let stride = s.table(DType::I64, &[], |_| strides[at] as f64)?;
    let along = s.join(Binary::Mul, place, stride)?;
    let others = s.table(DType::I64, &wanted, |index| {
        let offsets = index.iter().zip(&strides).enumerate().filter(|(d, _)| *d != at);
        offsets.map(|(_, (&i, &stride))| i.saturating_mul(stride)).sum::<i64>() as f64
    })?;
    let flat = s.join(Binary::Add, along, others)?;
    let x = s.reshaped(x, vec![count(&dims)])?;
    let y = s.rows(0, x, flat)?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__GatherND.html>: rows of the tensor whose indexed dimensions are one.
pub fn gather_nd(s: &mut Scope<'_, '_>) -> Result<()> {
    let (x, indices) = (s.input(0)?, s.input(1)?);
    let batch = usize::try_from(s.int("batch_dims", 0)?).map_err(|_| unsupported("batch_dims is negative"))?;
    let (dims, wanted) = (s.dims(x)?, s.dims(indices)?);
    let depth = wanted.last().and_then(|&k| usize::try_from(k).ok()).unwrap_or(0);
    if batch >= wanted.len() || batch + depth > dims.len() || depth == 0 {
        return Err(unsupported(format!("indices of shape {wanted:?} for data of shape {dims:?}")));
    }
    let (outer, inner) = dims.split_at(batch + depth);
    let strides = strides(outer);
    let indices = s.convert(indices, DType::I64)?;
    let along = [depth as i64];
    let n = s.table(DType::I64, &along, |i| outer[batch + i[0] as usize] as f64)?;
    let places = from_begin(s, indices, n)?;
    let stride = s.table(DType::I64, &along, |i| strides[batch + i[0] as usize] as f64)?;
    let offsets = s.join(Binary::Mul, places, stride)?;
    let axes = s.ints_input("axes", vec![-1])?;
    let sum = Reduce { kind: ReduceKind::Sum, keep_dims: false, noop_with_empty_axes: false };
    let mut flat = s.step(Op::Reduce(sum), vec![Some(offsets), Some(axes)])?;
    if batch > 0 {
        let mut lead = wanted[..wanted.len() - 1].to_vec();
        lead[batch..].fill(1);
        let starts = s.table(DType::I64, &lead, |index| {
            index[..batch].iter().zip(&strides).map(|(&i, &stride)| i.saturating_mul(stride)).sum::<i64>() as f64
        })?;
        flat = s.join(Binary::Add, flat, starts)?;
    }
    let mut rows = vec![count(outer)];
    rows.extend_from_slice(inner);
    let x = s.reshaped(x, rows)?;
    let y = s.rows(0, x, flat)?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__Range.html>, of constants: max(0, ceil((limit - start) / delta)) numbers.
pub fn range(s: &mut Scope<'_, '_>) -> Result<()> {
    let dtype = s.dtype(s.input(0)?)?;
    let mut ends = [0.0; 3];
    for (i, end) in ends.iter_mut().enumerate() {
        let value = s.constant(s.input(i)?).and_then(|t| t.data().to_f64().first().copied());
        *end = value.ok_or_else(|| unsupported("its ends are not constants"))?;
    }
    let [start, limit, delta] = ends;
    let n = ((limit - start) / delta).ceil().max(0.0);
    if !n.is_finite() || n > f64::from(1 << 24) {
        return Err(unsupported(format!("{n} numbers from {start} to {limit}")));
    }
    let numbers: Vec<f64> = (0..n as usize).map(|i| start + i as f64 * delta).collect();
    s.finish_constant(Tensor::new([numbers.len()], Data::from_f64(dtype, numbers))?);
    Ok(())
}
