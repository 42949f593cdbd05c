//! One kernel for everything that moves elements: it reads either layout, writes either layout, and follows any strides of
//! up to eight dimensions.
//!
//! Where an operator says which source element each output element takes (transpose, slice, reshape, pad, gather, …), the
//! output is written by four: whole vectors are copied where strides allow, else four elements are gathered. Where it says
//! where each source element goes (concatenation), see [`super::join`].

use super::access::{Strided, broadcast_strides, merge};
use super::context::{Arg, Context, to_u32};
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

/// Which source element an output element takes, both counted in row-major order whatever their layout.
enum Rule {
    /// `base + Σ index · stride`; strides wrap, so that they may be negative.
    Linear { dims: Vec<u32>, strides: Vec<u32>, base: u32 },
    /// A source index per output index and dimension; none is the fill value.
    Tables { dims: Vec<u32>, sources: Vec<Vec<Option<usize>>>, strides: Vec<u32> },
    /// Rows picked by an index tensor, input 1: dimensions [outer, picked, inner] of the output, `n` rows in the source.
    Rows { picked: u32, inner: u32, n: u32 },
}

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

fn axis_of(axis: i64, rank: usize) -> Result<usize> {
    let at = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(at)
        .ok()
        .filter(|a| *a < rank)
        .ok_or_else(|| Error::new(ErrorKind::ShapeMismatch, format!("axis {axis} is out of range for rank {rank}")))
}

fn axis_len(x: &Arg<'_>, axis: i64) -> Result<usize> {
    Ok(x.shape()[axis_of(axis, x.shape().len())?])
}

fn strides_of(x: &Arg<'_>) -> Result<Vec<u32>> {
    x.shape().row_major_strides().into_iter().map(to_u32).collect()
}

/// The rule of every operator but slices, and whether it keeps the order of elements.
fn rule(ctx: &Context<'_>, x: &Arg<'_>) -> Result<(Rule, bool)> {
    let out = ctx.output(0)?;
    let dims = out.dims()?;
    Ok(match ctx.op {
        Op::Transpose(op) => {
            let perm = op.permutation(x.shape().len())?;
            let own = strides_of(x)?;
            let strides: Vec<u32> = perm.iter().map(|&p| own[p]).collect();
            let same = merge(&dims, &strides).strides.iter().all(|s| *s == 1) && merge(&dims, &strides).dims.len() <= 1;
            (Rule::Linear { dims, strides, base: 0 }, same)
        }
        Op::Expand(_) => {
            let same = x.shape().elements() == out.shape().elements();
            (Rule::Linear { strides: broadcast_strides(x.shape(), out.shape())?, dims, base: 0 }, same)
        }
        Op::Pad(op) => {
            let amounts = op.amounts(&ctx.operands())?;
            let sources: Result<Vec<_>> =
                x.shape().iter().zip(amounts).map(|(&n, amount)| op.sources(n, amount)).collect();
            (Rule::Tables { dims, sources: sources?, strides: strides_of(x)? }, false)
        }
        Op::Gather(op) => {
            let axis = axis_of(op.axis, x.shape().len())?;
            let inner: usize = x.shape()[axis + 1..].iter().product();
            let picked = to_u32(ctx.input(1)?.shape().elements())?;
            (Rule::Rows { picked, inner: to_u32(inner)?, n: to_u32(x.shape()[axis])? }, false)
        }
        _ => {
            if x.shape().elements() != out.shape().elements() {
                let message = format!("{} elements become {}", x.shape(), out.shape());
                return Err(Error::new(ErrorKind::ShapeMismatch, message));
            }
            let strides = out.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<_>>()?;
            (Rule::Linear { dims, strides, base: 0 }, true)
        }
    })
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

/// The rule in vectors of four, where source and output (of one layout) allow it.
fn vectors(x: &Arg<'_>, out: &Arg<'_>, from: &Rule, fill: f64) -> Result<Option<Rule>> {
    if out.layout == Layout::RowMajor {
        return Ok(row_major_vectors(from));
    }
    let (&[_, xc, xh, xw], &[n, c, h, w]) = (&x.shape()[..], &out.shape()[..]) else { return Ok(None) };
    let (xg, g) = (xc.div_ceil(4), c.div_ceil(4));
    // Strides of the source in vectors: of a picture, a channel group, a row, a pixel.
    let unit = [to_u32(xg * xh * xw)?, to_u32(xh * xw)?, to_u32(xw)?, 1];
    let plain = [to_u32(xc * xh * xw)?, to_u32(xh * xw)?, to_u32(xw)?, 1];
    let dims = [to_u32(n)?, to_u32(g)?, to_u32(h)?, to_u32(w)?];
    Ok(match from {
        Rule::Linear { dims: d, strides, base } if d.len() == 4 => {
            // Each dimension must step along itself; channels one by one from a multiple of four.
            let mut rest = *base;
            let mut start = [0u32; 4];
            for (s, p) in start.iter_mut().zip(plain) {
                *s = rest.checked_div(p).unwrap_or(0);
                rest = rest.checked_rem(p).unwrap_or(0);
            }
            let steps: Option<Vec<u32>> = (0..4)
                .map(|k| match (d[k], strides[k]) {
                    (1, _) => Some(u32::from(k == 1)),
                    (_, s) if plain[k] > 0 && s % plain[k] == 0 && (s as i32) >= 0 => Some(s / plain[k]),
                    _ => None,
                })
                .collect();
            let Some(steps) = steps else { return Ok(None) };
            let end = start[1] as usize + c;
            let channels = steps[1] == 1 && start[1] % 4 == 0 && (c % 4 == 0 || end == xc);
            let inside = (0..4).all(|k| {
                let last = u64::from(start[k]) + u64::from(steps[k]) * u64::from(d[k].saturating_sub(1));
                last < x.shape()[k] as u64
            });
            if !channels || !inside || d[1] != c as u32 {
                return Ok(None);
            }
            let base = start[0] * unit[0] + (start[1] / 4) * unit[1] + start[2] * unit[2] + start[3];
            let strides = vec![steps[0] * unit[0], unit[1], steps[2] * unit[2], steps[3]];
            Some(Rule::Linear { dims: dims.to_vec(), strides, base })
        }
        Rule::Tables { sources, .. } => {
            let [sn, sc, sh, sw] = &sources[..] else { return Ok(None) };
            let groups: Option<Vec<Option<usize>>> = (0..g)
                .map(|k| {
                    let lane = |l: usize| sc.get(4 * k + l).copied();
                    let first = lane(0)?;
                    let fits = (1..4).all(|l| match (first, lane(l)) {
                        (None, Some(other)) => other.is_none(),
                        (Some(f), Some(other)) => other == Some(f + l),
                        // Beyond the last channel: padding lanes, which the source has as zeros there too.
                        (Some(f), None) => f + l >= xc,
                        (None, None) => fill == 0.0,
                    });
                    (fits && first.is_none_or(|f| f % 4 == 0)).then_some(first.map(|f| f / 4))
                })
                .collect();
            // A fill value would be written into padding lanes too.
            let clean = c % 4 == 0 || fill == 0.0;
            groups.filter(|_| clean).map(|groups| Rule::Tables {
                dims: dims.to_vec(),
                sources: vec![sn.clone(), groups, sh.clone(), sw.clone()],
                strides: unit.to_vec(),
            })
        }
        _ => None,
    })
}

fn row_major_vectors(from: &Rule) -> Option<Rule> {
    match from {
        Rule::Linear { dims, strides, base } => {
            let Strided { mut dims, mut strides } = merge(dims, strides);
            let whole = dims.last().is_none_or(|d| d % 4 == 0) || (dims.len() == 1 && *base == 0);
            let last = strides.pop().unwrap_or(1);
            if last != 1 || !whole || base % 4 != 0 || strides.iter().any(|s| s % 4 != 0) {
                return None;
            }
            if let Some(d) = dims.last_mut() {
                *d = d.div_ceil(4);
            }
            strides.iter_mut().for_each(|s| *s = (*s as i32 / 4) as u32);
            strides.push(1);
            strides.truncate(dims.len());
            Some(Rule::Linear { dims, strides, base: (*base as i32 / 4) as u32 })
        }
        Rule::Rows { picked, inner, n } if inner % 4 == 0 && *inner > 0 => {
            Some(Rule::Rows { picked: *picked, inner: inner / 4, n: *n })
        }
        _ => None,
    }
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
