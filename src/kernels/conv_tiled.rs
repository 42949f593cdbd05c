//! Dense convolution in C4 through shared memory.

use super::conv::in_place;
use super::conv_geometry::Geometry;
use super::{Context, DeviceLimits, Head, Kernel, Number, Walk, exact_groups};
use crate::error::Result;
use crate::tensor::DType;

/// The variant's name.
pub const NAME: &str = "tiled";
/// The text as committed.
pub const FILE: &str = include_str!("conv_tiled.wgsl");
/// Pixels and channel vectors of a workgroup.
const TILE: [u32; 2] = [32, 8];
const INVOCATIONS: u32 = 64;
/// Two arrays of 128 vectors.
const SHARED_BYTES: u32 = 2 * 128 * 16;

/// True where the adapter can run it.
pub fn fits(g: &Geometry<'_>, limits: &DeviceLimits) -> bool {
    let tiles = g.groups.saturating_mul(g.outputs().div_ceil(4 * TILE[1]));
    limits.max_invocations >= INVOCATIONS
        && limits.max_workgroup_bytes >= SHARED_BYTES
        && [g.y.plane().div_ceil(TILE[0]), tiles, g.y.n].iter().all(|&n| n <= limits.max_groups)
}

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>) -> Result<Kernel<'a>> {
    let mut head = Head::new(ctx);
    let weights = g.pack(TILE[1], false)?;
    let pixels = g.y.plane().div_ceil(TILE[0]);
    let channels = g.groups * weights.tiles_of_group;
    g.declare(&mut head, [pixels, channels, weights.tiles_of_group, weights.bias])?;
    head.params.vec4u("groups", [g.inputs().div_ceil(4), g.outputs().div_ceil(4), weights.channels, 0]);
    let x = head.input(0, true)?;
    head.loader("x", x, true);
    let w = head.weights(weights.packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = exact_groups([pixels as usize, channels as usize, g.y.n as usize], ctx.limits)?;
    Ok(Kernel::one(head.finish("conv_tiled", FILE, groups)?).in_place(in_place(ctx, Walk::C4)))
}
