//! Operators that slide a window.

use crate::error::Result;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{AutoPad, Conv, ConvTranspose, Op, Pool, PoolKind, Window};

pub(super) fn window(s: &mut Scope<'_, '_>) -> Result<Window> {
    let auto_pad = match s.text("auto_pad", "NOTSET")? {
        "NOTSET" | "" => AutoPad::Explicit,
        "SAME_UPPER" => AutoPad::SameUpper,
        "SAME_LOWER" => AutoPad::SameLower,
        "VALID" => AutoPad::Valid,
        other => return Err(unsupported(format!("auto_pad={other:?} is not supported"))),
    };
    let window = Window {
        kernel: s.sizes("kernel_shape")?,
        strides: s.sizes("strides")?,
        dilations: s.sizes("dilations")?,
        pads: s.sizes("pads")?,
        auto_pad,
    };
    if window.strides.contains(&0) || window.dilations.contains(&0) || window.kernel.contains(&0) {
        return Err(unsupported("a kernel size, stride or dilation of 0"));
    }
    Ok(window)
}

pub(super) fn groups(s: &mut Scope<'_, '_>) -> Result<usize> {
    let groups = s.int("group", 1)?;
    usize::try_from(groups).ok().filter(|&g| g > 0).ok_or_else(|| unsupported(format!("group={groups}")))
}

/// <https://onnx.ai/onnx/operators/onnx__Conv.html>
pub fn conv(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(3)?;
    let op = Conv { window: window(s)?, groups: groups(s)? };
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?), s.optional(2)];
    s.finish(Op::Conv(op), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__ConvTranspose.html>
pub fn conv_transpose(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(3)?;
    let op = ConvTranspose {
        window: window(s)?,
        groups: groups(s)?,
        output_padding: s.sizes("output_padding")?,
        output_shape: s.sizes("output_shape")?,
    };
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?), s.optional(2)];
    s.finish(Op::ConvTranspose(op), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__MaxPool.html>; `storage_order` speaks of the indices only.
pub fn max_pool(s: &mut Scope<'_, '_>) -> Result<()> {
    s.ignore(&["storage_order"]);
    s.only_outputs(1, "the indices")?;
    pool(s, PoolKind::Max)
}

/// <https://onnx.ai/onnx/operators/onnx__AveragePool.html>
pub fn average_pool(s: &mut Scope<'_, '_>) -> Result<()> {
    let count_include_pad = s.flag("count_include_pad", false)?;
    pool(s, PoolKind::Average { count_include_pad })
}

fn pool(s: &mut Scope<'_, '_>, kind: PoolKind) -> Result<()> {
    let op = Pool { kind, window: window(s)?, ceil_mode: s.flag("ceil_mode", false)? };
    let x = s.input(0)?;
    s.finish_one(Op::Pool(op), vec![Some(x)])
}
