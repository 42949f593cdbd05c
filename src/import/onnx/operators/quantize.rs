//! Quantised operators, spelled out in float32: whole numbers below 2^24 are exact there.

use super::windows;
use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::import::onnx::tensor;
use crate::ops::{Binary, Cast, Conv, Expand, Op, Reduce, ReduceKind, Unary};
use crate::tensor::DType;

/// (x - zero) * scale: <https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html>
pub fn dequantize(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let along = Along::read(s, x)?;
    let scale = s.input(1)?;
    let to = match s.int("output_dtype", 0)? {
        0 => s.dtype(scale)?,
        to => tensor::dtype(to)?,
    };
    let x = centred(s, x, 2, Some(&along))?;
    let scale = s.convert(scale, DType::F32)?;
    let scale = along.spread(s, scale)?;
    let y = s.join(Binary::Mul, x, scale)?;
    s.finish(Op::Cast(Cast { to }), vec![Some(y)])
}

/// saturate(round(x / scale) + zero): <https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html>
pub fn quantize(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["saturate", "precision"]);
    let (x, scale) = (s.input(0)?, s.input(1)?);
    let along = Along::read(s, x)?;
    let stated = match s.int("output_dtype", 0)? {
        0 => DType::U8,
        to => tensor::dtype(to)?,
    };
    let to = s.optional(2).map_or(Ok(stated), |zero| s.dtype(zero))?;
    let (x, scale) = (s.convert(x, DType::F32)?, s.convert(scale, DType::F32)?);
    let scale = along.spread(s, scale)?;
    let scaled = s.join(Binary::Div, x, scale)?;
    let mut y = s.map(Unary::Round, scaled)?;
    if let Some(zero) = s.optional(2) {
        let zero = s.convert(zero, DType::F32)?;
        let zero = along.spread(s, zero)?;
        y = s.join(Binary::Add, y, zero)?;
    }
    saturate(s, y, to)
}

/// <https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html>: scale and zero point from the tensor's own range.
pub fn dynamic_quantize(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let mut extreme = |kind, with| {
        let all = Reduce { kind, keep_dims: false, noop_with_empty_axes: false };
        let found = s.step(Op::Reduce(all), vec![Some(x), None])?;
        // The range always holds zero.
        s.with_scalar(with, found, 0.0)
    };
    let high = extreme(ReduceKind::Max, Binary::Max)?;
    let low = extreme(ReduceKind::Min, Binary::Min)?;
    let range = s.join(Binary::Sub, high, low)?;
    let (zero, one) = (s.scalar_input("zero", DType::F32, 0.0)?, s.scalar_input("one", DType::F32, 1.0)?);
    let flat = s.join(Binary::Equal, range, zero)?;
    let range = s.choose(flat, one, range)?;
    let scale = s.with_scalar(Binary::Div, range, 255.0)?;
    let negated = s.map(Unary::Neg, low)?;
    let start = s.join(Binary::Div, negated, scale)?;
    let start = s.map(Unary::Clip { lo: 0.0, hi: 255.0 }, start)?;
    let start = s.map(Unary::Round, start)?;
    s.give(1, scale)?;
    let stored = s.convert(start, DType::U8)?;
    s.give(2, stored)?;
    let scaled = s.join(Binary::Div, x, scale)?;
    let rounded = s.map(Unary::Round, scaled)?;
    let y = s.join(Binary::Add, rounded, start)?;
    saturate(s, y, DType::U8)
}

/// <https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html>
pub fn matmul(s: &mut Scope<'_, '_>) -> Result<()> {
    let (a, b) = (s.input(0)?, s.input(3)?);
    let (a, b) = (centred(s, a, 2, None)?, centred(s, b, 5, None)?);
    let product = s.product(a, b)?;
    let scale = s.input(4)?;
    requantize(s, product, scale, 6)
}

/// <https://onnx.ai/onnx/operators/onnx__QLinearConv.html>
pub fn conv(s: &mut Scope<'_, '_>) -> Result<()> {
    let op = Conv { window: windows::window(s)?, groups: windows::groups(s)? };
    let (x, w) = (s.input(0)?, s.input(3)?);
    let rank = s.dims(w)?.len();
    let (x, w) = (centred(s, x, 2, None)?, centred(s, w, 5, Some(&Along { axis: 0, rank, block: None }))?);
    let bias = s.optional(8).map(|b| s.convert(b, DType::F32)).transpose()?;
    let sum = s.step(Op::Conv(op), vec![Some(x), Some(w), bias])?;
    let scale = s.input(4)?;
    // A scale for each output channel.
    let scale = Along { axis: 1, rank, block: None }.spread(s, scale)?;
    requantize(s, sum, scale, 6)
}

/// <https://onnx.ai/onnx/operators/onnx__ConvInteger.html>
pub fn conv_integer(s: &mut Scope<'_, '_>) -> Result<()> {
    let op = Conv { window: windows::window(s)?, groups: windows::groups(s)? };
    let (x, w) = (s.input(0)?, s.input(1)?);
    let rank = s.dims(w)?.len();
    let (x, w) = (centred(s, x, 2, None)?, centred(s, w, 3, Some(&Along { axis: 0, rank, block: None }))?);
    let sum = s.step(Op::Conv(op), vec![Some(x), Some(w), None])?;
    s.finish(Op::Cast(Cast { to: DType::I32 }), vec![Some(sum)])
}

/// <https://onnx.ai/onnx/operators/onnx__MatMulInteger.html>
pub fn matmul_integer(s: &mut Scope<'_, '_>) -> Result<()> {
    let (a, b) = (s.input(0)?, s.input(1)?);
    let rank = s.dims(a)?.len();
    // A zero point for each row of A, or each column of B.
    let (a, b) =
        (centred(s, a, 2, Some(&Along { axis: rank.saturating_sub(2), rank, block: None }))?, centred(s, b, 3, None)?);
    let product = s.product(a, b)?;
    s.finish(Op::Cast(Cast { to: DType::I32 }), vec![Some(product)])
}

/// Input `zero` subtracted from `x`, in float32.
fn centred(s: &mut Scope<'_, '_>, x: ValueId, zero: usize, along: Option<&Along>) -> Result<ValueId> {
    let x = s.convert(x, DType::F32)?;
    let Some(zero) = s.optional(zero) else { return Ok(x) };
    let mut zero = s.convert(zero, DType::F32)?;
    if let Some(along) = along {
        zero = along.spread(s, zero)?;
    }
    s.join(Binary::Sub, x, zero)
}

/// saturate(round(x * scale of input 1 * `scale` / scale of input `to` + zero of input `to + 1`)).
fn requantize(s: &mut Scope<'_, '_>, x: ValueId, scale: ValueId, to: usize) -> Result<()> {
    let (first, last, zero) = (s.input(1)?, s.input(to)?, s.input(to + 1)?);
    let (first, scale) = (s.convert(first, DType::F32)?, s.convert(scale, DType::F32)?);
    let last = s.convert(last, DType::F32)?;
    let product = s.join(Binary::Mul, first, scale)?;
    let factor = s.join(Binary::Div, product, last)?;
    let scaled = s.join(Binary::Mul, x, factor)?;
    let dtype = s.dtype(zero)?;
    let zero = s.convert(zero, DType::F32)?;
    let shifted = s.join(Binary::Add, scaled, zero)?;
    let rounded = s.map(Unary::Round, shifted)?;
    saturate(s, rounded, dtype)
}

/// Clips to the range of an 8-bit type and gives that as output 0.
fn saturate(s: &mut Scope<'_, '_>, x: ValueId, to: DType) -> Result<()> {
    let (lo, hi) = match to {
        DType::U8 => (0.0, 255.0),
        DType::I8 => (-128.0, 127.0),
        other => return Err(unsupported(format!("quantising to {other} is not supported"))),
    };
    let clipped = s.map(Unary::Clip { lo, hi }, x)?;
    let y = s.convert(clipped, to)?;
    s.give(0, y)
}

/// Which elements a scale or zero point belongs to.
struct Along {
    axis: usize,
    /// Of the tensor it is for.
    rank: usize,
    /// Elements of the axis that share one, and the size of the axis.
    block: Option<(i64, i64)>,
}

impl Along {
    fn read(s: &mut Scope<'_, '_>, x: ValueId) -> Result<Self> {
        let dims = s.dims(x)?;
        let axis = s.int("axis", 1)?;
        let block = s.int("block_size", 0)?;
        // Scalars do not look at the axis, so one that is out of range harms nobody.
        let axis = s.dimension(axis, dims.len()).unwrap_or(0);
        let block = (block > 0).then(|| (block, dims.get(axis).copied().unwrap_or(1)));
        Ok(Self { axis, rank: dims.len(), block })
    }

    /// One number for all, a list along the axis, or one for each block of the axis, so that it broadcasts.
    fn spread(&self, s: &mut Scope<'_, '_>, p: ValueId) -> Result<ValueId> {
        let dims = s.dims(p)?;
        if super::steps::count(&dims) == 1 {
            return s.reshaped(p, Vec::new());
        }
        match (&dims[..], self.block) {
            (&[n], None) if self.axis < self.rank => {
                let mut wanted = vec![1; self.rank];
                wanted[self.axis] = n;
                s.reshaped(p, wanted)
            }
            (_, None) => Ok(p),
            (_, Some((block, n))) if self.axis < dims.len() => {
                let mut split = dims.clone();
                split.insert(self.axis + 1, 1);
                let mut repeated = split.clone();
                repeated[self.axis + 1] = block;
                let mut joined = dims.clone();
                joined[self.axis] = joined[self.axis].saturating_mul(block);
                let split = s.reshaped(p, split)?;
                let repeated = s.ints_input("repeated", repeated)?;
                let repeated = s.step(Op::Expand(Expand), vec![Some(split), Some(repeated)])?;
                let whole = s.reshaped(repeated, joined)?;
                // The last block may be cut short.
                s.cut(whole, self.axis as i64, 0, n)
            }
            _ => Err(unsupported(format!("scales of shape {dims:?}"))),
        }
    }
}
