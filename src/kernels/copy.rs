//! One kernel for everything that moves elements: it reads either layout, writes either layout, and follows any strides of
//! up to eight dimensions.
//!
//! Where an operator says which source element each output element takes (transpose, slice, reshape, pad, gather, …), the
//! output is written by four: whole vectors are copied where strides allow, else four elements are gathered. Where it says
//! where each source element goes (concatenation), see [`super::join`].

use super::access::merge;
use super::context::{Arg, Context, to_u32};
use super::copy_rule::{Rule, axis_len, axis_of, rule, strides_of, vectors};
use super::head::Head;
use super::launch::{Kernel, Launch, Packed, Part, View, linear_groups};
use super::sample::Sample;
use super::steps::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Concat, Expand, Gather, Op, Pad, PadMode, Relayout, Reshape, Slice, SliceAxis, Split, Transpose};
use crate::tensor::{DType, Layout, Tensor};
use std::fmt::Write;

pub(super) const GROUP: u32 = 64;
pub(super) const FILE: &str = include_str!("copy.wgsl");

/// The kernel of a movement node with one source and a rule for each output element.
pub fn kernel<'a>(ctx: &Context<'a>) -> Result<Kernel<'a>> {
    if !ctx.epilogue.is_empty() {
        return Err(ctx.unsupported("nothing can be fused into a node that only moves elements"));
    }
    let x = ctx.input(0)?;
    let (launches, views) = match ctx.op {
        Op::Split(op) => {
            let sizes = op.sizes(axis_len(&x, op.axis)?, ctx.constant(1)?.map(|t| t.to_ints()).transpose()?)?;
            let axis = axis_of(op.axis, x.shape().len())?;
            let mut first = 0;
            let (mut launches, mut views) = (Vec::new(), Vec::new());
            for (k, len) in sizes.into_iter().enumerate().take(ctx.outputs.len()) {
                let mut axes: Vec<_> = x.shape().iter().map(|&len| SliceAxis { first: 0, step: 1, len }).collect();
                axes[axis] = SliceAxis { first, step: 1, len };
                let (launch, offset) = slice(ctx, &x, k, &axes)?;
                views.extend(offset.map(|o| View { input: 0, output: k, part: Part::Output, offset: o, launch: k }));
                launches.push(launch);
                first += len;
            }
            (launches, views)
        }
        Op::Slice(op) => {
            let (launch, offset) = slice(ctx, &x, 0, &op.axes(&ctx.operands())?)?;
            let view = offset.map(|offset| View { input: 0, output: 0, part: Part::Output, offset, launch: 0 });
            (vec![launch], view.into_iter().collect())
        }
        _ => {
            let whole = View { input: 0, output: 0, part: Part::Output, offset: 0, launch: 0 };
            let out = ctx.output(0)?;
            let (from, same) = rule(ctx, &x)?;
            let same = same && x.constant.is_none() && x.layout == out.layout;
            // C4 to C4 under another shape moves elements between vectors.
            let same = same && (x.layout == Layout::RowMajor || x.shape() == out.shape());
            (vec![copy(ctx, &x, 0, &from, fill(ctx)?)?], same.then_some(whole).into_iter().collect())
        }
    };
    let label = format!("copy {}", ctx.op.definition().name());
    Ok(Kernel::many(label, launches).views(views))
}

/// The value of padding.
fn fill(ctx: &Context<'_>) -> Result<f64> {
    let value = match ctx.op {
        Op::Pad(_) => ctx.constant(2)?,
        _ => None,
    };
    Ok(value.and_then(|t| t.data().to_f64().first().copied()).unwrap_or(0.0))
}

/// One output of a slice, and the byte where it begins in its source if it is a stretch of it.
fn slice<'a>(ctx: &Context<'a>, x: &Arg<'a>, output: usize, axes: &[SliceAxis]) -> Result<(Launch<'a>, Option<u64>)> {
    let out = ctx.output(output)?;
    let own = strides_of(x)?;
    let mut base = 0u32;
    let mut strides = Vec::with_capacity(own.len());
    for (axis, &stride) in axes.iter().zip(&own) {
        base = base.wrapping_add(to_u32(axis.first)?.wrapping_mul(stride));
        strides.push((axis.step as u32).wrapping_mul(stride));
    }
    let stretch = stretch(x, &out, axes);
    Ok((copy(ctx, x, output, &Rule::Linear { dims: out.dims()?, strides, base }, 0.0)?, stretch))
}

/// The byte offset of a slice that is one stretch of its source: at most one dimension is cut, and all outside it are one.
fn stretch(x: &Arg<'_>, out: &Arg<'_>, axes: &[SliceAxis]) -> Option<u64> {
    if x.constant.is_some() || x.layout != out.layout || axes.iter().any(|a| a.step != 1) {
        return None;
    }
    let cut = axes.iter().zip(x.shape().iter()).position(|(a, &d)| a.len != d).unwrap_or(0);
    let alone = axes.iter().zip(x.shape().iter()).skip(cut + 1).all(|(a, &d)| a.len == d);
    let outer_one = x.shape().iter().take(cut).all(|d| *d == 1);
    if !alone || !outer_one || x.shape().is_empty() {
        return None;
    }
    let first = axes.get(cut)?.first;
    let inner: usize = x.shape().iter().skip(cut + 1).product();
    let elements = match x.layout {
        Layout::RowMajor => first.checked_mul(inner)?,
        // A cut between channels must fall between vectors, and may not leave foreign lanes behind its end.
        Layout::C4 if cut == 1 => {
            let end = first + axes.get(1)?.len;
            let clean = first % 4 == 0 && (end % 4 == 0 || end == x.shape()[1]);
            if !clean {
                return None;
            }
            first.checked_mul(inner)?
        }
        Layout::C4 if cut == 0 => {
            let one = Layout::C4.elements(&[1, x.shape()[1], x.shape()[2], x.shape()[3]].into());
            first.checked_mul(one)?
        }
        // Cut along h or w: a stretch only where all channels are in one group.
        Layout::C4 if x.shape()[1] <= 4 => first.checked_mul(inner)?.checked_mul(4)?,
        Layout::C4 => return None,
    };
    (elements as u64).checked_mul(out.ty.dtype.gpu_bytes() as u64)
}

/// A launch that writes all of output `output`.
fn copy<'a>(ctx: &Context<'a>, x: &Arg<'a>, output: usize, from: &Rule, fill: f64) -> Result<Launch<'a>> {
    let out = ctx.output(output)?;
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let count = out.count()?.div_ceil(4);
    head.params.u32("count", count);
    let source_c4 = x.is_c4();
    let wide = if source_c4 == (out.layout == Layout::C4) { vectors(x, &out, from, fill)? } else { None };
    let mode = if wide.is_some() { "vector" } else { "gather" };
    let slot = head.input(0, wide.is_some())?;
    let number = Number::of(x.ty.dtype);
    let (one, four) = (number.wgsl(false), number.wgsl(true));
    let ty = if wide.is_some() { four } else { one };
    let outside = write_from(&mut head, wide.as_ref().unwrap_or(from))?;
    if wide.is_none() && source_c4 {
        decode(&mut head, "place", x)?;
    } else {
        head.declare("fn place(l: u32) -> u32 {\n    return l;\n}");
    }
    let mut read = String::new();
    if outside {
        match number {
            Number::Float => head.params.f32("fill", fill as f32),
            Number::Int => head.params.i32("fill", fill as i32),
            Number::Uint | Number::Bool => head.params.u32("fill", fill as u32),
        }
        let _ = writeln!(read, "    if at == OUTSIDE {{\n        return {ty}(params.fill);\n    }}");
    }
    let load = head.load(slot, "place(at)", wide.is_some());
    let name = if wide.is_some() { "fetch" } else { "one" };
    head.declare(&format!("fn {name}(l: u32) -> {ty} {{\n    let at = source(l);\n{read}    return {load};\n}}"));
    if wide.is_none() {
        if out.layout == Layout::C4 {
            let d = out.c4()?;
            head.params.vec4u("out", [d.channels, d.groups, d.plane(), 0]);
            head.declare(&format!(
                "fn lane(n: u32, c: u32, p: u32) -> {one} {{
    if c >= params.out.x {{
        return {one}();
    }}
    return one((n * params.out.x + c) * params.out.z + p);
}}
fn fetch(i: u32) -> {four} {{
    let q = i / params.out.z;
    let p = i % params.out.z;
    let n = q / params.out.y;
    let c = 4u * (q % params.out.y);
    return {four}(lane(n, c, p), lane(n, c + 1u, p), lane(n, c + 2u, p), lane(n, c + 3u, p));
}}"
            ));
        } else {
            head.declare(&format!(
                "fn fetch(i: u32) -> {four} {{
    return {four}(one(4u * i), one(4u * i + 1u), one(4u * i + 2u), one(4u * i + 3u));
}}"
            ));
        }
    }
    head.declare("fn to(i: u32) -> u32 {\n    return i;\n}");
    let slot = head.output(output, true)?;
    head.storer("store", slot, true)?;
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    head.finish(format!("copy/{mode} {}", ctx.op.definition().name()), FILE, groups)
}

/// `fn source(l: u32) -> u32`; true where it may say OUTSIDE.
fn write_from(head: &mut Head<'_, '_>, from: &Rule) -> Result<bool> {
    match from {
        Rule::Linear { dims, strides, base } => {
            head.index_function("source", &merge(dims, strides), *base)?;
            Ok(false)
        }
        Rule::Window { .. } => window(head, from),
        Rule::Tables { dims, sources, strides } => {
            let mut table: Vec<i32> = Vec::new();
            let mut starts = Vec::new();
            for axis in sources {
                starts.push(to_u32(table.len())?);
                table.extend(axis.iter().map(|s| s.map_or(-1, |s| s as i32)));
            }
            if dims.len() > 8 {
                return Err(too_deep(dims.len()));
            }
            let bytes = (table.len() * 4).next_multiple_of(16).max(16);
            let packed = Packed::new(bytes, move || {
                let mut out: Vec<u8> = table.iter().flat_map(|v| v.to_le_bytes()).collect();
                out.resize(bytes, 0);
                Ok(out)
            });
            let slot = head.weights(packed, DType::I32, false);
            head.params.eight_u("dims", dims);
            head.params.eight_u("starts", &starts);
            head.params.eight_u("strides", strides);
            let mut body = String::from("    var rest = l;\n    var at = 0u;\n    var s = 0;\n");
            for k in (0..dims.len()).rev() {
                let field = |name: &str| format!("params.{name}[{}][{}]", k / 4, k % 4);
                let (dim, start, stride) = (field("dims"), field("starts"), field("strides"));
                let read = head.load(slot, &format!("{start} + rest % {dim}"), false);
                let _ = writeln!(body, "    s = {read};\n    if s < 0 {{\n        return OUTSIDE;\n    }}");
                let _ = writeln!(body, "    at += u32(s) * {stride};\n    rest /= {dim};");
            }
            head.define("OUTSIDE", u32::MAX);
            head.declare(&format!("fn source(l: u32) -> u32 {{\n{body}    return at;\n}}"));
            Ok(true)
        }
        Rule::Rows { picked, inner, n } => {
            let slot = head.input(1, false)?;
            head.params.vec4u("rows", [*picked, *inner, *n, 0]);
            let read = head.load(slot, "q % params.rows.x", false);
            head.declare(&format!(
                "fn source(l: u32) -> u32 {{
    let q = l / params.rows.y;
    var row = i32({read});
    if row < 0 {{
        row += i32(params.rows.z);
    }}
    row = clamp(row, 0, i32(params.rows.z) - 1);
    return ((q / params.rows.x) * params.rows.z + u32(row)) * params.rows.y + l % params.rows.y;
}}"
            ));
            Ok(false)
        }
    }
}

/// As [`write_from`], for a window; dimensions that are neither cut nor padded join the one outside them.
fn window(head: &mut Head<'_, '_>, rule: &Rule) -> Result<bool> {
    let Rule::Window { dims, begins, sizes, strides } = rule else { return Ok(false) };
    let mut parts: Vec<(u32, i32, u32, u32)> = Vec::new();
    for (((&d, &b), &n), &s) in dims.iter().zip(begins).zip(sizes).zip(strides) {
        match parts.last_mut() {
            Some((dim, begin, size, stride)) if b == 0 && d == n && *stride == s * n => {
                (*dim, *begin, *size, *stride) = (*dim * d, *begin * d as i32, *size * d, s);
            }
            _ => parts.push((d, b, n, s)),
        }
    }
    if parts.len() > 8 {
        return Err(too_deep(parts.len()));
    }
    head.params.eight_u("dims", &parts.iter().map(|p| p.0).collect::<Vec<_>>());
    head.params.eight_u("begins", &parts.iter().map(|p| p.1 as u32).collect::<Vec<_>>());
    head.params.eight_u("sizes", &parts.iter().map(|p| p.2).collect::<Vec<_>>());
    head.params.eight_u("strides", &parts.iter().map(|p| p.3).collect::<Vec<_>>());
    let mut body = String::from("    var rest = l;\n    var at = 0u;\n    var inside = true;\n");
    for k in (0..parts.len()).rev() {
        let field = |name: &str| format!("params.{name}[{}][{}]", k / 4, k % 4);
        // Below the begin the difference wraps round to a large number.
        let place = if k == 0 { "rest".to_owned() } else { format!("rest % {}", field("dims")) };
        let _ = writeln!(body, "    let c{k} = {place} - {};", field("begins"));
        let _ =
            writeln!(body, "    inside = inside && c{k} < {};\n    at += c{k} * {};", field("sizes"), field("strides"));
        if k > 0 {
            let _ = writeln!(body, "    rest /= {};", field("dims"));
        }
    }
    head.define("OUTSIDE", u32::MAX);
    head.declare(&format!("fn source(l: u32) -> u32 {{\n{body}    return select(OUTSIDE, at, inside);\n}}"));
    Ok(true)
}

pub(super) fn too_deep(rank: usize) -> Error {
    Error::new(ErrorKind::UnsupportedOp, format!("{rank} dimensions that cannot be merged; at most 8 are supported"))
}

/// `fn name(l: u32) -> u32`: where element `l` in row-major order lies in the C4 tensor `arg`.
pub(super) fn decode(head: &mut Head<'_, '_>, name: &str, arg: &Arg<'_>) -> Result<()> {
    let d = arg.c4()?;
    head.params.vec4u(&format!("{name}_shape"), [d.channels, d.groups, d.plane(), 0]);
    head.declare(&format!(
        "fn {name}(l: u32) -> u32 {{
    let s = params.{name}_shape;
    let q = l / s.z;
    let c = q % s.x;
    return (((q / s.x) * s.y + (c >> 2u)) * s.z + l % s.z) * 4u + (c & 3u);
}}"
    ));
    Ok(())
}

/// Every specialisation of this kernel and of [`super::join`].
pub fn variants() -> Vec<Sample> {
    use Layout::{C4, RowMajor};
    let ints = |v: &[i64]| Tensor::i64([v.len()], v.to_vec()).unwrap_or_else(|_| Tensor::scalar(0.0));
    let f32s = |op: Op, from: &[usize], a: Layout, to: &[usize], b: Layout| {
        Sample::new(op).input(DType::F32, from, a).output(DType::F32, to, b)
    };
    let mut out = Vec::new();
    let shape: &[usize] = &[2, 6, 4, 8];
    for (a, b) in [(RowMajor, RowMajor), (RowMajor, C4), (C4, RowMajor), (C4, C4)] {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::Bool] {
            let op = Op::Relayout(Relayout { to: b });
            out.push(Sample::new(op).input(dtype, shape, a).output(dtype, shape, b));
        }
        for perm in [vec![0, 2, 3, 1], vec![0, 1, 3, 2], vec![1, 0, 2, 3], vec![3, 1, 2, 0]] {
            let to: Vec<usize> = perm.iter().map(|&p: &usize| shape[p]).collect();
            out.push(f32s(Op::Transpose(Transpose { perm }), shape, a, &to, b));
        }
        let reshape = Op::Reshape(Reshape { allow_zero: false });
        out.push(f32s(reshape, shape, a, &[2, 3, 8, 8], b).constant(ints(&[2, 3, 8, 8])));
        for pads in [[0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 2, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]] {
            let to: Vec<usize> = (0..4).map(|k| shape[k] + (pads[k] + pads[k + 4]) as usize).collect();
            let op = Op::Pad(Pad { mode: PadMode::Constant });
            out.push(f32s(op, shape, a, &to, b).constant(ints(&pads)).constant(Tensor::scalar(1.0)));
        }
        let op = Op::Pad(Pad { mode: PadMode::Reflect });
        out.push(f32s(op, shape, a, &[2, 6, 6, 8], b).constant(ints(&[0, 0, 1, 0, 0, 0, 1, 0])));
        for (start, step, len) in [(0, 1, 4), (4, 1, 2), (1, 2, 2), (5, -1, 3)] {
            let end = start + step * len;
            let node = f32s(Op::Slice(Slice), shape, a, &[2, len as usize, 4, 8], b);
            let node = node.constant(ints(&[start])).constant(ints(&[end])).constant(ints(&[1]));
            out.push(node.constant(ints(&[step])));
        }
        let split = Sample::new(Op::Split(Split { axis: 3, parts: 2 })).input(DType::F32, shape, a);
        out.push(split.output(DType::F32, &[2, 6, 4, 4], b).output(DType::F32, &[2, 6, 4, 4], b));
        for from in [&[1, 6, 1, 1][..], &[2, 1, 4, 8]] {
            out.push(f32s(Op::Expand(Expand), from, a, shape, b).constant(ints(&[2, 6, 4, 8])));
        }
        for (axis, other, whole) in
            [(1, 2, [2, 8, 4, 8]), (1, 1, [2, 7, 4, 8]), (2, 4, [2, 6, 8, 8]), (3, 8, [2, 6, 4, 16])]
        {
            let mut second = shape.to_vec();
            second[axis] = other;
            let join = |op: Concat| Sample::new(Op::Concat(op)).input(DType::F32, shape, a);
            let op = Concat { axis: axis as i64 };
            out.push(join(op).input(DType::F32, &second, a).output(DType::F32, &whole, b));
            out.push(join(op).zeros(&second).output(DType::F32, &whole, b));
        }
    }
    for inner in [3, 4] {
        let node = Sample::new(Op::Gather(Gather { axis: 0 })).input(DType::F32, &[5, inner], RowMajor);
        out.push(node.input(DType::I64, &[2], RowMajor).output(DType::F32, &[2, inner], RowMajor));
    }
    let deep = Op::Transpose(Transpose { perm: vec![5, 4, 3, 2, 1, 0] });
    out.push(f32s(deep, &[2, 3, 2, 3, 2, 3], RowMajor, &[3, 2, 3, 2, 3, 2], RowMajor));
    out
}
