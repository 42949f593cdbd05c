//! Convolution and its transpose: which kernel serves a node.

use super::access::same_places;
use super::conv_geometry::Geometry;
use super::{
    Choice, Context, DeviceLimits, Kernel, Sample, Walk, conv_depthwise, conv_general, conv_matrix, conv_outer,
    conv_tiled, conv_transpose,
};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Conv, ConvTranspose, Op, Step, Unary, Window};
use crate::tensor::{DType, Layout};

/// The kernel of a convolution.
pub fn conv<'a>(ctx: &Context<'a>, op: &Conv) -> Result<Kernel<'a>> {
    let axes = op.axes(ctx.input(0)?.shape(), ctx.input(1)?.shape())?;
    if !packed(ctx)? {
        return conv_general::kernel(ctx, &axes, op.groups, false);
    }
    let g = Geometry::new(ctx, &axes, op.groups)?;
    if g.is_depthwise() {
        return conv_depthwise::kernel(ctx, &g);
    }
    if g.groups > 1 && (g.x.channels / g.groups % 4 != 0 || g.y.channels / g.groups % 4 != 0) {
        let message = format!("{} groups of a number of channels that is no multiple of four", g.groups);
        return Err(Error::new(ErrorKind::LayoutMismatch, message).hint("such a convolution takes row-major tensors"));
    }
    let candidates = candidates(&g, ctx.limits);
    let specialisation = specialisation(&g);
    let taken = ctx.choices.pick(&specialisation, &candidates, rule(&g, ctx.limits));
    let kernel = match taken {
        conv_outer::NAME => conv_outer::kernel(ctx, &g)?,
        conv_tiled::NAME => conv_tiled::kernel(ctx, &g)?,
        conv_matrix::WIDE => conv_matrix::kernel(ctx, &g, true)?,
        _ => conv_matrix::kernel(ctx, &g, false)?,
    };
    Ok(kernel.choice(Choice { specialisation, taken, candidates }))
}

/// The kernel of a transposed convolution.
pub fn transpose<'a>(ctx: &Context<'a>, op: &ConvTranspose) -> Result<Kernel<'a>> {
    let axes = op.axes(ctx.input(0)?.shape(), ctx.input(1)?.shape())?;
    if !packed(ctx)? {
        return conv_general::kernel(ctx, &axes, op.groups, true);
    }
    let g = Geometry::new(ctx, &axes, op.groups)?;
    if g.groups != 1 {
        let message = format!("a transposed convolution of {} groups takes row-major tensors", g.groups);
        return Err(Error::new(ErrorKind::LayoutMismatch, message));
    }
    conv_transpose::kernel(ctx, &g)
}

/// True where input and output are C4, false where both are row-major.
fn packed(ctx: &Context<'_>) -> Result<bool> {
    let (x, y) = (ctx.input(0)?.is_c4(), ctx.output(0)?.is_c4());
    if x != y {
        let message = "a convolution reads and writes one layout, and here they differ";
        return Err(Error::new(ErrorKind::LayoutMismatch, message));
    }
    Ok(x)
}

/// Inputs of the epilogue that the output may take over: read where they are written, and not by the convolution itself.
pub(super) fn in_place(ctx: &Context<'_>, walk: Walk) -> Vec<usize> {
    let own: Vec<u32> = (0..ctx.own_inputs).filter_map(|i| ctx.optional(i)).map(|a| a.storage).collect();
    let mut free = same_places(ctx, ctx.own_inputs, walk);
    free.retain(|&i| ctx.optional(i).is_some_and(|a| !own.contains(&a.storage)));
    free
}

/// Invocations of a workgroup of the kernels that share nothing. A CPU runs workgroups, not invocations, side by side: small
/// ones keep all cores busy in small layers.
pub(super) fn group_size(limits: &DeviceLimits) -> u32 {
    if limits.cpu { 32 } else { 64 }
}

/// Nodes alike enough that the same variant serves them: by the size of the window, the work to share out, and the length
/// of the sum.
fn specialisation(g: &Geometry<'_>) -> String {
    let window = if g.is_pointwise() { "1x1" } else { "kxk" };
    let outputs = u64::from(g.y.n) * u64::from(g.y.plane()) * u64::from(g.y.channels);
    let size = match (g.y.plane(), outputs) {
        (..=4, _) => "pixels",
        (_, ..0x8000) => "small",
        _ => "large",
    };
    let depth = if g.taps().saturating_mul(g.inputs()) < 32 { "shallow" } else { "deep" };
    format!("conv {window} {size} {depth}")
}

/// Nodes that stand for the specialisations that matter most, for the tuner.
pub(super) fn samples() -> Vec<Sample> {
    // Side, input and output channels, window.
    [(64, 48, 48, 1), (48, 32, 32, 3), (16, 96, 96, 1), (16, 48, 48, 3), (64, 16, 32, 1), (64, 3, 16, 3)]
        .into_iter()
        .map(|(side, inputs, outputs, k)| sample(side, inputs, outputs, k, 1, DType::F32))
        .collect()
}

fn candidates(g: &Geometry<'_>, limits: &DeviceLimits) -> Vec<&'static str> {
    if limits.cpu {
        // The others were never near, and each costs a tenth of a second to compile.
        return vec![conv_outer::NAME, conv_matrix::NAME];
    }
    let mut all = vec![conv_outer::NAME, conv_matrix::NAME, conv_matrix::WIDE];
    if conv_tiled::fits(g, limits) {
        all.push(conv_tiled::NAME);
    }
    all
}

/// What is best where nothing was measured.
fn rule(g: &Geometry<'_>, limits: &DeviceLimits) -> &'static str {
    if limits.cpu {
        // Eight pixels a thread, but where there are no eight.
        return if g.y.plane() <= 4 { conv_matrix::NAME } else { conv_outer::NAME };
    }
    let enough = g.y.plane() >= 256 && g.outputs() >= 32 && g.taps() * g.inputs() >= 64;
    if enough && conv_tiled::fits(g, limits) {
        conv_tiled::NAME
    } else if u64::from(g.y.vectors()) >= 1 << 17 {
        conv_matrix::WIDE
    } else {
        conv_matrix::NAME
    }
}

/// Nodes that together need every specialisation of the convolutions.
pub fn variants() -> Vec<Sample> {
    let mut all = Vec::new();
    for name in [conv_outer::NAME, conv_matrix::NAME, conv_matrix::WIDE, conv_tiled::NAME] {
        for k in [1, 3] {
            let sample = sample(8, 8, 8, k, 1, DType::F32);
            let key = sample.with(|ctx| match ctx.op {
                Op::Conv(op) => conv(ctx, op).ok().and_then(|kernel| kernel.choice).map(|choice| choice.specialisation),
                _ => None,
            });
            all.push(sample.choose(&key.unwrap_or_default(), name));
        }
    }
    all.push(sample(5, 3, 7, 3, 1, DType::F32).epilogue(vec![Step::Unary(Unary::Relu)], &[]));
    all.push(sample(8, 8, 8, 1, 1, DType::F16));
    all.push(sample(8, 8, 8, 1, 2, DType::F32));
    all.extend([(3, 1), (5, 1), (3, 2)].map(|(k, stride)| {
        let window = Window { strides: vec![stride; 2], pads: vec![k / 2; 4], ..Window::default() };
        let side = 6 / stride + 1;
        Sample::new(Op::Conv(Conv { window, groups: 8 }))
            .input(DType::F32, &[1, 8, 7, 7], Layout::C4)
            .zeros(&[8, 1, k, k])
            .output(DType::F32, &[1, 8, side, side], Layout::C4)
    }));
    all.extend([(4, 3, 1, 6), (4, 2, 2, 8), (8, 2, 2, 8)].map(|(outputs, k, stride, side)| {
        let window = Window { strides: vec![stride; 2], ..Window::default() };
        Sample::new(Op::ConvTranspose(ConvTranspose { window, groups: 1, ..ConvTranspose::default() }))
            .input(DType::F32, &[1, 8, 4, 4], Layout::C4)
            .zeros(&[8, outputs, k, k])
            .output(DType::F32, &[1, outputs, side, side], Layout::C4)
    }));
    all.extend(conv_general::variants());
    all
}

/// A square convolution of stride 1 that keeps the size.
fn sample(side: usize, inputs: usize, outputs: usize, k: usize, groups: usize, dtype: DType) -> Sample {
    let window = Window { pads: vec![k / 2; 4], ..Window::default() };
    Sample::new(Op::Conv(Conv { window, groups }))
        .input(dtype, &[1, inputs, side, side], Layout::C4)
        .zeros(&[outputs, inputs / groups, k, k])
        .output(dtype, &[1, outputs, side, side], Layout::C4)
}
