//! Transposed convolution in C4.

use super::conv::{group_size, in_place};
use super::conv_geometry::Geometry;
use super::{Context, Head, Kernel, Number, Walk, linear_groups};
use crate::error::Result;
use crate::tensor::DType;

/// The text as committed.
pub const FILE: &str = include_str!("conv_transpose.wgsl");

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>) -> Result<Kernel<'a>> {
    let mut head = Head::new(ctx);
    let group = group_size(ctx.limits);
    let weights = g.pack(1, true)?;
    // Blocks of four pixels one stride apart, for each phase of the stride.
    let [_, stride] = g.strides;
    let across = g.y.w.div_ceil(4 * stride) * stride;
    let tiles = across * g.y.h;
    g.declare(&mut head, [across, tiles, 0, weights.bias])?;
    head.define("GROUP", group);
    let x = head.input(0, true)?;
    head.loader("x", x, true);
    let w = head.weights(weights.packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = linear_groups(g.y.n * g.y.groups * tiles, group, ctx.limits)?;
    Ok(Kernel::one(head.finish("conv_transpose", FILE, groups)?).in_place(in_place(ctx, Walk::C4)))
}
