//! What pools, resizes and reductions share: a tensor as planes, one per picture and channel (row-major) or per picture
//! and channel group (C4), so that one body serves both layouts.

use super::access::Walk;
use super::context::{Arg, Context};
use super::head::{Head, Slot};
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

/// Declares `T`, `load` from input 0, the epilogue and `store` into output 0.
pub fn declare(ctx: &Context<'_>, head: &mut Head<'_, '_>, walk: Walk) -> Result<()> {
    let slot = head.input(0, walk.wide())?;
    declare_load(ctx, head, walk, slot)?;
    declare_result(ctx, head, walk)
}

/// Declares `T`, the number type of input 0, and the function `load` of it.
pub fn declare_load(ctx: &Context<'_>, head: &mut Head<'_, '_>, walk: Walk, slot: Slot) -> Result<()> {
    head.alias("T", Number::of(ctx.input(0)?.ty.dtype).wgsl(walk.wide()));
    head.loader("load", slot, walk.wide());
    Ok(())
}

/// Declares the epilogue, `fn result(v: T, i, q, p)`, which applies the steps to element (or vector) i, pixel p of plane q,
/// and `store` into output 0.
pub fn declare_result(ctx: &Context<'_>, head: &mut Head<'_, '_>, walk: Walk) -> Result<()> {
    let (x, out) = (ctx.input(0)?, ctx.output(0)?);
    let wide = walk.wide();
    head.epilogue(walk, Number::of(x.ty.dtype))?;
    let to = Number::of(out.ty.dtype).wgsl(wide);
    let call = if walk == Walk::C4 {
        head.params.u32("groups", out.c4()?.groups);
        "epilogue(v, i, q / params.groups, q % params.groups, p)"
    } else {
        "epilogue(v, i)"
    };
    head.declare(&format!("fn result(v: T, i: u32, q: u32, p: u32) -> {to} {{\n    return {call};\n}}"));
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
