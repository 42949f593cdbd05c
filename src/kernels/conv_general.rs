//! Convolution and its transpose over row-major tensors: one to three spatial dimensions, any groups, weights known or not.

use super::conv::{group_size, in_place};
use super::{Context, Head, Kernel, Number, Params, Sample, Walk, linear_groups, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Conv, ConvTranspose, Op, WindowAxis};
use crate::tensor::{DType, Layout};

/// The text as committed.
pub const FILE: &str = include_str!("conv_general.wgsl");

/// The kernel. For the transpose the axes are seen from the output, as [`ConvTranspose::axes`] gives them.
pub fn kernel<'a>(ctx: &Context<'a>, axes: &[WindowAxis], groups: usize, transposed: bool) -> Result<Kernel<'a>> {
    let (x, w, out) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
    if w.is_c4() {
        return Err(Error::new(ErrorKind::LayoutMismatch, "weights computed at run time must be row-major"));
    }
    for arg in [x, w, out] {
        arg.count()?;
    }
    let (c, m) = (x.shape().get(1).copied().unwrap_or(0), out.shape().get(1).copied().unwrap_or(0));
    let group = group_size(ctx.limits);
    let count = out.count()?;
    let mut head = Head::new(ctx);
    let p = &mut head.params;
    let (from, to): (Axis, Axis) = if transposed { (|a| a.output, |a| a.input) } else { (|a| a.input, |a| a.output) };
    axes_param(p, "input", to_u32(c)?, axes, from, 1)?;
    axes_param(p, "output", to_u32(m)?, axes, to, 1)?;
    axes_param(p, "window", 0, axes, |a| a.kernel, 1)?;
    signed_param(p, "strides", axes, |a| a.stride, 1)?;
    signed_param(p, "dilations", axes, |a| a.dilation, 1)?;
    signed_param(p, "begins", axes, |a| a.begin, 0)?;
    let groups = groups.max(1);
    p.vec4u("counts", [count, to_u32(c / groups)?, to_u32(m / groups)?, 0]);
    head.define("GROUP", group);
    head.declare(&format!("const TRANSPOSED: bool = {transposed};"));
    let x = head.input(0, false)?;
    head.loader("x", x, false);
    let w = head.input(1, false)?;
    head.loader("w", w, false);
    let y = head.output(0, false)?;
    head.storer("y", y, false)?;
    if ctx.own(2).is_some() {
        let bias = head.input(2, false)?;
        head.loader("bias", bias, false);
    } else {
        head.declare("fn bias(i: u32) -> f32 {\n    return 0.0;\n}");
    }
    head.epilogue(Walk::Scalar, Number::Float)?;
    let groups = linear_groups(count, group, ctx.limits)?;
    let label = if transposed { "conv_general transposed" } else { "conv_general" };
    Ok(Kernel::one(head.finish(label, FILE, groups)?).in_place(in_place(ctx, Walk::Scalar)))
}

type Axis = fn(&WindowAxis) -> usize;

/// Three numbers, one a spatial dimension, with `fill` for those in front that are not there.
fn three(axes: &[WindowAxis], f: Axis, fill: u32) -> Result<[u32; 3]> {
    let mut out = [fill; 3];
    let lead = out.len().checked_sub(axes.len()).ok_or_else(|| {
        let message = format!("a convolution over {} spatial dimensions; three are the most", axes.len());
        Error::new(ErrorKind::UnsupportedOp, message)
    })?;
    for (to, axis) in out.iter_mut().skip(lead).zip(axes) {
        *to = to_u32(f(axis))?;
    }
    Ok(out)
}

fn axes_param(p: &mut Params, name: &str, first: u32, axes: &[WindowAxis], f: Axis, fill: u32) -> Result<()> {
    let [a, b, c] = three(axes, f, fill)?;
    p.vec4u(name, [first, a, b, c]);
    Ok(())
}

fn signed_param(p: &mut Params, name: &str, axes: &[WindowAxis], f: Axis, fill: u32) -> Result<()> {
    let [a, b, c] = three(axes, f, fill)?.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
    p.vec4i(name, [0, a, b, c]);
    Ok(())
}

/// Nodes that together need every specialisation.
pub fn variants() -> Vec<Sample> {
    let conv = Op::Conv(Conv { groups: 1, ..Conv::default() });
    let transposed = Op::ConvTranspose(ConvTranspose { groups: 1, ..ConvTranspose::default() });
    vec![
        Sample::new(conv.clone()).input(DType::F32, &[1, 2, 9], Layout::RowMajor).zeros(&[4, 2, 3]).output(
            DType::F32,
            &[1, 4, 7],
            Layout::RowMajor,
        ),
        Sample::new(conv)
            .input(DType::F16, &[1, 2, 9], Layout::RowMajor)
            .input(DType::F16, &[4, 2, 3], Layout::RowMajor)
            .input(DType::F16, &[4], Layout::RowMajor)
            .output(DType::F16, &[1, 4, 7], Layout::RowMajor),
        Sample::new(transposed).input(DType::F32, &[1, 2, 7], Layout::RowMajor).zeros(&[2, 4, 3]).output(
            DType::F32,
            &[1, 4, 9],
            Layout::RowMajor,
        ),
    ]
}
