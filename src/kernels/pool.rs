//! MaxPool and AveragePool over one to three spatial dimensions, in either layout.

use super::access::{Walk, same_places};
use super::context::{Context, to_u32};
use super::head::Head;
use super::launch::{Kernel, linear_groups};
use super::planes;
use super::sample::Sample;
use super::steps::Number;
use crate::error::Result;
use crate::ops::{Op, Pool, PoolKind, Step, Unary, Window, WindowAxis};
use crate::tensor::{DType, Layout};

pub(super) const FILE: &str = include_str!("pool.wgsl");
const GROUP: u32 = 64;

/// The kernel of a pool.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Pool) -> Result<Kernel<'a>> {
    let (x, out) = (planes::input(ctx)?, ctx.output(0)?);
    let axes = op.axes(x.shape())?;
    if axes.len() > 3 {
        return Err(ctx.unsupported(format!("{} spatial dimensions; at most 3 are supported", axes.len())));
    }
    let walk = planes::walk(ctx)?;
    let count = if walk == Walk::C4 { out.count()? / 4 } else { out.count()? };
    x.count()?;
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let mut field = |name: &str, of: fn(&WindowAxis) -> usize| -> Result<()> {
        let mut v = [of(&WindowAxis::POINT); 3];
        v[3 - axes.len()..].iter_mut().zip(&axes).for_each(|(to, axis)| *to = of(axis));
        head.params.vec4u(name, [to_u32(v[0])?, to_u32(v[1])?, to_u32(v[2])?, 0]);
        Ok(())
    };
    field("size", |a| a.input)?;
    field("result_size", |a| a.output)?;
    field("window", |a| a.kernel)?;
    field("stride", |a| a.stride)?;
    field("dilation", |a| a.dilation)?;
    field("begin", |a| a.begin)?;
    field("end", |a| a.end)?;
    head.params.u32("count", count);
    planes::declare(ctx, &mut head, walk)?;
    let number = Number::of(x.ty.dtype);
    let (initial, join, finish) = match op.kind {
        PoolKind::Max => (planes::extremes(number).0, "max(a, b)", "v"),
        PoolKind::Average { count_include_pad: true } => ("0.0", "a + b", "v / T(f32(max(padded, 1u)))"),
        PoolKind::Average { count_include_pad: false } => ("0.0", "a + b", "v / T(f32(max(inside, 1u)))"),
    };
    head.declare(&format!("fn initial() -> T {{\n    return T({initial});\n}}"));
    head.declare(&format!("fn join(a: T, b: T) -> T {{\n    return {join};\n}}"));
    head.declare(&format!("fn finish(v: T, inside: u32, padded: u32) -> T {{\n    return {finish};\n}}"));
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    let layout = if walk == Walk::C4 { "c4" } else { "rows" };
    let label = format!("pool/{layout} {}", ctx.op.definition().name());
    let same = same_places(ctx, ctx.own_inputs, walk);
    Ok(Kernel::one(head.finish(label, FILE, groups)?).in_place(same))
}

/// Every specialisation.
pub fn variants() -> Vec<Sample> {
    let mut out = Vec::new();
    let window = || Window { kernel: vec![2, 2], strides: vec![2, 2], ..Window::default() };
    for kind in
        [PoolKind::Max, PoolKind::Average { count_include_pad: false }, PoolKind::Average { count_include_pad: true }]
    {
        for layout in [Layout::RowMajor, Layout::C4] {
            for dtype in [DType::F32, DType::F16] {
                let op = Op::Pool(Pool { kind, window: window(), ceil_mode: false });
                let node = Sample::new(op).input(dtype, &[1, 6, 4, 4], layout);
                let node = node.output(dtype, &[1, 6, 2, 2], layout);
                out.push(node.epilogue(vec![Step::Unary(Unary::Relu)], &[]));
            }
        }
    }
    let op = Op::Pool(Pool { kind: PoolKind::Max, window: window(), ceil_mode: false });
    out.push(Sample::new(op).input(DType::I8, &[1, 6, 4, 4], Layout::RowMajor).output(
        DType::I8,
        &[1, 6, 2, 2],
        Layout::RowMajor,
    ));
    out
}
