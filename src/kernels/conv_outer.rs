//! Dense convolution in C4 by outer products.

use super::conv::{group_size, in_place};
use super::conv_geometry::Geometry;
use super::{Context, Head, Kernel, Number, Walk, linear_groups};
use crate::error::Result;
use crate::tensor::DType;

/// The variant's name.
pub const NAME: &str = "outer";
/// The text as committed.
pub const FILE: &str = include_str!("conv_outer.wgsl");
/// Pixels and channel vectors of a thread.
const TILE: [u32; 2] = [8, 2];
/// Below so many input channels one loop over taps and channels is faster than a nest (measured on SwiftShader: 5.5 against 9 ms
/// for three channels, even at twelve, 22 against 16 ms for 96).
const SHALLOW: u32 = 12;

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>) -> Result<Kernel<'a>> {
    let mut head = Head::new(ctx);
    let group = group_size(ctx.limits);
    let weights = g.pack(TILE[1], false)?;
    let pixels = g.y.plane().div_ceil(TILE[0]);
    let channels = g.groups * weights.tiles_of_group;
    g.declare(&mut head, [pixels, channels, weights.tiles_of_group, weights.bias])?;
    head.params.vec4u("groups", [g.inputs().div_ceil(4), g.outputs().div_ceil(4), weights.channels, 0]);
    head.define("GROUP", group);
    let shallow = !g.is_pointwise() && g.inputs() < SHALLOW;
    head.declare(&format!("const POINTWISE: bool = {};\nconst SHALLOW: bool = {shallow};", g.is_pointwise()));
    let x = head.input(0, false)?;
    head.loader("x", x, false);
    let w = head.weights(weights.packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = linear_groups(g.y.n * channels * pixels, group, ctx.limits)?;
    let label = match (g.is_pointwise(), shallow) {
        (true, _) => "conv_outer 1x1",
        (_, true) => "conv_outer shallow",
        _ => "conv_outer",
    };
    Ok(Kernel::one(head.finish(label, FILE, groups)?).in_place(in_place(ctx, Walk::C4)))
}
