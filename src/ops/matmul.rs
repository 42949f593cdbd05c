//! Matrix products.

use super::args::{
    at_most, dtype_error, float, infer_one, number, optional, output, required, same_dtype, shape_error,
};
use super::elements::{filled, from_i64, reserve, to_i64};
use super::remap::{broadcast, broadcast_maps};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Shape, Tensor, TensorType};

/// alpha * A' * B' + beta * C. <https://onnx.ai/onnx/operators/onnx__Gemm.html>
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of C.
    pub beta: f32,
    /// A is [K, M] rather than [M, K].
    pub trans_a: bool,
    /// B is [N, K] rather than [K, N].
    pub trans_b: bool,
}

/// numpy.matmul. <https://onnx.ai/onnx/operators/onnx__MatMul.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatMul;

/// [M, K] times [K, N], where a step of K lies `*_k` elements apart and a row or column of the result `a_m` or `b_n`.
#[derive(Debug, Clone, Copy)]
struct Product {
    m: usize,
    n: usize,
    k: usize,
    a_m: usize,
    a_k: usize,
    b_k: usize,
    b_n: usize,
}

impl Product {
    /// Appends the result, row by row; a row is summed as a whole so that the inner loop runs along B's rows.
    fn append<T: Copy + Default>(&self, a: &[T], b: &[T], add: fn(T, T, T) -> T, out: &mut Vec<T>) -> Result<()> {
        let mut row = filled(self.n, T::default())?;
        for i in 0..self.m {
            row.fill(T::default());
            for p in 0..self.k {
                let left = a[i * self.a_m + p * self.a_k];
                let right = b.get(p * self.b_k..).unwrap_or(&[]).iter().step_by(self.b_n);
                row.iter_mut().zip(right).for_each(|(sum, &right)| *sum = add(*sum, left, right));
            }
            out.extend_from_slice(&row);
        }
        Ok(())
    }
}

impl Gemm {
    fn product(&self, a: &[usize], b: &[usize]) -> Result<Product> {
        let (&[a0, a1], &[b0, b1]) = (a, b) else {
            return Err(shape_error(format!("operands have {} and {} dimensions, expected 2", a.len(), b.len())));
        };
        let (m, k, a_m, a_k) = if self.trans_a { (a1, a0, 1, a1) } else { (a0, a1, a1, 1) };
        let (b_rows, n, b_k, b_n) = if self.trans_b { (b1, b0, 1, b1) } else { (b0, b1, b1, 1) };
        if k != b_rows {
            return Err(shape_error(format!("inner dimensions differ: {k} and {b_rows}")));
        }
        Ok(Product { m, n, k, a_m, a_k, b_k, b_n: b_n.max(1) })
    }
}

impl Operator for Gemm {
    fn name(&self) -> &'static str {
        "Gemm"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 3)?;
        let (a, b) = (required(inputs, 0, "A")?.ty, required(inputs, 1, "B")?.ty);
        float(a, "A")?;
        same_dtype(a, b)?;
        let product = self.product(&a.shape, &b.shape)?;
        let shape = Shape::from([product.m, product.n]);
        if let Some(c) = optional(inputs, 2) {
            same_dtype(a, c.ty)?;
            if shape.broadcast(&c.ty.shape).as_ref() != Some(&shape) {
                return Err(shape_error(format!("C has shape {}, which does not broadcast to {shape}", c.ty.shape)));
            }
        }
        Ok(vec![output(a.dtype, shape.0)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (a, b) = (required(inputs, 0, "A")?, required(inputs, 1, "B")?);
        let product = self.product(a.shape(), b.shape())?;
        let mut y = reserve(ty.shape.checked_elements()?)?;
        product.append(&a.data().to_f64(), &b.data().to_f64(), |s, a, b| s + a * b, &mut y)?;
        y.iter_mut().for_each(|v| *v *= f64::from(self.alpha));
        if let Some(c) = optional(inputs, 2) {
            let c = broadcast(c, &ty.shape)?.to_f64();
            y.iter_mut().zip(c).for_each(|(v, c)| *v += f64::from(self.beta) * c);
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, y))?])
    }
}

/// Operands as stacks of matrices: a vector on the left is a row, on the right a column, and is squeezed afterwards.
struct Stacks {
    /// Leading dimensions of A, of B, and of both broadcast.
    a: Shape,
    b: Shape,
    both: Shape,
    product: Product,
    result: Vec<usize>,
}

impl Stacks {
    fn new(a: &[usize], b: &[usize]) -> Result<Self> {
        let (a_lead, m, k) = match a {
            [lead @ .., m, k] => (lead, Some(*m), *k),
            [k] => (&[][..], None, *k),
            [] => return Err(shape_error("A is a scalar")),
        };
        let (b_lead, b_rows, n) = match b {
            [lead @ .., k, n] => (lead, *k, Some(*n)),
            [k] => (&[][..], *k, None),
            [] => return Err(shape_error("B is a scalar")),
        };
        let (a_lead, b_lead) = (Shape::from(a_lead), Shape::from(b_lead));
        let both = a_lead.broadcast(&b_lead);
        let both = both.ok_or_else(|| shape_error(format!("batches {a_lead} and {b_lead} do not broadcast")))?;
        if k != b_rows {
            return Err(shape_error(format!("inner dimensions differ: {k} and {b_rows}")));
        }
        let mut result = both.to_vec();
        result.extend(m);
        result.extend(n);
        let (m, n) = (m.unwrap_or(1), n.unwrap_or(1));
        Ok(Self { a: a_lead, b: b_lead, both, product: Product { m, n, k, a_m: k, a_k: 1, b_k: n, b_n: 1 }, result })
    }

    /// Number of the matrix of a stack with leading dimensions `from` that each matrix of the result reads.
    fn matrices(&self, from: &Shape) -> Result<Vec<i64>> {
        let count = i64::try_from(from.checked_elements()?).map_err(|_| shape_error("too many matrices"))?;
        let numbers = Data::I64((0..count).collect());
        Ok(to_i64(&super::remap::remap(&numbers, &broadcast_maps(from, &self.both)?, None)?))
    }

    fn multiply<T: Copy + Default>(&self, a: &[T], b: &[T], add: fn(T, T, T) -> T) -> Result<Vec<T>> {
        let p = self.product;
        let mut y = reserve(Shape(self.result.clone()).checked_elements()?)?;
        for (i, j) in self.matrices(&self.a)?.into_iter().zip(self.matrices(&self.b)?) {
            let a = &a[i as usize * p.m * p.k..][..p.m * p.k];
            let b = &b[j as usize * p.k * p.n..][..p.k * p.n];
            p.append(a, b, add, &mut y)?;
        }
        Ok(y)
    }
}

impl Operator for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let (a, b) = (required(inputs, 0, "A")?.ty, required(inputs, 1, "B")?.ty);
        same_dtype(a, b)?;
        number(a, "A")?;
        if matches!(a.dtype, DType::U8 | DType::I8) {
            return Err(dtype_error(format!("{} matrices are for MatMulInteger", a.dtype)));
        }
        Ok(vec![output(a.dtype, Stacks::new(&a.shape, &b.shape)?.result)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (a, b) = (required(inputs, 0, "A")?, required(inputs, 1, "B")?);
        let stacks = Stacks::new(a.shape(), b.shape())?;
        let data = if ty.dtype.is_float() {
            Data::from_f64(ty.dtype, stacks.multiply(&a.data().to_f64(), &b.data().to_f64(), |s, a, b| s + a * b)?)
        } else {
            let add = |s: i64, a: i64, b: i64| s.wrapping_add(a.wrapping_mul(b));
            from_i64(ty.dtype, stacks.multiply(&to_i64(a.data()), &to_i64(b.data()), add)?)
        };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}
