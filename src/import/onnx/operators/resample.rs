//! Resize and its ancestor Upsample.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{Coordinates, NearestMode, Op, Resize, ResizeMode};
use crate::tensor::Tensor;

/// <https://onnx.ai/onnx/operators/onnx__Resize.html>
pub fn resize(s: &mut Scope<'_, '_>) -> Result<()> {
    if s.opset < 11 {
        let op = Resize { mode: old_mode(s)?, coordinates: Coordinates::Asymmetric, axes: Vec::new() };
        let inputs = vec![Some(s.input(0)?), None, Some(s.input(1)?), None];
        return s.finish(Op::Resize(op), inputs);
    }
    s.only("antialias", 0)?;
    s.ignore(&["extrapolation_value"]);
    let aspect = match s.text("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => None,
        "not_larger" => Some(f64::min as fn(f64, f64) -> f64),
        "not_smaller" => Some(f64::max as fn(f64, f64) -> f64),
        other => return Err(unsupported(format!("keep_aspect_ratio_policy={other:?} is not supported"))),
    };
    let nearest = match s.text("nearest_mode", "round_prefer_floor")? {
        "round_prefer_floor" => NearestMode::RoundPreferFloor,
        "round_prefer_ceil" => NearestMode::RoundPreferCeil,
        "floor" => NearestMode::Floor,
        "ceil" => NearestMode::Ceil,
        other => return Err(unsupported(format!("nearest_mode={other:?} is not supported"))),
    };
    let coefficient = s.float("cubic_coeff_a", -0.75)?;
    let exclude_outside = s.flag("exclude_outside", false)?;
    let mode = match s.text("mode", "nearest")? {
        "nearest" => ResizeMode::Nearest(nearest),
        "linear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic { coefficient, exclude_outside },
        other => return Err(unsupported(format!("mode={other:?} is not supported"))),
    };
    let coordinates = match s.text("coordinate_transformation_mode", "half_pixel")? {
        "half_pixel" => Coordinates::HalfPixel,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        other => return Err(unsupported(format!("coordinate_transformation_mode={other:?} is not supported"))),
    };
    let axes = s.ints("axes")?.unwrap_or_default();
    s.at_most(4)?;
    let x = s.input(0)?;
    let (scales, sizes) = (s.unless_empty(2), s.unless_empty(3));
    // Opset 11 wants scales even where sizes count; the region of interest belongs to a mode that is refused above.
    let scales = if sizes.is_some() { None } else { scales };
    let sizes = match (aspect, sizes) {
        (Some(choose), Some(_)) => Some(with_aspect(s, x, &axes, choose)?),
        _ => sizes,
    };
    s.finish(Op::Resize(Resize { mode, coordinates, axes }), vec![Some(x), None, scales, sizes])
}

/// Sizes that keep the input's proportions: `choose` picks the scale of all axes from theirs.
fn with_aspect(s: &mut Scope<'_, '_>, x: ValueId, axes: &[i64], choose: fn(f64, f64) -> f64) -> Result<ValueId> {
    let dims = s.dims(x)?;
    let wanted = s.constant_ints(3, "sizes")?.unwrap_or_default();
    let axes: Vec<usize> = match axes {
        [] => (0..dims.len()).collect(),
        _ => axes.iter().map(|&a| s.dimension(a, dims.len())).collect::<Result<_>>()?,
    };
    let scales = wanted.iter().zip(&axes).map(|(&n, &a)| n as f64 / dims[a] as f64);
    let scale = scales.reduce(choose).unwrap_or(1.0);
    let sizes = axes.iter().map(|&a| (scale * dims[a] as f64 + 0.5).floor() as i64).collect();
    s.ints_input("sizes", sizes)
}

/// <https://onnx.ai/onnx/operators/onnx__Upsample.html>; in opset 7 the scales are an attribute.
pub fn upsample(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let scales = if s.opset < 9 {
        let scales = s.floats("scales")?.unwrap_or_default();
        s.constant_input("scales", Tensor::f32([scales.len()], scales)?)
    } else {
        s.input(1)?
    };
    let op = Resize { mode: old_mode(s)?, coordinates: Coordinates::Asymmetric, axes: Vec::new() };
    s.finish(Op::Resize(op), vec![Some(x), None, Some(scales), None])
}

fn old_mode(s: &mut Scope<'_, '_>) -> Result<ResizeMode> {
    match s.text("mode", "nearest")? {
        "nearest" => Ok(ResizeMode::Nearest(NearestMode::Floor)),
        "linear" | "bilinear" => Ok(ResizeMode::Linear),
        other => Err(unsupported(format!("mode={other:?} is not supported"))),
    }
}
