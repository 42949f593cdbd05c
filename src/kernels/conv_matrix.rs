//! Dense convolution in C4 by products of 4 x 4 matrices.

use super::conv::{group_size, in_place};
use super::conv_geometry::Geometry;
use super::{Context, Head, Kernel, Number, Walk, linear_groups};
use crate::error::Result;
use crate::tensor::DType;

/// The variant that computes four output channels a thread.
pub const NAME: &str = "matrix";
/// The variant that computes eight.
pub const WIDE: &str = "matrix wide";
/// The text as committed.
pub const FILE: &str = include_str!("conv_matrix.wgsl");

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>, wide: bool) -> Result<Kernel<'a>> {
    let mut head = Head::new(ctx);
    let group = group_size(ctx.limits);
    let weights = g.pack(if wide { 2 } else { 1 }, false)?;
    let pixels = g.y.plane().div_ceil(4);
    let channels = g.groups * weights.tiles_of_group;
    g.declare(&mut head, [pixels, channels, weights.tiles_of_group, weights.bias])?;
    head.params.vec4u("groups", [g.inputs().div_ceil(4), g.outputs().div_ceil(4), weights.channels, 0]);
    head.define("GROUP", group);
    head.declare(&format!("const POINTWISE: bool = {};\nconst WIDE: bool = {wide};", g.is_pointwise()));
    let x = head.input(0, true)?;
    head.loader("x", x, true);
    let w = head.weights(weights.packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = linear_groups(g.y.n * channels * pixels, group, ctx.limits)?;
    let label = match (wide, g.is_pointwise()) {
        (false, false) => "conv_matrix",
        (false, true) => "conv_matrix 1x1",
        (true, false) => "conv_matrix wide",
        (true, true) => "conv_matrix wide 1x1",
    };
    Ok(Kernel::one(head.finish(label, FILE, groups)?).in_place(in_place(ctx, Walk::C4)))
}
