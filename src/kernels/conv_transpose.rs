//! Transposed convolution in C4.

use super::conv::{group_size, in_place};
use super::conv_geometry::{Geometry, size};
use super::{Context, Head, Kernel, Number, Walk, linear_groups, to_u32};
use crate::error::Result;
use crate::tensor::DType;

/// The text as committed: any window.
pub const FILE: &str = include_str!("conv_transpose.wgsl");

/// The text as committed: windows that do not overlap.
pub const APART: &str = include_str!("conv_transpose_apart.wgsl");

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>) -> Result<Kernel<'a>> {
    let [sy, sx] = g.strides;
    let apart = g.kernel == g.strides
        && g.dilations == [1, 1]
        && g.begins == [0, 0]
        && (g.x.h.checked_mul(sy), g.x.w.checked_mul(sx)) == (Some(g.y.h), Some(g.y.w));
    let mut head = Head::new(ctx);
    let group = group_size(ctx.limits);
    let pair = apart && g.y.groups > 1;
    let weights = g.pack(if pair { 2 } else { 1 }, true)?;
    // Either blocks of four output pixels one stride apart, for each phase of the stride; or eight input pixels for each tap.
    let (tiles, threads) = if apart {
        let pixels = g.x.plane().div_ceil(8);
        ([pixels, weights.tiles_of_group, 0, weights.bias], [pixels, g.taps(), weights.tiles_of_group])
    } else {
        let across = g.y.w.div_ceil(sx.saturating_mul(4)) * sx;
        ([across, across * g.y.h, 0, weights.bias], [across, g.y.h, g.y.groups])
    };
    let threads = size(&[g.y.n as usize, threads[0] as usize, threads[1] as usize, threads[2] as usize])?;
    g.declare(&mut head, tiles)?;
    head.define("GROUP", group);
    if apart {
        head.declare(&format!("const PAIR: bool = {pair};"));
    }
    let x = head.input(0, !apart)?;
    head.loader("x", x, !apart);
    let w = head.weights(weights.packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = linear_groups(to_u32(threads)?, group, ctx.limits)?;
    let (label, file) = if apart { ("conv_transpose apart", APART) } else { ("conv_transpose", FILE) };
    Ok(Kernel::one(head.finish(label, file, groups)?).in_place(in_place(ctx, Walk::C4)))
}
