//! MaxPool and AveragePool over one to three spatial dimensions, in either layout.

use super::access::{Walk, same_places};
use super::context::{Context, to_u32};
use super::head::Head;
use super::launch::{Kernel, Launch, linear_groups};
use super::planes;
use super::sample::Sample;
use super::steps::Number;
use crate::error::Result;
use crate::ops::{Op, Pool, PoolKind, Step, Unary, Window, WindowAxis};
use crate::tensor::{DType, Layout};

pub(super) const FILE: &str = include_str!("pool.wgsl");
const GROUP: u32 = 64;

/// From this many taps on, a maximum is taken of rows first, then of columns.
const SEPARABLE_TAPS: usize = 16;

/// The kernel of a pool.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Pool) -> Result<Kernel<'a>> {
    let (x, out) = (planes::input(ctx)?, ctx.output(0)?);
    let spatial = op.axes(x.shape())?;
    if spatial.len() > 3 {
        return Err(ctx.unsupported(format!("{} spatial dimensions; at most 3 are supported", spatial.len())));
    }
    let walk = planes::walk(ctx)?;
    let mut axes = [WindowAxis::POINT; 3];
    axes[3 - spatial.len()..].copy_from_slice(&spatial);
    x.count()?;
    let layout = if walk == Walk::C4 { "c4" } else { "rows" };
    let label = format!("pool/{layout} {}", ctx.op.definition().name());
    let same = same_places(ctx, ctx.own_inputs, walk);
    let [depth, rows, columns] = axes;
    let taps = axes.iter().map(|a| a.kernel).product::<usize>();
    let flat = depth == WindowAxis::POINT && rows.kernel > 1 && columns.kernel > 1;
    if op.kind == PoolKind::Max && flat && taps >= SEPARABLE_TAPS {
        let resting = |n: usize| WindowAxis { input: n, output: n, ..WindowAxis::POINT };
        let first = [depth, resting(rows.input), columns];
        let second = [depth, rows, resting(columns.output)];
        let planes = x.layout.elements(x.shape()) / (rows.input * columns.input).max(1);
        let scratch = planes * rows.input * columns.output * x.ty.dtype.gpu_bytes();
        if scratch as u64 <= ctx.limits.max_workspace_bytes && scratch > 0 {
            let launches = vec![
                launch(ctx, op, walk, &first, Pass::IntoScratch, &label)?,
                launch(ctx, op, walk, &second, Pass::FromScratch, &label)?,
            ];
            return Ok(Kernel::many(format!("{label} separable"), launches).scratch(scratch as u64).in_place(same));
        }
    }
    out.count()?;
    Ok(Kernel::one(launch(ctx, op, walk, &axes, Pass::Whole, &label)?).in_place(same))
}

/// Which of a pool's launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The only one.
    Whole,
    /// Along rows, into the workspace.
    IntoScratch,
    /// Along columns, from the workspace.
    FromScratch,
}

fn launch<'a>(
    ctx: &Context<'a>,
    op: &Pool,
    walk: Walk,
    axes: &[WindowAxis; 3],
    pass: Pass,
    label: &str,
) -> Result<Launch<'a>> {
    let (x, out, wide) = (ctx.input(0)?, ctx.output(0)?, walk.wide());
    let planes = out.shape()[0] * if wide { out.shape()[1].div_ceil(4) } else { out.shape()[1] };
    let count = to_u32(planes * axes.iter().map(|a| a.output).product::<usize>())?;
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let mut field = |name: &str, of: fn(&WindowAxis) -> usize| -> Result<()> {
        head.params.vec4u(name, [to_u32(of(&axes[0]))?, to_u32(of(&axes[1]))?, to_u32(of(&axes[2]))?, 0]);
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
    let number = Number::of(x.ty.dtype);
    let slot = match pass {
        Pass::FromScratch => head.scratch(x.ty.dtype, wide),
        _ => head.input(0, wide)?,
    };
    planes::declare_load(ctx, &mut head, walk, slot)?;
    if pass == Pass::IntoScratch {
        head.declare("fn result(v: T, i: u32, q: u32, p: u32) -> T {\n    return v;\n}");
        let slot = head.scratch(x.ty.dtype, wide);
        head.storer("store", slot, wide)?;
    } else {
        planes::declare_result(ctx, &mut head, walk)?;
    }
    let (initial, join, finish) = match op.kind {
        PoolKind::Max => (planes::extremes(number).0, "max(a, b)", "v"),
        PoolKind::Average { count_include_pad: true } => ("0.0", "a + b", "v / T(f32(max(padded, 1u)))"),
        PoolKind::Average { count_include_pad: false } => ("0.0", "a + b", "v / T(f32(max(inside, 1u)))"),
    };
    head.declare(&format!("fn initial() -> T {{\n    return T({initial});\n}}"));
    head.declare(&format!("fn join(a: T, b: T) -> T {{\n    return {join};\n}}"));
    head.declare(&format!("fn finish(v: T, inside: u32, padded: u32) -> T {{\n    return {finish};\n}}"));
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    head.finish(label, FILE, groups)
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
    for layout in [Layout::RowMajor, Layout::C4] {
        let window = Window { kernel: vec![5, 5], pads: vec![2; 4], ..Window::default() };
        let op = Op::Pool(Pool { kind: PoolKind::Max, window, ceil_mode: false });
        out.push(Sample::new(op).input(DType::F32, &[1, 6, 4, 4], layout).output(DType::F32, &[1, 6, 4, 4], layout));
    }
    let op = Op::Pool(Pool { kind: PoolKind::Max, window: window(), ceil_mode: false });
    out.push(Sample::new(op).input(DType::I8, &[1, 6, 4, 4], Layout::RowMajor).output(
        DType::I8,
        &[1, 6, 2, 2],
        Layout::RowMajor,
    ));
    out
}
