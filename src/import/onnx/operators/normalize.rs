//! Normalisations and reductions.

use super::steps::count;
use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{BatchNorm, Binary, Op, Reduce, ReduceKind, Softmax, Unary};
use crate::tensor::DType;

/// <https://onnx.ai/onnx/operators/onnx__BatchNormalization.html>, inference form.
pub fn batch_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["momentum", "is_test", "consumed_inputs"]);
    s.only("spatial", 1)?;
    s.only("training_mode", 0)?;
    s.only_outputs(1, "a training")?;
    let epsilon = s.float("epsilon", 1e-5)?;
    let inputs = (0..5).map(|i| s.input(i).map(Some)).collect::<Result<_>>()?;
    s.finish_one(Op::BatchNorm(BatchNorm { epsilon }), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Softmax.html>; below opset 13 the axes from `axis` on are taken together.
pub fn softmax(s: &mut Scope<'_, '_>, log: bool) -> Result<()> {
    let flattened = s.opset < 13;
    let axis = s.int("axis", if flattened { 1 } else { -1 })?;
    let x = s.input(0)?;
    s.finish(Op::Softmax(Softmax { axis, log, flattened }), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__ReduceMean.html> and its siblings; the axes were an attribute below opset 18,
/// for the sum below opset 13.
pub fn reduce(s: &mut Scope<'_, '_>, kind: ReduceKind) -> Result<()> {
    let keep_dims = s.flag("keepdims", true)?;
    let noop_with_empty_axes = s.flag("noop_with_empty_axes", false)?;
    let x = s.input(0)?;
    let axes = if s.opset < if kind == ReduceKind::Sum { 13 } else { 18 } {
        s.ints("axes")?.map(|axes| s.ints_input("axes", axes)).transpose()?
    } else {
        s.unless_empty(1)
    };
    s.finish(Op::Reduce(Reduce { kind, keep_dims, noop_with_empty_axes }), vec![Some(x), axes])
}

/// GlobalAveragePool and GlobalMaxPool: a reduction of every axis but the first two.
pub fn global(s: &mut Scope<'_, '_>, kind: ReduceKind) -> Result<()> {
    let x = s.input(0)?;
    let rank = s.ty(x)?.shape.len() as i64;
    let axes = s.ints_input("axes", (2..rank).collect())?;
    let op = Reduce { kind, keep_dims: true, noop_with_empty_axes: true };
    s.finish(Op::Reduce(op), vec![Some(x), Some(axes)])
}

/// The axes from `axis` on.
fn axes_from(s: &mut Scope<'_, '_>, x: ValueId) -> Result<Vec<i64>> {
    let rank = s.ty(x)?.shape.len();
    let axis = s.int("axis", -1)?;
    let first = s.dimension(axis, rank)? as i64;
    Ok((first..rank as i64).collect())
}

/// <https://onnx.ai/onnx/operators/onnx__LayerNormalization.html>, by its own definition.
pub fn layer_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.only("stash_type", 1)?;
    let x = s.input(0)?;
    let (axes, epsilon) = (axes_from(s, x)?, s.float("epsilon", 1e-5)?);
    let normal = Normal::of(s, x, axes, epsilon)?;
    let scale = s.input(1)?;
    let y = scale_and_shift(s, normal.value, scale, s.optional(2))?;
    s.give(0, y)?;
    s.give(1, normal.mean)?;
    if s.output_is_read(2) {
        let inverse = s.map(Unary::Reciprocal, normal.deviation)?;
        s.give(2, inverse)?;
    }
    Ok(())
}

/// <https://onnx.ai/onnx/operators/onnx__RMSNormalization.html>, by its own definition, computed in float32.
pub fn rms_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.only("stash_type", 1)?;
    let x = s.input(0)?;
    let (axes, epsilon) = (axes_from(s, x)?, s.float("epsilon", 1e-5)?);
    let dtype = s.dtype(x)?;
    let wide = s.convert(x, DType::F32)?;
    let deviation = root_mean_square(s, wide, axes, epsilon)?;
    let normal = s.join(Binary::Div, wide, deviation)?;
    let normal = s.convert(normal, dtype)?;
    let scale = s.input(1)?;
    let y = scale_and_shift(s, normal, scale, None)?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html>, by its own definition.
pub fn instance_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let rank = s.ty(x)?.shape.len();
    let epsilon = s.float("epsilon", 1e-5)?;
    let normal = Normal::of(s, x, (2..rank as i64).collect(), epsilon)?;
    let (scale, shift) = (per_channel(s, 1, rank)?, per_channel(s, 2, rank)?);
    let y = scale_and_shift(s, normal.value, scale, Some(shift))?;
    s.give(0, y)
}

/// <https://onnx.ai/onnx/operators/onnx__GroupNormalization.html>; below opset 21 scale and shift are per group.
pub fn group_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.only("stash_type", 1)?;
    let x = s.input(0)?;
    let (epsilon, groups) = (s.float("epsilon", 1e-5)?, s.int("num_groups", 0)?);
    let dims = s.dims(x)?;
    let (&[n, c, ..], true) = (&dims[..], groups > 0) else {
        return Err(unsupported(format!("{groups} groups of a tensor of rank {}", dims.len())));
    };
    let inner = count(&dims[2..]).saturating_mul(c / groups);
    let grouped = s.reshaped(x, vec![n, groups, inner])?;
    let normal = Normal::of(s, grouped, vec![2], epsilon)?.value;
    let y = if s.opset < 21 {
        let (scale, shift) = (per_channel(s, 1, 3)?, per_channel(s, 2, 3)?);
        let y = scale_and_shift(s, normal, scale, Some(shift))?;
        s.reshaped(y, dims)?
    } else {
        let (scale, shift) = (per_channel(s, 1, dims.len())?, per_channel(s, 2, dims.len())?);
        let normal = s.reshaped(normal, dims)?;
        scale_and_shift(s, normal, scale, Some(shift))?
    };
    s.give(0, y)
}

/// A tensor shifted and scaled to mean 0 and deviation 1 along some axes.
struct Normal {
    /// In the tensor's own type.
    value: ValueId,
    /// In float32, like `deviation`; reduced axes have size 1.
    mean: ValueId,
    deviation: ValueId,
}

impl Normal {
    /// (x - mean) / sqrt(variance + epsilon) along `axes`, computed in float32: in float16 the squares' sum overflows.
    fn of(s: &mut Scope<'_, '_>, x: ValueId, axes: Vec<i64>, epsilon: f32) -> Result<Self> {
        let dtype = s.dtype(x)?;
        if !dtype.is_float() {
            return Err(unsupported(format!("element type {dtype} is not supported")));
        }
        let wide = s.convert(x, DType::F32)?;
        let mean = s.reduced(ReduceKind::Mean, wide, axes.clone())?;
        let centred = s.join(Binary::Sub, wide, mean)?;
        let deviation = root_mean_square(s, centred, axes, epsilon)?;
        let value = s.join(Binary::Div, centred, deviation)?;
        Ok(Self { value: s.convert(value, dtype)?, mean, deviation })
    }
}

/// sqrt(mean(x^2) + epsilon) along `axes`.
fn root_mean_square(s: &mut Scope<'_, '_>, x: ValueId, axes: Vec<i64>, epsilon: f32) -> Result<ValueId> {
    let squared = s.join(Binary::Mul, x, x)?;
    let mean = s.reduced(ReduceKind::Mean, squared, axes)?;
    let sum = s.with_scalar(Binary::Add, mean, epsilon)?;
    s.map(Unary::Sqrt, sum)
}

fn scale_and_shift(s: &mut Scope<'_, '_>, x: ValueId, scale: ValueId, shift: Option<ValueId>) -> Result<ValueId> {
    let scaled = s.join(Binary::Mul, x, scale)?;
    shift.map_or(Ok(scaled), |shift| s.join(Binary::Add, scaled, shift))
}

/// Input `i` of shape [C] as [C, 1, …], so that it broadcasts along the channels of a tensor of this rank.
fn per_channel(s: &mut Scope<'_, '_>, i: usize, rank: usize) -> Result<ValueId> {
    let id = s.input(i)?;
    let mut dims = vec![1; rank.saturating_sub(1).max(1)];
    dims[0] = count(&s.dims(id)?);
    s.reshaped(id, dims)
}
