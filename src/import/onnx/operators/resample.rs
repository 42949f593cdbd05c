//! Resize and its ancestor Upsample.

use crate::error::Result;
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
    match s.text("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => {}
        other => return Err(unsupported(format!("keep_aspect_ratio_policy={other:?} is not supported"))),
    }
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
    s.finish(Op::Resize(Resize { mode, coordinates, axes }), vec![Some(x), None, scales, sizes])
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
