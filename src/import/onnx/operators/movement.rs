//! Constants, casts and operators that only move elements.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::import::onnx::tensor;
use crate::ops::{
    Cast, Concat, ConstantOfShape, Expand, Flatten, Gather, Identity, Op, Pad, PadMode, Reduce, ReduceKind, Reshape,
    ShapeOf, Slice, Split, Squeeze, Transpose, Unsqueeze,
};
use crate::tensor::{DType, Shape, Tensor};

/// <https://onnx.ai/onnx/operators/onnx__Cast.html>; `saturate` and `round_mode` speak of float8 only.
pub fn cast(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["saturate", "round_mode"]);
    let x = s.input(0)?;
    let to = s.int("to", 0)?;
    let to = tensor::dtype(to).map_err(|e| unsupported(format!("cast to {to}: {}", e.message())))?;
    s.finish(Op::Cast(Cast { to }), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__CastLike.html>
pub fn cast_like(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["saturate", "round_mode"]);
    let (x, like) = (s.input(0)?, s.input(1)?);
    let to = s.ty(like)?.dtype;
    s.finish(Op::Cast(Cast { to }), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__Constant.html>
pub fn constant(s: &mut Scope<'_, '_>) -> Result<()> {
    let tensor = if let Some(tensor) = s.tensor("value")? {
        tensor
    } else if let Some(v) = s.floats("value_floats")? {
        Tensor::f32([v.len()], v)?
    } else if let Some(v) = s.ints("value_ints")? {
        Tensor::i64([v.len()], v)?
    } else if let Some(i) = s.optional_int("value_int")? {
        Tensor::i64(Shape::default(), vec![i])?
    } else {
        let nothing = f32::NAN;
        let float = s.float("value_float", nothing)?;
        s.all_attributes_read()?;
        Tensor::scalar(float)
    };
    s.finish_constant(tensor);
    Ok(())
}

/// <https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html>
pub fn constant_of_shape(s: &mut Scope<'_, '_>) -> Result<()> {
    let shape = s.input(0)?;
    let value = match s.tensor("value")? {
        Some(value) => value,
        None => Tensor::f32([1], vec![0.0])?,
    };
    if value.data().len() != 1 {
        return Err(unsupported(format!("value has {} elements rather than one", value.data().len())));
    }
    s.finish(Op::ConstantOfShape(ConstantOfShape { value }), vec![Some(shape)])
}

/// <https://onnx.ai/onnx/operators/onnx__Identity.html>
pub fn identity(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    s.finish(Op::Identity(Identity), vec![Some(x)])
}

/// At inference the identity: <https://onnx.ai/onnx/operators/onnx__Dropout.html>
pub fn dropout(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["ratio", "seed", "is_test"]);
    if let Some(training) = s.optional(2) {
        let off = s.constant(training).is_some_and(|t| t.to_f32().iter().all(|&x| x == 0.0));
        if !off {
            return Err(unsupported("training mode is not supported"));
        }
    }
    let x = s.input(0)?;
    if s.output_is_read(1) {
        let dims = s.dims(x)?;
        let kept = s.table(DType::Bool, &dims, |_| 1.0)?;
        s.give(1, kept)?;
    }
    s.finish_one(Op::Identity(Identity), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__Shape.html>
pub fn shape(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let op = ShapeOf { start: s.int("start", 0)?, end: s.optional_int("end")? };
    s.finish(Op::ShapeOf(op), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__Size.html>
pub fn size(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let shape = s.step(Op::ShapeOf(ShapeOf::default()), vec![Some(x)])?;
    let product = Reduce { kind: ReduceKind::Prod, keep_dims: false, noop_with_empty_axes: false };
    s.finish(Op::Reduce(product), vec![Some(shape), None])
}

/// <https://onnx.ai/onnx/operators/onnx__Concat.html>
pub fn concat(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", 1)?;
    let inputs = s.all()?.into_iter().map(Some).collect();
    s.finish(Op::Concat(Concat { axis }), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Expand.html>
pub fn expand(s: &mut Scope<'_, '_>) -> Result<()> {
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?)];
    s.finish(Op::Expand(Expand), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Flatten.html>
pub fn flatten(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", 1)?;
    let x = s.input(0)?;
    s.finish(Op::Flatten(Flatten { axis }), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__Gather.html>
pub fn gather(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", 0)?;
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?)];
    s.finish(Op::Gather(Gather { axis }), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Pad.html>; below opset 11 pads and value are attributes.
pub fn pad(s: &mut Scope<'_, '_>) -> Result<()> {
    let mode = match s.text("mode", "constant")? {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        "wrap" => PadMode::Wrap,
        other => return Err(unsupported(format!("mode {other:?} is not supported"))),
    };
    let x = s.input(0)?;
    let inputs = if s.opset < 11 {
        let pads = s.ints("pads")?.unwrap_or_default();
        let value = s.float("value", 0.0)?;
        let dtype = s.ty(x)?.dtype;
        vec![Some(x), Some(s.ints_input("pads", pads)?), Some(s.scalar_input("value", dtype, value)?), None]
    } else {
        s.at_most(4)?;
        vec![Some(x), Some(s.input(1)?), s.optional(2), s.optional(3)]
    };
    s.finish(Op::Pad(Pad { mode }), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Reshape.html>
pub fn reshape(s: &mut Scope<'_, '_>) -> Result<()> {
    let allow_zero = s.flag("allowzero", false)?;
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?)];
    s.finish(Op::Reshape(Reshape { allow_zero }), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Slice.html>; below opset 10 starts, ends and axes are attributes.
pub fn slice(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let inputs = if s.opset < 10 {
        let (starts, ends) = (s.ints("starts")?.unwrap_or_default(), s.ints("ends")?.unwrap_or_default());
        let (starts, ends) = (s.ints_input("starts", starts)?, s.ints_input("ends", ends)?);
        let axes = optional_ints(s, "axes")?;
        vec![Some(x), Some(starts), Some(ends), axes, None]
    } else {
        s.at_most(5)?;
        vec![Some(x), Some(s.input(1)?), Some(s.input(2)?), s.optional(3), s.optional(4)]
    };
    s.finish(Op::Slice(Slice), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Split.html>; below opset 13 the sizes are an attribute.
pub fn split(s: &mut Scope<'_, '_>) -> Result<()> {
    let axis = s.int("axis", 0)?;
    let x = s.input(0)?;
    let sizes = if s.opset < 13 { optional_ints(s, "split")? } else { s.unless_empty(1) };
    let parts = s.output_count();
    if s.int("num_outputs", parts as i64)? != parts as i64 {
        return Err(unsupported(format!("num_outputs is not the number of its outputs, {parts}")));
    }
    s.finish(Op::Split(Split { axis, parts }), vec![Some(x), sizes])
}

/// <https://onnx.ai/onnx/operators/onnx__Squeeze.html>; below opset 13 the axes are an attribute.
pub fn squeeze(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let axes = if s.opset < 13 { optional_ints(s, "axes")? } else { s.optional(1) };
    s.finish(Op::Squeeze(Squeeze), vec![Some(x), axes])
}

/// <https://onnx.ai/onnx/operators/onnx__Unsqueeze.html>; below opset 13 the axes are an attribute.
pub fn unsqueeze(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let axes = if s.opset < 13 { optional_ints(s, "axes")? } else { Some(s.input(1)?) };
    s.finish(Op::Unsqueeze(Unsqueeze), vec![Some(x), axes])
}

/// <https://onnx.ai/onnx/operators/onnx__Transpose.html>
pub fn transpose(s: &mut Scope<'_, '_>) -> Result<()> {
    let perm = s.sizes("perm")?;
    let x = s.input(0)?;
    s.finish(Op::Transpose(Transpose { perm }), vec![Some(x)])
}

/// <https://onnx.ai/onnx/operators/onnx__DepthToSpace.html>, by its own definition: reshape, transpose, reshape.
pub fn depth_to_space(s: &mut Scope<'_, '_>) -> Result<()> {
    let column_first = match s.text("mode", "DCR")? {
        "DCR" => true,
        "CRD" => false,
        other => return Err(unsupported(format!("mode {other:?} is not supported"))),
    };
    let x = s.input(0)?;
    let (b, [n, c, h, w]) = (block(s)?, rank4(s, x)?);
    let c = c / b.saturating_mul(b).max(1);
    let (split, perm) = match column_first {
        true => (vec![n, b, b, c, h, w], vec![0, 3, 4, 1, 5, 2]),
        false => (vec![n, c, b, b, h, w], vec![0, 1, 4, 2, 5, 3]),
    };
    rearrange(s, x, split, perm, vec![n, c, h.saturating_mul(b), w.saturating_mul(b)])
}

/// <https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html>
pub fn space_to_depth(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let (b, [n, c, h, w]) = (block(s)?, rank4(s, x)?);
    let split = vec![n, c, h / b.max(1), b, w / b.max(1), b];
    let joined = vec![n, c.saturating_mul(b).saturating_mul(b), h / b.max(1), w / b.max(1)];
    rearrange(s, x, split, vec![0, 3, 5, 1, 2, 4], joined)
}

fn rearrange(s: &mut Scope<'_, '_>, x: ValueId, split: Vec<i64>, perm: Vec<usize>, joined: Vec<i64>) -> Result<()> {
    let reshape = Op::Reshape(Reshape { allow_zero: true });
    let (split, joined) = (s.ints_input("split", split)?, s.ints_input("joined", joined)?);
    let split = s.step(reshape.clone(), vec![Some(x), Some(split)])?;
    let moved = s.step(Op::Transpose(Transpose { perm }), vec![Some(split)])?;
    s.finish(reshape, vec![Some(moved), Some(joined)])
}

fn block(s: &mut Scope<'_, '_>) -> Result<i64> {
    match s.int("blocksize", 0)? {
        b @ 1..=65_535 => Ok(b),
        b => Err(unsupported(format!("blocksize={b}"))),
    }
}

fn rank4(s: &Scope<'_, '_>, x: ValueId) -> Result<[i64; 4]> {
    match s.ty(x)?.shape[..] {
        [n, c, h, w] => Ok([n, c, h, w].map(|d| d as i64)),
        _ => Err(unsupported(format!("input of shape {} is not of rank 4", s.ty(x)?.shape))),
    }
}

fn optional_ints(s: &mut Scope<'_, '_>, name: &str) -> Result<Option<ValueId>> {
    s.ints(name)?.map(|ints| s.ints_input(name, ints)).transpose()
}
