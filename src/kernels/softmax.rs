//! Softmax and LogSoftmax of row-major tensors; sums in f32.

use super::access::{Walk, same_places};
use super::context::{Context, to_u32};
use super::head::Head;
use super::launch::{Kernel, linear_groups};
use super::reduce::choose;
use super::sample::Sample;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Op, Softmax};
use crate::tensor::{DType, Layout};

pub(super) const SERIAL: &str = include_str!("softmax.wgsl");
pub(super) const TREE: &str = include_str!("softmax_tree.wgsl");

/// The kernel of a softmax.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Softmax) -> Result<Kernel<'a>> {
    let (x, out) = (ctx.input(0)?, ctx.output(0)?);
    if !ctx.epilogue.is_empty() {
        return Err(ctx.unsupported("nothing can be fused into a softmax"));
    }
    if x.is_c4() || out.layout == Layout::C4 {
        return Err(Error::new(ErrorKind::LayoutMismatch, "its operands must be row-major"));
    }
    x.count()?;
    let [outer, elements, inner] = op.split(x.shape())?;
    let (rows, elements, inner) = (to_u32(outer * inner)?, to_u32(elements)?, to_u32(inner)?);
    let (variant, choice) = choose(ctx, rows, elements);
    let group =
        if variant == "tree" || !ctx.limits.cpu { 64 } else { rows.div_ceil(8).clamp(1, 64).next_power_of_two() };
    let mut head = Head::new(ctx);
    head.define("GROUP", group);
    head.define("LOG", u32::from(op.log));
    head.define("KEEP", u32::from(out.ty.dtype == DType::F32));
    head.params.u32("rows", rows);
    head.params.u32("elements", elements);
    head.params.u32("inner", inner);
    let slot = head.input(0, false)?;
    head.loader("load", slot, false);
    let slot = head.output(0, false)?;
    head.loader("kept", slot, false);
    head.storer("store", slot, false)?;
    let groups = match (rows.min(elements), variant) {
        (0, _) => [0; 3],
        (_, "tree") => linear_groups(rows, 1, ctx.limits)?,
        _ => linear_groups(rows, group, ctx.limits)?,
    };
    let label = format!("softmax/{variant}{}", if op.log { " log" } else { "" });
    let launch = head.finish(label, if variant == "tree" { TREE } else { SERIAL }, groups)?;
    // Every element is read and written by one invocation, in this order.
    Ok(Kernel::one(launch).in_place(same_places(ctx, 0, Walk::Scalar)).choice(choice))
}

/// Every specialisation.
pub fn variants() -> Vec<Sample> {
    let mut out = Vec::new();
    for (log, dtype, cpu) in [false, true].into_iter().flat_map(|log| {
        [DType::F32, DType::F16].into_iter().flat_map(move |t| [false, true].into_iter().map(move |cpu| (log, t, cpu)))
    }) {
        let op = || Op::Softmax(Softmax { axis: -1, log, flattened: false });
        let node = || Sample::new(op()).input(dtype, &[3, 200], Layout::RowMajor).limits(move |l| l.cpu = cpu);
        out.push(node().output(dtype, &[3, 200], Layout::RowMajor));
        out.push(node().output(dtype, &[3, 200], Layout::RowMajor).in_place(0));
    }
    out
}
