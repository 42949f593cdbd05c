//! What pools, resizes and reductions share: a tensor as planes, one per picture and channel (row-major) or per picture
//! and channel group (C4), so that one body serves both layouts.

use super::access::Walk;
use super::context::{Arg, Context};
use super::head::Head;
use super::steps::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Layout;

/// How output 0 is walked: single elements in row-major order, or C4.
pub fn walk(ctx: &Context<'_>) -> Result<Walk> {
    Ok(if ctx.output(0)?.layout == Layout::C4 { Walk::C4 } else { Walk::Scalar })
}

/// Input 0, which must lie as output 0 does.
pub fn input<'a>(ctx: &Context<'a>) -> Result<Arg<'a>> {
    let (x, out) = (ctx.input(0)?, ctx.output(0)?);
    let packed = out.layout == Layout::C4;
    if x.is_c4() != packed || (x.constant.is_some() && packed) {
        let message = format!("its input is {}, its output {}", x.layout, out.layout);
        return Err(Error::new(ErrorKind::LayoutMismatch, message));
    }
    Ok(x)
}

/// Declares `T`, the loads and stores of it, the epilogue, and `fn result(v: T, i, q, p) -> T'`: the steps on element
/// (or vector) i, which is pixel p of plane q.
pub fn declare(ctx: &Context<'_>, head: &mut Head<'_, '_>, walk: Walk) -> Result<()> {
    let (x, out) = (ctx.input(0)?, ctx.output(0)?);
    let wide = walk.wide();
    let number = Number::of(x.ty.dtype);
    head.alias("T", number.wgsl(wide));
    let slot = head.input(0, wide)?;
    head.loader("load", slot, wide);
    head.epilogue(walk, number)?;
    let to = Number::of(out.ty.dtype).wgsl(wide);
    if walk == Walk::C4 {
        head.params.u32("groups", out.c4()?.groups);
        head.declare(&format!(
            "fn result(v: T, i: u32, q: u32, p: u32) -> {to} {{\n    return epilogue(v, i, q / params.groups, q % params.groups, p);\n}}"
        ));
    } else {
        head.declare(&format!("fn result(v: T, i: u32, q: u32, p: u32) -> {to} {{\n    return epilogue(v, i);\n}}"));
    }
    let slot = head.output(0, wide)?;
    head.storer("store", slot, wide)
}

/// The lowest and highest value of a number type, as WGSL.
pub const fn extremes(number: Number) -> (&'static str, &'static str) {
    match number {
        Number::Float => ("-3.4028234e38", "3.4028234e38"),
        Number::Int => ("(-2147483647 - 1)", "2147483647"),
        Number::Uint => ("0u", "4294967295u"),
        Number::Bool => ("0u", "1u"),
    }
}
