//! Intermediate nodes, one call each: what operators that are spelled out in simpler ones are written in.

use crate::error::Result;
use crate::graph::ValueId;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{
    Binary, Cast, Concat, Gather, MatMul, Op, Reduce, ReduceKind, Reshape, Slice, Transpose, Unary, Where,
};
use crate::tensor::{DType, Data, Shape, Tensor};

/// Most elements of a constant that spelling out an operator may make.
const CONSTANT_LIMIT: usize = 1 << 24;

/// The number of elements; saturates.
pub(super) fn count(dims: &[i64]) -> i64 {
    dims.iter().fold(1, |n, &d| n.saturating_mul(d))
}

impl Scope<'_, '_> {
    /// The dimensions of a value.
    pub(super) fn dims(&self, x: ValueId) -> Result<Vec<i64>> {
        Ok(self.ty(x)?.shape.iter().map(|&d| d as i64).collect())
    }

    pub(super) fn dtype(&self, x: ValueId) -> Result<DType> {
        Ok(self.ty(x)?.dtype)
    }

    /// A dimension's number; negative counts from the end.
    pub(super) fn dimension(&self, axis: i64, rank: usize) -> Result<usize> {
        let at = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        let at = usize::try_from(at).ok().filter(|a| *a < rank);
        at.ok_or_else(|| unsupported(format!("axis {axis} of a tensor of rank {rank}")))
    }

    /// `f(x)`.
    pub(super) fn map(&mut self, f: Unary, x: ValueId) -> Result<ValueId> {
        self.step(Op::Unary(f), vec![Some(x)])
    }

    /// `a f b`, broadcast.
    pub(super) fn join(&mut self, f: Binary, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.step(Op::Binary(f), vec![Some(a), Some(b)])
    }

    /// `a f value`.
    pub(super) fn with_scalar(&mut self, f: Binary, a: ValueId, value: f32) -> Result<ValueId> {
        let dtype = self.dtype(a)?;
        let b = self.scalar_input("scalar", dtype, value)?;
        self.join(f, a, b)
    }

    /// `condition ? x : y`, broadcast.
    pub(super) fn choose(&mut self, condition: ValueId, x: ValueId, y: ValueId) -> Result<ValueId> {
        self.step(Op::Where(Where), vec![Some(condition), Some(x), Some(y)])
    }

    /// The same numbers in another type; nothing where they have it.
    pub(super) fn convert(&mut self, x: ValueId, to: DType) -> Result<ValueId> {
        if self.dtype(x)? == to {
            return Ok(x);
        }
        self.step(Op::Cast(Cast { to }), vec![Some(x)])
    }

    pub(super) fn reshaped(&mut self, x: ValueId, dims: Vec<i64>) -> Result<ValueId> {
        let dims = self.ints_input("shape", dims)?;
        self.step(Op::Reshape(Reshape { allow_zero: true }), vec![Some(x), Some(dims)])
    }

    pub(super) fn transposed(&mut self, x: ValueId, perm: Vec<usize>) -> Result<ValueId> {
        self.step(Op::Transpose(Transpose { perm }), vec![Some(x)])
    }

    /// Reduces `axes`, which stay with size 1.
    pub(super) fn reduced(&mut self, kind: ReduceKind, x: ValueId, axes: Vec<i64>) -> Result<ValueId> {
        let axes = self.ints_input("axes", axes)?;
        let op = Reduce { kind, keep_dims: true, noop_with_empty_axes: true };
        self.step(Op::Reduce(op), vec![Some(x), Some(axes)])
    }

    pub(super) fn product(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.step(Op::MatMul(MatMul), vec![Some(a), Some(b)])
    }

    pub(super) fn concatenated(&mut self, axis: i64, parts: &[ValueId]) -> Result<ValueId> {
        self.step(Op::Concat(Concat { axis }), parts.iter().map(|&p| Some(p)).collect())
    }

    pub(super) fn rows(&mut self, axis: i64, x: ValueId, indices: ValueId) -> Result<ValueId> {
        self.step(Op::Gather(Gather { axis }), vec![Some(x), Some(indices)])
    }

    /// Elements `start..end` of dimension `axis`.
    pub(super) fn cut(&mut self, x: ValueId, axis: i64, start: i64, end: i64) -> Result<ValueId> {
        let (start, end) = (self.ints_input("start", vec![start])?, self.ints_input("end", vec![end])?);
        let axis = self.ints_input("axis", vec![axis])?;
        self.step(Op::Slice(Slice), vec![Some(x), Some(start), Some(end), Some(axis), None])
    }

    /// A constant whose element at each index is `f(index)`, in the given type.
    pub(super) fn table(&mut self, dtype: DType, dims: &[i64], f: impl Fn(&[i64]) -> f64) -> Result<ValueId> {
        let shape = dims.iter().map(|&d| usize::try_from(d).map_err(|_| unsupported("a negative size")));
        let shape = Shape(shape.collect::<Result<_>>()?);
        let n = shape.checked_elements()?;
        if n > CONSTANT_LIMIT {
            return Err(unsupported(format!("it needs a table of shape {shape}")));
        }
        let mut index = vec![0i64; dims.len()];
        let mut elements = Vec::with_capacity(n);
        for _ in 0..n {
            elements.push(f(&index));
            for (i, &d) in index.iter_mut().zip(dims).rev() {
                *i += 1;
                if *i < d {
                    break;
                }
                *i = 0;
            }
        }
        Ok(self.constant_input("table", Tensor::new(shape, Data::from_f64(dtype, elements))?))
    }

    /// Whole numbers of input `i`, which must be a constant; none where it was left out.
    pub(super) fn constant_ints(&self, i: usize, what: &str) -> Result<Option<Vec<i64>>> {
        let Some(id) = self.optional(i) else { return Ok(None) };
        let tensor = self.constant(id).ok_or_else(|| unsupported(format!("{what} is not a constant")))?;
        Ok(Some(tensor.to_ints()?))
    }
}
