//! Reductions: over the pixels of C4 tensors, and over any dimensions of row-major ones.

use super::access::{Walk, merge, same_places};
use super::context::{Context, to_u32};
use super::head::Head;
use super::launch::{Choice, Kernel, linear_groups};
use super::planes;
use super::sample::Sample;
use super::steps::Number;
use crate::error::Result;
use crate::ops::{Op, Reduce, ReduceKind, Step, Unary};
use crate::tensor::{DType, Layout, Tensor};

pub(super) const SERIAL: &str = include_str!("reduce.wgsl");
pub(super) const TREE: &str = include_str!("reduce_tree.wgsl");

/// The kernel of a reduction.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Reduce) -> Result<Kernel<'a>> {
    let (x, out) = (planes::input(ctx)?, ctx.output(0)?);
    let axes = ctx.constant(1)?.map(Tensor::to_ints).transpose()?;
    let reduced = op.reduced(x.shape().len(), axes)?;
    let walk = planes::walk(ctx)?;
    let wide = walk.wide();
    if walk == Walk::C4 && reduced != [false, false, true, true] {
        return Err(ctx.unsupported("only the pixels of a c4 tensor are reduced"));
    }
    x.count()?;
    let results = if wide { out.count()? / 4 } else { out.count()? };
    let split = |want: bool, of: &[u32]| -> Vec<u32> {
        of.iter().zip(&reduced).filter(|(_, r)| **r == want).map(|(d, _)| *d).collect()
    };
    let dims = x.dims()?;
    let elements: u32 = split(true, &dims).iter().product();
    let (variant, choice) = choose(ctx, results, elements);
    let group = if variant == "tree" {
        64
    } else if ctx.limits.cpu {
        // Few results: small groups keep every core at work.
        results.div_ceil(8).clamp(1, 64).next_power_of_two()
    } else {
        64
    };
    let mut head = Head::new(ctx);
    head.define("GROUP", group);
    head.params.u32("results", results);
    head.params.u32("elements", elements);
    planes::declare(ctx, &mut head, walk)?;
    if wide {
        head.declare("fn first(i: u32) -> u32 {\n    return i * params.elements;\n}");
        head.declare("fn step(k: u32) -> u32 {\n    return k;\n}");
    } else {
        let strides = x.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<Vec<_>>>()?;
        head.index_function("first", &merge(&split(false, &dims), &split(false, &strides)), 0)?;
        head.index_function("step", &merge(&split(true, &dims), &split(true, &strides)), 0)?;
    }
    // Nothing reduced: the elements as they are, not their squares or logarithms.
    let kind = if reduced.contains(&true) { op.kind } else { ReduceKind::Sum };
    joiner(ctx, &mut head, kind, Number::of(x.ty.dtype))?;
    let groups = match (results, variant) {
        (0, _) => [0; 3],
        (_, "tree") => linear_groups(results, 1, ctx.limits)?,
        _ => linear_groups(results, group, ctx.limits)?,
    };
    let layout = if wide { "c4" } else { "rows" };
    let label = format!("reduce/{layout} {variant} {}", ctx.op.definition().name());
    let file = if variant == "tree" { TREE } else { SERIAL };
    let same = same_places(ctx, ctx.own_inputs, walk);
    Ok(Kernel::one(head.finish(label, file, groups)?).in_place(same).choice(choice))
}

/// One invocation a result, or one workgroup: by measurement, else by what the adapter is.
pub(super) fn choose(ctx: &Context<'_>, results: u32, elements: u32) -> (&'static str, Choice) {
    let specialisation = format!("{} {results}x{elements}", ctx.op.definition().name());
    let candidates = ["serial", "tree"];
    let rule = if !ctx.limits.cpu && elements >= 128 && results < 4096 { "tree" } else { "serial" };
    let taken = ctx.choices.pick(&specialisation, &candidates, rule);
    (taken, Choice { specialisation, taken, candidates: candidates.to_vec() })
}

fn joiner(ctx: &Context<'_>, head: &mut Head<'_, '_>, kind: ReduceKind, number: Number) -> Result<()> {
    let float = number == Number::Float;
    let (low, high) = planes::extremes(number);
    let zero = "T()";
    let n = if float { "T(f32(params.elements))" } else { "T(max(params.elements, 1u))" };
    let mean = format!("v / {n}");
    let (low, high) = (format!("T({low})"), format!("T({high})"));
    let (initial, lift, join, finish) = match kind {
        ReduceKind::Sum => (zero, "v", "a + b", "v"),
        ReduceKind::Mean => (zero, "v", "a + b", mean.as_str()),
        ReduceKind::Max => (low.as_str(), "v", "max(a, b)", "v"),
        ReduceKind::Min => (high.as_str(), "v", "min(a, b)", "v"),
        ReduceKind::Prod => ("T(1)", "v", "a * b", "v"),
        ReduceKind::L1 => (zero, "abs(v)", "a + b", "v"),
        ReduceKind::SumSquare => (zero, "v * v", "a + b", "v"),
        ReduceKind::L2 if float => (zero, "v * v", "a + b", "sqrt(v)"),
        ReduceKind::LogSum if float => (zero, "v", "a + b", "log(v)"),
        ReduceKind::LogSumExp if float => (zero, "exp(v - shift)", "a + b", "log(v) + shift"),
        _ => return Err(ctx.unsupported(format!("{} of integers", ctx.op.definition().name()))),
    };
    if kind == ReduceKind::LogSumExp {
        head.declare(&format!(
            "fn shift(i: u32) -> T {{
    let base = first(i);
    var top = {low};
    for (var k = 0u; k < params.elements; k++) {{
        top = max(top, load(base + step(k)));
    }}
    return top;
}}"
        ));
    } else {
        head.declare("fn shift(i: u32) -> T {\n    return T();\n}");
    }
    head.declare(&format!("fn initial() -> T {{\n    return {initial};\n}}"));
    head.declare(&format!("fn lift(v: T, shift: T) -> T {{\n    return {lift};\n}}"));
    head.declare(&format!("fn join(a: T, b: T) -> T {{\n    return {join};\n}}"));
    head.declare(&format!("fn finish(v: T, shift: T) -> T {{\n    return {finish};\n}}"));
    Ok(())
}

/// Every specialisation.
pub fn variants() -> Vec<Sample> {
    let axes = |v: &[i64]| Tensor::i64([v.len()], v.to_vec()).unwrap_or_else(|_| Tensor::scalar(0.0));
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::LogSum,
        ReduceKind::LogSumExp,
        ReduceKind::SumSquare,
    ];
    let mut out = Vec::new();
    for kind in kinds {
        let op = || Op::Reduce(Reduce { kind, keep_dims: true, noop_with_empty_axes: false });
        // More than 128 elements, so that the rule takes the tree; on a CPU it never does.
        for cpu in [false, true] {
            for layout in [Layout::RowMajor, Layout::C4] {
                let node = Sample::new(op()).input(DType::F32, &[1, 6, 12, 12], layout).constant(axes(&[2, 3]));
                let node = node.output(DType::F32, &[1, 6, 1, 1], layout);
                out.push(node.epilogue(vec![Step::Unary(Unary::Sigmoid)], &[]).limits(move |l| l.cpu = cpu));
            }
            let node = Sample::new(op()).input(DType::F32, &[16, 6, 12], Layout::RowMajor).constant(axes(&[0, 2]));
            out.push(node.output(DType::F32, &[1, 6, 1], Layout::RowMajor).limits(move |l| l.cpu = cpu));
        }
        if !matches!(kind, ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp) {
            let node = Sample::new(op()).input(DType::I32, &[3, 6], Layout::RowMajor).constant(axes(&[1]));
            out.push(node.output(DType::I32, &[3, 1], Layout::RowMajor));
        }
    }
    out
}
