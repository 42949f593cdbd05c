//! Normalisations and reductions.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{BatchNorm, Binary, Op, Reduce, ReduceKind, Softmax, Unary};
use crate::tensor::{DType, Tensor};

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

/// <https://onnx.ai/onnx/operators/onnx__LayerNormalization.html>, by its own definition.
pub fn layer_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["stash_type"]);
    s.only_outputs(1, "a mean or deviation")?;
    let x = s.input(0)?;
    let rank = s.ty(x)?.shape.len() as i64;
    let axis = s.int("axis", -1)?;
    let first = if axis < 0 { axis.saturating_add(rank) } else { axis };
    if !(0..rank).contains(&first) {
        return Err(unsupported(format!("axis {axis} of a tensor of rank {rank}")));
    }
    let epsilon = s.float("epsilon", 1e-5)?;
    let normal = normalized(s, x, (first..rank).collect(), epsilon)?;
    let scale = s.input(1)?;
    scale_and_shift(s, normal, scale, s.optional(2))
}

/// <https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html>, by its own definition.
pub fn instance_norm(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let rank = s.ty(x)?.shape.len();
    let epsilon = s.float("epsilon", 1e-5)?;
    let normal = normalized(s, x, (2..rank as i64).collect(), epsilon)?;
    let (scale, shift) = (per_channel(s, 1, "scale", rank)?, per_channel(s, 2, "shift", rank)?);
    scale_and_shift(s, normal, scale, Some(shift))
}

/// (x - mean) / sqrt(variance + epsilon) along `axes`.
fn normalized(s: &mut Scope<'_, '_>, x: ValueId, axes: Vec<i64>, epsilon: f32) -> Result<ValueId> {
    let dtype = s.ty(x)?.dtype;
    if dtype != DType::F32 {
        return Err(unsupported(format!("element type {dtype} is not supported")));
    }
    let axes = s.ints_input("axes", axes)?;
    let mean_of = Op::Reduce(Reduce { kind: ReduceKind::Mean, keep_dims: true, noop_with_empty_axes: true });
    let mean = s.step(mean_of.clone(), vec![Some(x), Some(axes)])?;
    let centred = s.step(Op::Binary(Binary::Sub), vec![Some(x), Some(mean)])?;
    let squared = s.step(Op::Binary(Binary::Mul), vec![Some(centred), Some(centred)])?;
    let variance = s.step(mean_of, vec![Some(squared), Some(axes)])?;
    let epsilon = s.scalar_input("epsilon", dtype, epsilon)?;
    let sum = s.step(Op::Binary(Binary::Add), vec![Some(variance), Some(epsilon)])?;
    let deviation = s.step(Op::Unary(Unary::Sqrt), vec![Some(sum)])?;
    s.step(Op::Binary(Binary::Div), vec![Some(centred), Some(deviation)])
}

fn scale_and_shift(s: &mut Scope<'_, '_>, x: ValueId, scale: ValueId, shift: Option<ValueId>) -> Result<()> {
    let inputs = vec![Some(x), Some(scale)];
    match shift {
        None => s.finish_one(Op::Binary(Binary::Mul), inputs),
        Some(shift) => {
            let scaled = s.step(Op::Binary(Binary::Mul), inputs)?;
            s.finish_one(Op::Binary(Binary::Add), vec![Some(scaled), Some(shift)])
        }
    }
}

/// Input `i` of shape [C] as [C, 1, …], so that it broadcasts along the channels.
fn per_channel(s: &mut Scope<'_, '_>, i: usize, what: &str, rank: usize) -> Result<ValueId> {
    let id = s.input(i)?;
    let tensor: Tensor = s.constant(id).cloned().ok_or_else(|| unsupported(format!("{what} is not a constant")))?;
    let mut shape = vec![1; rank.saturating_sub(1).max(1)];
    shape[0] = tensor.data().len();
    Ok(s.constant_input(what, tensor.reshaped(shape)?))
}
