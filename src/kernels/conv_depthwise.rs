//! Depthwise convolution in C4.

use super::conv::{group_size, in_place};
use super::conv_geometry::{Geometry, size};
use super::{Context, Head, Kernel, Number, Packed, Walk, linear_groups, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::DType;

/// The text as committed: any stride and dilation.
pub const FILE: &str = include_str!("conv_depthwise.wgsl");
/// The text as committed: steps of one along a row.
pub const ROW: &str = include_str!("conv_depthwise_row.wgsl");
/// The text as committed: 3 x 3 in steps of one.
pub const STRIP: &str = include_str!("conv_depthwise_strip.wgsl");

/// The kernel.
pub fn kernel<'a>(ctx: &Context<'a>, g: &Geometry<'a>) -> Result<Kernel<'a>> {
    let mut head = Head::new(ctx);
    let group = group_size(ctx.limits);
    let (packed, bias) = pack(g)?;
    let across = g.y.w.div_ceil(4);
    let dense = g.strides[1] == 1 && g.dilations[1] == 1;
    let (label, file, tiles, threads) =
        if dense && g.kernel == [3, 3] && g.strides[0] == 1 && g.dilations[0] == 1 && g.y.h >= 4 {
            let rows = strip(g, ctx.limits.cpu);
            let strips = across * g.y.h.div_ceil(rows);
            ("conv_depthwise strip", STRIP, [across, strips, rows, bias], strips)
        } else if dense && g.kernel[1] > 1 {
            ("conv_depthwise row", ROW, [across, across * g.y.h, 0, bias], across * g.y.h)
        } else {
            let tiles = g.y.plane().div_ceil(4);
            ("conv_depthwise", FILE, [tiles, 0, 0, bias], tiles)
        };
    g.declare(&mut head, tiles)?;
    head.define("GROUP", group);
    let x = head.input(0, true)?;
    head.loader("x", x, true);
    let w = head.weights(packed, DType::F32, true);
    head.loader("w", w, true);
    let y = head.output(0, true)?;
    head.storer("y", y, true)?;
    head.mask_always();
    head.epilogue(Walk::C4, Number::Float)?;
    let groups = linear_groups(g.y.n * g.y.groups * threads, group, ctx.limits)?;
    Ok(Kernel::one(head.finish(label, file, groups)?).in_place(in_place(ctx, Walk::C4)))
}

/// Rows of a strip: the more, the fewer loads, as long as there are strips enough to share out.
fn strip(g: &Geometry<'_>, cpu: bool) -> u32 {
    if !cpu {
        return 4;
    }
    let wide = u64::from(g.y.vectors()) / 64 >= 256 && g.y.h >= 16;
    if wide { 16 } else { 8 }
}

/// Weights of [channel vectors][taps], then a bias vector for each channel vector; and the index of the first of those.
fn pack<'a>(g: &Geometry<'a>) -> Result<(Packed<'a>, u32)> {
    let (channels, taps, vectors) = (g.y.channels as usize, g.taps() as usize, g.y.groups as usize);
    let (weights, bias) = (g.weights, g.bias);
    if weights.data().len() != size(&[channels, taps])? || bias.is_some_and(|b| b.data().len() != channels) {
        let message = format!("weights {} or bias do not fit {channels} channels", weights.shape());
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    let first = size(&[vectors, taps])?;
    let total = size(&[first + vectors, 16])?;
    let packed = Packed::new(total, move || {
        let mut out = vec![0f32; total / 4];
        for (i, v) in weights.to_f32().into_iter().enumerate() {
            let (c, tap) = (i / taps, i % taps);
            if let Some(to) = out.get_mut(4 * (c / 4 * taps + tap) + c % 4) {
                *to = v;
            }
        }
        if let (Some(bias), Some(to)) = (bias, out.get_mut(4 * first..)) {
            to.iter_mut().zip(bias.to_f32()).for_each(|(to, b)| *to = b);
        }
        Ok(bytemuck::cast_slice(&out).to_vec())
    });
    Ok((packed, to_u32(first)?))
}
