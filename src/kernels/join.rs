//! Concatenation: one launch for each input, which copies it into its stretch of the output and could be saved where the
//! input was computed there in the first place.

use super::access::merge;
use super::context::{Arg, Context, to_u32};
use super::copy::{FILE, GROUP, decode};
use super::head::Head;
use super::launch::{Kernel, Launch, Part, View, linear_groups};
use super::pack;
use super::steps::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Concat;
use crate::tensor::Layout;

/// The kernel of a concatenation.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Concat) -> Result<Kernel<'a>> {
    if !ctx.epilogue.is_empty() {
        return Err(ctx.unsupported("nothing can be fused into a node that only moves elements"));
    }
    let out = ctx.output(0)?;
    let rank = out.shape().len();
    let axis = usize::try_from(if op.axis < 0 { op.axis + rank as i64 } else { op.axis }).ok().filter(|a| *a < rank);
    let axis = axis.ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, format!("axis {} is out of range", op.axis)))?;
    let (mut launches, mut views) = (Vec::new(), Vec::new());
    let mut first = 0usize;
    for input in 0..ctx.own_inputs {
        let x = ctx.input(input)?;
        let same = x.shape().len() == rank
            && x.shape().iter().zip(out.shape().iter()).enumerate().all(|(k, (a, b))| k == axis || a == b);
        let len = x.shape().get(axis).copied().unwrap_or(0);
        if !same || first + len > out.shape()[axis] {
            return Err(Error::new(ErrorKind::ShapeMismatch, format!("{} does not fit into {}", x.ty, out.ty)));
        }
        if let Some(offset) = stretch(&x, &out, axis, first).filter(|_| x.shape().elements() > 0) {
            views.push(View { input, output: 0, part: Part::Input, offset, launch: launches.len() });
        }
        launches.push(part(ctx, input, axis, first)?);
        first += len;
    }
    if out.layout == Layout::C4 && out.c4()?.channels % 4 != 0 && axis == 1 {
        launches.push(clear_lanes(ctx)?);
    }
    Ok(Kernel::many("join Concat", launches).views(views))
}

/// The byte where an input begins in the output, if it is a stretch of it.
fn stretch(x: &Arg<'_>, out: &Arg<'_>, axis: usize, first: usize) -> Option<u64> {
    let outer_one = out.shape().iter().take(axis).all(|d| *d == 1);
    if x.constant.is_some() || x.layout != out.layout || !outer_one {
        return None;
    }
    let inner: usize = out.shape().iter().skip(axis + 1).product();
    let elements = match out.layout {
        Layout::RowMajor => first.checked_mul(inner)?,
        Layout::C4 => {
            let c = out.shape()[1];
            match axis {
                0 => first.checked_mul(Layout::C4.elements(&[1, c, out.shape()[2], out.shape()[3]].into()))?,
                1 => {
                    let end = first + x.shape()[1];
                    if !first.is_multiple_of(4) || (!end.is_multiple_of(4) && end != c) {
                        return None;
                    }
                    first.checked_mul(inner)?
                }
                _ if c <= 4 => first.checked_mul(inner)?.checked_mul(4)?,
                _ => return None,
            }
        }
    };
    (elements as u64).checked_mul(out.ty.dtype.gpu_bytes() as u64)
}

/// Copies input `input` to where it begins at `first` along `axis`.
fn part<'a>(ctx: &Context<'a>, input: usize, axis: usize, first: usize) -> Result<Launch<'a>> {
    let (x, out) = (ctx.input(input)?, ctx.output(0)?);
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let c4 = out.layout == Layout::C4;
    // A constant is packed in the output's layout.
    let source_c4 = if x.constant.is_some() { c4 } else { x.layout == Layout::C4 };
    let wide = if source_c4 == c4 { vectors(&x, &out, axis, first)? } else { None };
    let slot = match x.constant {
        Some(tensor) if c4 => head.weights(pack::c4(tensor)?, x.ty.dtype, true),
        _ => head.input(input, wide.is_some())?,
    };
    let ty = Number::of(x.ty.dtype).wgsl(wide.is_some());
    let load = match &wide {
        Some(_) => head.load(slot, "i", true),
        None if source_c4 => {
            decode(&mut head, "place", &x)?;
            head.load(slot, "place(i)", false)
        }
        None => head.load(slot, "i", false),
    };
    head.declare(&format!("fn fetch(i: u32) -> {ty} {{\n    return {load};\n}}"));
    let is_wide = wide.is_some();
    let (dims, strides, base) = match wide {
        Some(to) => to,
        None => {
            let strides = out.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<Vec<_>>>()?;
            let base = to_u32(first)?.wrapping_mul(strides[axis]);
            (x.dims()?, strides, base)
        }
    };
    let count: u32 = dims.iter().product();
    head.params.u32("count", count);
    if !is_wide && c4 {
        head.index_function("element", &merge(&dims, &strides), base)?;
        decode(&mut head, "destination", &out)?;
        head.declare("fn to(i: u32) -> u32 {\n    return destination(element(i));\n}");
    } else {
        head.index_function("to", &merge(&dims, &strides), base)?;
    }
    let slot = head.output(0, is_wide)?;
    head.storer("store", slot, is_wide)?;
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    head.finish(format!("join/{}", if is_wide { "vector" } else { "scalar" }), FILE, groups)
}

type Target = (Vec<u32>, Vec<u32>, u32);

/// Dimensions, strides and start of the copy in vectors of four, where both sides allow it.
fn vectors(x: &Arg<'_>, out: &Arg<'_>, axis: usize, first: usize) -> Result<Option<Target>> {
    let first32 = to_u32(first)?;
    if out.layout == Layout::RowMajor {
        let strides = out.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<Vec<_>>>()?;
        let base = first32.wrapping_mul(strides[axis]);
        let merged = merge(&x.dims()?, &strides);
        let (mut dims, mut strides) = (merged.dims, merged.strides);
        let fits = dims.last().is_some_and(|d| d % 4 == 0)
            && strides.pop() == Some(1)
            && base % 4 == 0
            && strides.iter().all(|s| s % 4 == 0);
        if !fits {
            return Ok(None);
        }
        if let Some(d) = dims.last_mut() {
            *d /= 4;
        }
        strides.iter_mut().for_each(|s| *s /= 4);
        strides.push(1);
        return Ok(Some((dims, strides, base / 4)));
    }
    let (d, o) = (x.c4()?, out.c4()?);
    let end = first + d.channels as usize;
    if axis == 1 && (!first.is_multiple_of(4) || (!end.is_multiple_of(4) && end != o.channels as usize)) {
        return Ok(None);
    }
    let strides = [o.groups * o.plane(), o.plane(), o.w, 1];
    let start = if axis == 1 { first32 / 4 } else { first32 };
    Ok(Some((vec![d.n, d.groups, d.h, d.w], strides.to_vec(), start * strides[axis])))
}

/// Zeroes the padding lanes of the output's last channel group.
fn clear_lanes<'a>(ctx: &Context<'a>) -> Result<Launch<'a>> {
    let out = ctx.output(0)?;
    let d = out.c4()?;
    let lanes = 4 * d.groups - d.channels;
    let count = d.n * d.plane() * lanes;
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    head.params.u32("count", count);
    head.params.vec4u("shape", [lanes, d.plane(), d.groups, 0]);
    let ty = Number::of(out.ty.dtype).wgsl(false);
    head.declare(&format!(
        "fn fetch(i: u32) -> {ty} {{
    return {ty}();
}}
fn to(i: u32) -> u32 {{
    let lanes = params.shape.x;
    let q = i / lanes;
    let vector = ((q / params.shape.y + 1u) * params.shape.z - 1u) * params.shape.y + q % params.shape.y;
    return 4u * vector + 3u - i % lanes;
}}"
    ));
    let slot = head.output(0, false)?;
    head.storer("store", slot, false)?;
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    head.finish("join/clear", FILE, groups)
}
