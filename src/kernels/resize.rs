//! Resize. Coordinate transformations are worked out at compile time, by the operator's own definition, into tables of
//! taps: the shader only adds up.

use super::access::{Walk, same_places};
use super::context::{Context, to_u32};
use super::head::Head;
use super::launch::{Kernel, Packed, linear_groups};
use super::planes;
use super::sample::Sample;
use super::steps::Number;
use crate::error::Result;
use crate::ops::{Coordinates, NearestMode, Op, Resize, ResizeAxis, ResizeMode, Step, Unary};
use crate::tensor::{DType, Layout, Tensor};

pub(super) const FILE: &str = include_str!("resize.wgsl");
pub(super) const ANY: &str = include_str!("resize_any.wgsl");
const GROUP: u32 = 64;

/// The element of row `y` and column `x` of the output; columns stand behind rows in the table.
const NEAREST: &str = "fn sample(base: u32, y: u32, x: u32) -> T {
    return load(base + u32(table(2u * y)) * params.size.y + u32(table(2u * x)));
}";
const LINEAR: &str = "fn sample(base: u32, y: u32, x: u32) -> T {
    let r = table(y);
    let c = table(x);
    let a = base + u32(r.x) * params.size.y;
    let b = base + u32(r.z) * params.size.y;
    let i = u32(c.x);
    let j = u32(c.z);
    return r.y * (c.y * load(a + i) + c.w * load(a + j)) + r.w * (c.y * load(b + i) + c.w * load(b + j));
}";
const CUBIC: &str = "fn line(at: u32, c: vec4f, d: vec4f) -> T {
    return c.y * load(at + u32(c.x)) + c.w * load(at + u32(c.z)) + d.y * load(at + u32(d.x)) + d.w * load(at + u32(d.z));
}
fn sample(base: u32, y: u32, x: u32) -> T {
    let c = table(2u * x);
    let d = table(2u * x + 1u);
    var sum = T();
    for (var k = 0u; k < 2u; k++) {
        let r = table(2u * y + k);
        sum += r.y * line(base + u32(r.x) * params.size.y, c, d);
        sum += r.w * line(base + u32(r.z) * params.size.y, c, d);
    }
    return sum;
}";

/// The kernel of a resize.
pub fn kernel<'a>(ctx: &Context<'a>, op: &Resize) -> Result<Kernel<'a>> {
    let (x, out) = (planes::input(ctx)?, ctx.output(0)?);
    let axes = op.dimensions(&ctx.operands())?;
    let walk = planes::walk(ctx)?;
    let number = Number::of(x.ty.dtype);
    let nearest = matches!(op.mode, ResizeMode::Nearest(_));
    if number != Number::Float && !nearest {
        return Err(ctx.unsupported(format!("{} cannot be interpolated; only nearest", x.ty.dtype)));
    }
    let rank = axes.len();
    let outer = axes.iter().take(rank.saturating_sub(2)).all(ResizeAxis::is_identity);
    let planar = rank >= 2 && outer;
    if walk == Walk::C4 && !planar {
        return Err(ctx.unsupported("channels of a c4 tensor cannot be resized"));
    }
    if rank > 8 {
        return Err(super::copy::too_deep(rank));
    }
    x.count()?;
    let count = if walk == Walk::C4 { out.count()? / 4 } else { out.count()? };
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let most: u32 = match op.mode {
        ResizeMode::Nearest(_) => 1,
        ResizeMode::Linear => 2,
        ResizeMode::Cubic { .. } => 4,
    };
    let mut table: Vec<f32> = Vec::new();
    let (mut starts, mut taps) = (Vec::new(), Vec::new());
    for axis in axes.iter().skip(if planar { rank - 2 } else { 0 }) {
        let n = if planar || !axis.is_identity() { most } else { 1 };
        starts.push(to_u32(table.len())?);
        taps.push(n);
        for i in 0..axis.output {
            let made = if axis.is_identity() { Vec::new() } else { axis.taps(i, op.mode, op.coordinates) };
            let made = made.into_iter().map(|t| [t.index as f32, t.weight as f32]);
            let mut made: Vec<[f32; 2]> = if axis.is_identity() { vec![[i as f32, 1.0]] } else { made.collect() };
            made.resize(n as usize, [i.min(axis.input.saturating_sub(1)) as f32, 0.0]);
            table.extend(made.into_iter().flatten());
        }
    }
    head.params.u32("count", count);
    let file = if planar {
        let size = [axes[rank - 2].input, axes[rank - 1].input, axes[rank - 2].output, axes[rank - 1].output];
        let size = [to_u32(size[0])?, to_u32(size[1])?, to_u32(size[2])?, to_u32(size[3])?];
        head.params.vec4u("size", size);
        FILE
    } else {
        let strides = x.shape().row_major_strides().into_iter().map(to_u32).collect::<Result<Vec<_>>>()?;
        head.params.eight_u("result_dims", &out.dims()?);
        head.params.eight_u("strides", &strides);
        head.params.eight_u("starts", &starts);
        head.params.eight_u("taps", &taps);
        head.params.u32("total", taps.iter().product());
        head.define("RANK", to_u32(rank)?);
        ANY
    };
    planes::declare(ctx, &mut head, walk)?;
    let bytes = (table.len() * 4).next_multiple_of(16).max(16);
    let packed = Packed::new(bytes, move || {
        let mut out: Vec<u8> = table.iter().flat_map(|v| v.to_le_bytes()).collect();
        out.resize(bytes, 0);
        Ok(out)
    });
    let paired = planar && !nearest;
    let slot = head.weights(packed, DType::F32, paired);
    head.loader("table", slot, paired);
    if planar {
        head.declare(match most {
            1 => NEAREST,
            2 => LINEAR,
            _ => CUBIC,
        });
    } else {
        let value = if nearest { "v" } else { "sum + weight * v" };
        head.declare(&format!("fn add(sum: T, weight: f32, v: T) -> T {{\n    return {value};\n}}"));
    }
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    let layout = match (walk, planar) {
        (Walk::C4, _) => "c4",
        (_, true) => "rows",
        _ => "any",
    };
    let label = format!("resize/{layout} {most} taps");
    let same = same_places(ctx, ctx.own_inputs, walk);
    Ok(Kernel::one(head.finish(label, file, groups)?).in_place(same))
}

/// Every specialisation.
pub fn variants() -> Vec<Sample> {
    let mut out = Vec::new();
    let modes = [
        ResizeMode::Nearest(NearestMode::Floor),
        ResizeMode::Linear,
        ResizeMode::Cubic { coefficient: -0.75, exclude_outside: false },
    ];
    let sizes = |v: [i64; 4]| Tensor::i64([4], v.to_vec()).unwrap_or_else(|_| Tensor::scalar(0.0));
    for mode in modes {
        let op = || Op::Resize(Resize { mode, coordinates: Coordinates::HalfPixel, axes: Vec::new() });
        for layout in [Layout::RowMajor, Layout::C4] {
            for dtype in [DType::F32, DType::F16] {
                let node = Sample::new(op()).input(dtype, &[1, 6, 2, 2], layout).absent().absent();
                let node = node.constant(sizes([1, 6, 4, 3])).output(dtype, &[1, 6, 4, 3], layout);
                out.push(node.epilogue(vec![Step::Unary(Unary::Relu)], &[]));
            }
        }
        let node = Sample::new(op()).input(DType::F32, &[1, 6, 2, 2], Layout::RowMajor).absent().absent();
        out.push(node.constant(sizes([2, 6, 4, 3])).output(DType::F32, &[2, 6, 4, 3], Layout::RowMajor));
    }
    let op = Op::Resize(Resize { mode: modes[0], coordinates: Coordinates::Asymmetric, axes: Vec::new() });
    let node = Sample::new(op).input(DType::U8, &[1, 6, 2, 2], Layout::RowMajor).absent().absent();
    out.push(node.constant(sizes([1, 6, 4, 4])).output(DType::U8, &[1, 6, 4, 4], Layout::RowMajor));
    out
}
