//! Element-wise operators in either layout, with numpy broadcasting: Identity, Unary, Binary, Clip, Where, Cast, and
//! BatchNormalization that found no convolution to join.

use super::access::{self, Walk};
use super::context::Context;
use super::head::{Head, c4_param};
use super::launch::{Kernel, linear_groups};
use super::sample::Sample;
use super::steps::{Number, float};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{BatchNorm, Binary, Cast, Clip, Identity, Op, Step, Unary, Where};
use crate::tensor::{DType, Data, Layout, Tensor};

const GROUP: u32 = 64;

/// The kernel of an element-wise node.
pub fn kernel<'a>(ctx: &Context<'a>) -> Result<Kernel<'a>> {
    let out = ctx.output(0)?;
    let walk = if out.layout == Layout::C4 { Walk::C4 } else { Walk::Flat4 };
    let mut head = Head::new(ctx);
    head.define("GROUP", GROUP);
    let count = out.count()?.div_ceil(4);
    let file = match walk {
        Walk::C4 => {
            c4_param(&mut head.params, "shape", &out)?;
            include_str!("elementwise_c4.wgsl")
        }
        _ => include_str!("elementwise.wgsl"),
    };
    head.params.u32("count", count);
    let number = compute(ctx, &mut head, walk)?;
    head.epilogue(walk, number)?;
    let slot = head.output(0, true)?;
    head.storer("store", slot, true)?;
    let groups = if count == 0 { [0; 3] } else { linear_groups(count, GROUP, ctx.limits)? };
    let layout = if walk == Walk::C4 { "c4" } else { "flat" };
    let label = format!("elementwise/{layout} {}", ctx.op.definition().name());
    Ok(Kernel::one(head.finish(label, file, groups)?).in_place(access::same_places(ctx, 0, walk)))
}

/// `fn compute(walk…)`: the operator's value at a place. Gives the number type of the result.
fn compute(ctx: &Context<'_>, head: &mut Head<'_, '_>, walk: Walk) -> Result<Number> {
    let wide = walk.wide();
    let args = walk.arguments();
    // Operands by name, so that an expression may use each more than once.
    let operand = |head: &mut Head<'_, '_>, name: &str, i: usize, lines: &mut String| -> Result<Number> {
        let number = head.operand(&format!("load_{name}"), i, walk)?;
        lines.push_str(&format!("    let {name} = load_{name}({args});\n"));
        Ok(number)
    };
    let mut lines = String::new();
    let (value, number) = match *ctx.op {
        Op::Unary(op) => {
            let number = operand(head, "x", 0, &mut lines)?;
            (head.steps(wide).unary(op, "x", number, wide)?, number)
        }
        Op::Binary(op) => {
            let number = operand(head, "x", 0, &mut lines)?;
            same(number, operand(head, "y", 1, &mut lines)?)?;
            head.steps(wide).binary(op, "x", "y", number, wide)?
        }
        Op::Clip(_) => {
            let number = operand(head, "x", 0, &mut lines)?;
            let mut value = "x".to_owned();
            if ctx.own(1).is_some() {
                same(number, operand(head, "lo", 1, &mut lines)?)?;
                value = format!("max({value}, lo)");
            }
            if ctx.own(2).is_some() {
                same(number, operand(head, "hi", 2, &mut lines)?)?;
                value = format!("min({value}, hi)");
            }
            (value, number)
        }
        Op::Where(_) => {
            operand(head, "condition", 0, &mut lines)?;
            let number = operand(head, "x", 1, &mut lines)?;
            same(number, operand(head, "y", 2, &mut lines)?)?;
            let zero = Number::Bool.wgsl(wide);
            (format!("select(y, x, condition != {zero}(0))"), number)
        }
        Op::Cast(Cast { to }) => {
            let number = operand(head, "x", 0, &mut lines)?;
            (cast("x", number, to, wide), Number::of(to))
        }
        Op::BatchNorm(BatchNorm { epsilon }) => {
            let number = operand(head, "x", 0, &mut lines)?;
            let [scale, shift] = folded(ctx, epsilon)?;
            let number = same(number, Number::Float)?;
            for (name, values) in [("scale", scale), ("shift", shift)] {
                per_channel(ctx, head, name, values, walk)?;
            }
            (format!("x * scale({args}) + shift({args})"), number)
        }
        _ => {
            let number = operand(head, "x", 0, &mut lines)?;
            ("x".to_owned(), number)
        }
    };
    let ty = number.wgsl(wide);
    head.declare(&format!("fn compute({}) -> {ty} {{\n{lines}    return {value};\n}}", walk.parameters()));
    Ok(number)
}

fn same(a: Number, b: Number) -> Result<Number> {
    if a.wgsl(false) == b.wgsl(false) {
        return Ok(a);
    }
    let message = format!("operands of {} and {}", a.wgsl(false), b.wgsl(false));
    Err(Error::new(ErrorKind::DtypeMismatch, message))
}

/// WGSL conversions truncate towards zero and saturate, as casts of ONNX do where they are defined. Eight-bit types wrap.
fn cast(x: &str, from: Number, to: DType, wide: bool) -> String {
    let (f, t) = (from.wgsl(wide), Number::of(to).wgsl(wide));
    let i = Number::Int.wgsl(wide);
    let shift = if wide { "vec4u(24)" } else { "24u" };
    match (from, to) {
        (_, DType::Bool) => format!("select({t}(0), {t}(1), {x} != {f}(0))"),
        (Number::Float, DType::U8) => format!("{t}({i}({x})) & {t}(255)"),
        (_, DType::U8) => format!("{t}({x}) & {t}(255)"),
        (_, DType::I8) => format!("({i}({x}) << {shift}) >> {shift}"),
        (Number::Float, DType::F16) => {
            // A NaN stays one; its bits tell, since `x != x` is the compiler's affair.
            let u = Number::Uint.wgsl(wide);
            let is_nan = format!("(bitcast<{u}>({x}) & {u}(0x7fffffffu)) > {u}(0x7f800000u)");
            let (low, high) = (float(-65504.0), float(65504.0));
            format!("select(clamp({x}, {t}({low}), {t}({high})), {x}, {is_nan})")
        }
        _ if f == t => x.to_owned(),
        _ => format!("{t}({x})"),
    }
}

/// Batch normalisation as a factor and a summand per channel.
fn folded(ctx: &Context<'_>, epsilon: f32) -> Result<[Vec<f32>; 2]> {
    let read = |i: usize| -> Result<Vec<f32>> {
        let tensor =
            ctx.constant(i)?.ok_or_else(|| Error::new(ErrorKind::InvalidModel, format!("input {i} is missing")))?;
        Ok(tensor.to_f32())
    };
    let (scale, bias, mean, variance) = (read(1)?, read(2)?, read(3)?, read(4)?);
    let factor: Vec<f32> = scale.iter().zip(&variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let shift = bias.iter().zip(&mean).zip(&factor).map(|((b, m), f)| b - m * f).collect();
    Ok([factor, shift])
}

/// `fn name(walk…)`: a value per channel, the channel being dimension 1 of the output.
fn per_channel(ctx: &Context<'_>, head: &mut Head<'_, '_>, name: &str, values: Vec<f32>, walk: Walk) -> Result<()> {
    let out = ctx.output(0)?;
    let channels = out.shape().get(1).copied().unwrap_or(1);
    if values.len() != channels {
        let message = format!("{} values for {channels} channels", values.len());
        return Err(Error::new(ErrorKind::ShapeMismatch, message));
    }
    let bytes = (values.len() * 4).next_multiple_of(16).max(16);
    let packed = super::Packed::new(bytes, move || {
        let mut out: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        out.resize(bytes, 0);
        Ok(out)
    });
    let slot = head.weights(packed, DType::F32, walk == Walk::C4);
    let value = if walk == Walk::C4 {
        head.load(slot, "c", true)
    } else {
        let inner: usize = out.shape().iter().skip(2).product();
        head.params.u32(&format!("{name}_inner"), super::to_u32(inner)?);
        head.params.u32(&format!("{name}_channels"), super::to_u32(channels)?);
        let lane = |k: u32| {
            head.load(slot, &format!("((4u * i + {k}u) / params.{name}_inner) % params.{name}_channels"), false)
        };
        format!("vec4f({}, {}, {}, {})", lane(0), lane(1), lane(2), lane(3))
    };
    head.declare(&format!("fn {name}({}) -> vec4f {{\n    return {value};\n}}", walk.parameters()));
    Ok(())
}

/// Every specialisation.
pub fn variants() -> Vec<Sample> {
    use Layout::{C4, RowMajor};
    let shape: &[usize] = &[1, 6, 2, 3];
    let mut out = Vec::new();
    let unary = [
        Unary::Abs,
        Unary::Acos,
        Unary::Acosh,
        Unary::Asin,
        Unary::Asinh,
        Unary::Atan,
        Unary::Atanh,
        Unary::Ceil,
        Unary::Clip { lo: 0.0, hi: 6.0 },
        Unary::Clip { lo: f32::MIN, hi: 6.0 },
        Unary::Clip { lo: -1.0, hi: f32::INFINITY },
        Unary::Cos,
        Unary::Cosh,
        Unary::Elu { alpha: 1.0 },
        Unary::Erf,
        Unary::Exp,
        Unary::Floor,
        Unary::Gelu { tanh: false },
        Unary::Gelu { tanh: true },
        Unary::HardSigmoid { alpha: 0.2, beta: 0.5 },
        Unary::HardSwish,
        Unary::LeakyRelu { alpha: 0.01 },
        Unary::Log,
        Unary::Mish,
        Unary::Neg,
        Unary::Reciprocal,
        Unary::Relu,
        Unary::Round,
        Unary::Sigmoid,
        Unary::Sign,
        Unary::Silu,
        Unary::Sin,
        Unary::Sinh,
        Unary::Softplus,
        Unary::Softsign,
        Unary::Sqrt,
        Unary::Tan,
        Unary::Tanh,
    ];
    for layout in [RowMajor, C4] {
        for dtype in [DType::F32, DType::F16] {
            for op in unary {
                let node = Sample::new(Op::Unary(op)).input(dtype, shape, layout).output(dtype, shape, layout);
                out.push(node);
            }
        }
        let steps = unary.map(Step::Unary).to_vec();
        out.push(
            Sample::new(Op::Identity(Identity))
                .input(DType::F32, shape, layout)
                .output(DType::F32, shape, layout)
                .epilogue(steps, &[]),
        );
    }
    out.push(Sample::new(Op::Unary(Unary::Not)).input(DType::Bool, &[5], RowMajor).output(DType::Bool, &[5], RowMajor));
    out.extend(binary_variants());
    for (from, to) in [
        (DType::F32, DType::I64),
        (DType::I64, DType::F32),
        (DType::F32, DType::Bool),
        (DType::F32, DType::U8),
        (DType::I32, DType::I8),
        (DType::F32, DType::F16),
        (DType::Bool, DType::F32),
    ] {
        out.push(Sample::new(Op::Cast(Cast { to })).input(from, shape, RowMajor).output(to, shape, RowMajor));
    }
    for layout in [RowMajor, C4] {
        let x = |op| Sample::new(op).input(DType::F32, shape, layout);
        out.push(x(Op::Clip(Clip)).zeros(&[]).zeros(&[]).output(DType::F32, shape, layout));
        let norm = x(Op::BatchNorm(BatchNorm { epsilon: 1e-5 }));
        out.push(norm.zeros(&[6]).zeros(&[6]).zeros(&[6]).zeros(&[6]).output(DType::F32, shape, layout));
        let node = Sample::new(Op::Where(Where)).input(DType::Bool, shape, layout).input(DType::F32, shape, layout);
        out.push(node.input(DType::F32, shape, layout).output(DType::F32, shape, layout));
    }
    out
}

fn binary_variants() -> Vec<Sample> {
    use Layout::{C4, RowMajor};
    let shape: &[usize] = &[2, 6, 2, 3];
    let mut out = Vec::new();
    let arithmetic = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Max,
        Binary::Min,
        Binary::Mod { fmod: true },
        Binary::Pow,
        Binary::PRelu,
    ];
    let compare = [Binary::Equal, Binary::Greater, Binary::GreaterOrEqual, Binary::Less, Binary::LessOrEqual];
    for dtype in [DType::F32, DType::I32] {
        for op in arithmetic.into_iter().chain([Binary::Mod { fmod: false }]).chain(compare) {
            if dtype == DType::F32 && op == (Binary::Mod { fmod: false }) {
                continue;
            }
            let to = if compare.contains(&op) { DType::Bool } else { dtype };
            let node = Sample::new(Op::Binary(op)).input(dtype, shape, RowMajor).input(dtype, shape, RowMajor);
            out.push(node.output(to, shape, RowMajor));
        }
    }
    for op in [Binary::And, Binary::Or, Binary::Xor] {
        let node = Sample::new(Op::Binary(op)).input(DType::Bool, &[5], RowMajor).input(DType::Bool, &[5], RowMajor);
        out.push(node.output(DType::Bool, &[5], RowMajor));
    }
    // One way of reading an operand each: full, one element, suffix, strided with and without splat; in place; x op x.
    for operand in [&[2, 6, 2, 3][..], &[1], &[2, 3], &[6, 1, 1], &[2, 1, 2, 1]] {
        let node = Sample::new(Op::Binary(Binary::Add)).input(DType::F32, shape, RowMajor);
        out.push(node.input(DType::F32, operand, RowMajor).output(DType::F32, shape, RowMajor).in_place(0));
    }
    let wide: &[usize] = &[2, 6, 2, 4];
    for operand in [&[4][..], &[6, 1, 1]] {
        let node = Sample::new(Op::Binary(Binary::Mul)).input(DType::F32, wide, RowMajor);
        out.push(node.input(DType::F32, operand, RowMajor).output(DType::F32, wide, RowMajor));
    }
    for operand in [&[2, 6, 2, 3][..], &[1, 1, 1, 1], &[1, 6, 1, 1], &[2, 6, 1, 1], &[2, 1, 2, 3], &[1, 6, 1, 3]] {
        let node = || Sample::new(Op::Binary(Binary::Add)).input(DType::F32, shape, C4);
        out.push(node().input(DType::F32, operand, C4).output(DType::F32, shape, C4).in_place(0));
        out.push(node().zeros(operand).output(DType::F32, shape, C4));
        out.push(node().input(DType::F32, operand, RowMajor).output(DType::F32, shape, C4));
    }
    let twice = Sample::new(Op::Binary(Binary::Mul)).input(DType::F32, shape, C4).input(DType::F32, shape, C4);
    out.push(twice.output(DType::F32, shape, C4).same(0, 1).in_place(0));
    for (op, swapped) in arithmetic.into_iter().flat_map(|op| [(op, false), (op, true)]) {
        let steps = vec![
            Step::Scalar { op, value: 1.5, swapped },
            Step::Tensor { op, input: 1, swapped },
            Step::Tensor { op, input: 2, swapped },
        ];
        for layout in [RowMajor, C4] {
            let node = Sample::new(Op::Identity(Identity)).input(DType::F32, shape, layout);
            let node = node.output(DType::F32, shape, layout);
            out.push(node.epilogue(steps.clone(), &[(&[1, 6, 1, 1], layout), (shape, layout)]));
        }
    }
    let scalar = Tensor::new([], Data::I32(vec![3])).ok();
    out.extend(scalar.map(|t| {
        let node = Sample::new(Op::Binary(Binary::Add)).input(DType::I32, &[7], RowMajor).constant(t);
        node.output(DType::I32, &[7], RowMajor)
    }));
    out
}
