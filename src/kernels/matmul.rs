//! Matrix products: MatMul and Gemm, over row-major tensors.

use super::access::{Strided, broadcast_strides, merge};
use super::conv::{group_size, in_place};
use super::conv_geometry::size;
use super::{Context, Head, Kernel, Number, Packed, Sample, Walk, linear_groups, to_u32};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Gemm, MatMul, Op, Step, Unary};
use crate::tensor::{DType, Layout, Shape, Tensor};

/// The text as committed.
pub const FILE: &str = include_str!("matmul.wgsl");

/// Row k of the right matrix from packed weights.
const RIGHT_PACKED: &str = "\
fn right(matrix: u32, k: u32, c: u32) -> vec4f {
    return vector(((c >> 1u) * params.size.y + k) * 2u + (c & 1u));
}";
/// Row k of a right matrix whose rows are whole vectors. The last tile may reach beyond.
const RIGHT_WIDE: &str = "\
fn right(matrix: u32, k: u32, c: u32) -> vec4f {
    let columns = params.size.z / 4u;
    return vector((matrix * params.size.y + k) * columns + min(c, columns - 1u));
}";
/// Row k of any other right matrix.
const RIGHT: &str = "\
fn right(matrix: u32, k: u32, c: u32) -> vec4f {
    let first = matrix * params.size.y * params.size.z + k * params.strides.z;
    let at = min(4u * c + vec4u(0u, 1u, 2u, 3u), vec4u(params.size.z - 1u)) * params.strides.w;
    return vec4f(element(first + at.x), element(first + at.y), element(first + at.z), element(first + at.w));
}";
/// Writes four columns of a row that is whole vectors.
const PUT_WIDE: &str = "\
fn put(row: u32, c: u32, v: vec4f) {
    let i = row * (params.size.z / 4u) + c;
    y(i, epilogue(scaled(v, i), i));
}";
/// Writes four columns of any row.
const PUT: &str = "\
fn put(row: u32, c: u32, v: vec4f) {
    for (var k = 0u; k < 4u && 4u * c + k < params.size.z; k++) {
        let i = row * params.size.z + 4u * c + k;
        y(i, epilogue(scaled(v[k], i), i));
    }
}";

/// What is multiplied.
struct Product {
    rows: usize,
    steps: usize,
    columns: usize,
    /// Strides of the left operand (row, step) and of the right one (step, column).
    strides: [usize; 4],
    /// Leading dimensions of the operands and of the result.
    stacks: [Shape; 3],
}

/// The kernel of a stack of products.
pub fn matmul<'a>(ctx: &Context<'a>, _: &MatMul) -> Result<Kernel<'a>> {
    let (a, b) = (ctx.input(0)?, ctx.input(1)?);
    let (a_stack, rows, steps) = match &a.shape()[..] {
        [stack @ .., m, k] => (stack, *m, *k),
        [k] => (&[][..], 1, *k),
        [] => return Err(Error::new(ErrorKind::ShapeMismatch, "the left operand is a scalar")),
    };
    let (b_stack, columns) = match &b.shape()[..] {
        [stack @ .., _, n] => (stack, *n),
        [_] => (&[][..], 1),
        [] => return Err(Error::new(ErrorKind::ShapeMismatch, "the right operand is a scalar")),
    };
    let (a_stack, b_stack) = (Shape::from(a_stack), Shape::from(b_stack));
    let both = a_stack.broadcast(&b_stack).ok_or_else(|| {
        Error::new(ErrorKind::ShapeMismatch, format!("stacks of {a_stack} and {b_stack} matrices do not broadcast"))
    })?;
    let strides = [steps, 1, columns, 1];
    kernel(ctx, Product { rows, steps, columns, strides, stacks: [a_stack, b_stack, both] }, None)
}

/// The kernel of a scaled product with an addend.
pub fn gemm<'a>(ctx: &Context<'a>, op: &Gemm) -> Result<Kernel<'a>> {
    let (a, b) = (ctx.input(0)?, ctx.input(1)?);
    let (&[a0, a1], &[b0, b1]) = (&a.shape()[..], &b.shape()[..]) else {
        return Err(Error::new(ErrorKind::ShapeMismatch, "operands must have two dimensions"));
    };
    let (rows, steps, a_row, a_step) = if op.trans_a { (a1, a0, 1, a1) } else { (a0, a1, a1, 1) };
    let (columns, b_step, b_column) = if op.trans_b { (b0, 1, b1) } else { (b1, b1, 1) };
    let strides = [a_row, a_step, b_step, b_column];
    let stacks = [Shape::default(), Shape::default(), Shape::default()];
    kernel(ctx, Product { rows, steps, columns, strides, stacks }, Some(op))
}

fn kernel<'a>(ctx: &Context<'a>, p: Product, gemm: Option<&Gemm>) -> Result<Kernel<'a>> {
    let (a, b, out) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
    if [a, b].iter().any(|arg| arg.is_c4()) || out.is_c4() {
        return Err(Error::new(ErrorKind::LayoutMismatch, "matrix products take row-major tensors"));
    }
    if !out.ty.dtype.is_float() {
        return Err(ctx.unsupported(format!("a matrix product of {}", out.ty.dtype)));
    }
    for arg in [a, b, out] {
        arg.count()?;
    }
    let [rows, steps, columns] = [to_u32(p.rows)?, to_u32(p.steps)?, to_u32(p.columns)?];
    let matrices = to_u32(p.stacks[2].checked_elements()?)?;
    let tall = rows > 4;
    let wide = columns.is_multiple_of(4);
    let walk = if wide { Walk::Flat4 } else { Walk::Scalar };
    let group = group_size(ctx.limits);

    let mut head = Head::new(ctx);
    head.params.vec4u("size", [rows, steps, columns, matrices]);
    let [a_row, a_step, b_step, b_column] = p.strides;
    head.params.vec4u("strides", [to_u32(a_row)?, to_u32(a_step)?, to_u32(b_step)?, to_u32(b_column)?]);
    let (alpha, beta) = gemm.map_or((1.0, 1.0), |g| (g.alpha, g.beta));
    head.params.vec4f("scale", [alpha, beta, 0.0, 0.0]);
    head.define("GROUP", group);
    head.declare(&format!("const TALL: bool = {tall};"));
    let left = head.input(0, false)?;
    head.loader("left", left, false);
    match b.constant {
        Some(weights) if p.stacks[1].elements() == 1 => {
            let packed = head.weights(pack(weights, &p)?, DType::F32, true);
            head.loader("vector", packed, true);
            head.declare(RIGHT_PACKED);
        }
        _ if wide && b_column == 1 => {
            let right = head.input(1, true)?;
            head.loader("vector", right, true);
            head.declare(RIGHT_WIDE);
        }
        _ => {
            let right = head.input(1, false)?;
            head.loader("element", right, false);
            head.declare(RIGHT);
        }
    }
    let y = head.output(0, wide)?;
    head.storer("y", y, wide)?;
    head.epilogue(walk, Number::Float)?;
    let ty = Number::Float.wgsl(wide);
    let sum = match gemm {
        None => "v",
        Some(_) if ctx.own(2).is_some() => {
            head.operand("addend", 2, walk)?;
            "params.scale.x * v + params.scale.y * addend(i)"
        }
        Some(_) => "params.scale.x * v",
    };
    head.declare(&format!("fn scaled(v: {ty}, i: u32) -> {ty} {{\n    return {sum};\n}}"));
    for (name, stack) in [("left_matrix", &p.stacks[0]), ("right_matrix", &p.stacks[1])] {
        stack_function(&mut head, name, stack, &p.stacks[2])?;
    }
    head.declare(if wide { PUT_WIDE } else { PUT });
    let tile = if tall { 8 } else { 4 };
    let threads = size(&[p.rows.div_ceil(tile), p.columns.div_ceil(8), matrices as usize])?;
    let groups = if threads == 0 { [0; 3] } else { linear_groups(to_u32(threads)?, group, ctx.limits)? };
    Ok(Kernel::one(head.finish("matmul", FILE, groups)?).in_place(in_place(ctx, walk)))
}

/// `fn name(i: u32) -> u32`: the matrix of an operand's stack that matrix i of the result reads.
fn stack_function(head: &mut Head<'_, '_>, name: &str, stack: &Shape, result: &Shape) -> Result<()> {
    let plain = |index: &str| format!("fn {name}(i: u32) -> u32 {{\n    return {index};\n}}");
    let strides = broadcast_strides(stack, result)?;
    if stack.elements() == 1 {
        head.declare(&plain("0u"));
        return Ok(());
    }
    let dims = result.iter().map(|&d| to_u32(d)).collect::<Result<Vec<_>>>()?;
    let strided: Strided = merge(&dims, &strides);
    if strided.strides == [1] {
        head.declare(&plain("i"));
    } else {
        head.index_function(name, &strided, 0)?;
    }
    Ok(())
}

/// The right matrix as [column tiles][steps][2] vectors of four columns; what is no column is zero.
fn pack<'a>(weights: &'a Tensor, p: &Product) -> Result<Packed<'a>> {
    let (steps, columns) = (p.steps, p.columns);
    let [_, _, b_step, b_column] = p.strides;
    let total = size(&[columns.div_ceil(8), steps, 32])?.max(16);
    Ok(Packed::new(total, move || {
        let source = weights.to_f32();
        let mut out = vec![0f32; total / 4];
        for (row, to) in out.chunks_exact_mut(8).enumerate() {
            let (tile, k) = (row / steps.max(1), row % steps.max(1));
            for (lane, to) in to.iter_mut().enumerate().take(columns.saturating_sub(8 * tile)) {
                *to = source.get(k * b_step + (8 * tile + lane) * b_column).copied().unwrap_or_default();
            }
        }
        Ok(bytemuck::cast_slice(&out).to_vec())
    }))
}

/// Nodes that together need every specialisation.
pub fn variants() -> Vec<Sample> {
    let rows = Layout::RowMajor;
    let stack = |columns: usize, dtype| {
        Sample::new(Op::MatMul(MatMul)).input(dtype, &[2, 1, 9, 5], rows).input(dtype, &[3, 5, columns], rows).output(
            dtype,
            &[2, 3, 9, columns],
            rows,
        )
    };
    let plain = |m: usize, n: usize| {
        Sample::new(Op::MatMul(MatMul)).input(DType::F32, &[m, 5], rows).zeros(&[5, n]).output(
            DType::F32,
            &[m, n],
            rows,
        )
    };
    let gemm = Op::Gemm(Gemm { alpha: 0.5, beta: 2.0, trans_a: true, trans_b: true });
    let gemm = Sample::new(gemm).input(DType::F32, &[5, 3], rows).input(DType::F32, &[6, 5], rows);
    vec![
        stack(8, DType::F32),
        stack(6, DType::F16),
        plain(1, 2),
        plain(9, 8).epilogue(vec![Step::Unary(Unary::Relu)], &[]),
        gemm.zeros(&[6]).output(DType::F32, &[3, 6], rows),
    ]
}
