//! Operators that give the same elements another shape.

use super::args::{
    at_most, check_rank, distinct_axes, infer_one, ints, invalid, optional_ints, output, required, shape_error, size,
};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Shape, Tensor, TensorType};

/// To a matrix: the dimensions before `axis`, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Flatten {
    pub axis: i64,
}

/// Inputs: x, shape (int64; 0 copies unless `allow_zero`, -1 is inferred).
/// <https://onnx.ai/onnx/operators/onnx__Reshape.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Reshape {
    pub allow_zero: bool,
}

/// Inputs: x, optional axes (int64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Squeeze;

/// Inputs: x, axes (int64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unsqueeze;

/// The input's elements in the inferred shape.
fn reshaped(op: &dyn Operator, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
    let ty = infer_one(op, inputs)?;
    Ok(vec![required(inputs, 0, "input")?.clone().reshaped(ty.shape)?])
}

impl Operator for Flatten {
    fn name(&self) -> &'static str {
        "Flatten"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        let rank = x.shape.len();
        // One past the last dimension is a valid axis here.
        let at = if self.axis < 0 { self.axis.checked_add(rank as i64) } else { Some(self.axis) };
        let at = at.and_then(|a| usize::try_from(a).ok()).filter(|a| *a <= rank);
        let at = at.ok_or_else(|| shape_error(format!("axis {} is out of range for rank {rank}", self.axis)))?;
        let part = |dims: &[usize]| Shape::from(dims).checked_elements();
        Ok(vec![output(x.dtype, vec![part(&x.shape[..at])?, part(&x.shape[at..])?])?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        reshaped(self, inputs)
    }
}

impl Reshape {
    /// The wanted dimensions with 0 and -1 resolved.
    fn resolve(&self, from: &Shape, wanted: &[i64]) -> Result<Vec<usize>> {
        let mut dims = Vec::with_capacity(wanted.len());
        let mut inferred = None;
        for (i, &d) in wanted.iter().enumerate() {
            dims.push(match d {
                -1 if inferred.replace(i).is_some() => return Err(invalid("two dimensions are -1")),
                -1 => 1,
                0 if !self.allow_zero => *from
                    .get(i)
                    .ok_or_else(|| shape_error(format!("dimension {i} is copied from {from}, which lacks it")))?,
                d => size(d, "a dimension")?,
            });
        }
        let (have, given) = (from.checked_elements()?, Shape(dims.clone()).checked_elements()?);
        if let Some(i) = inferred {
            if given == 0 || have % given != 0 {
                return Err(shape_error(format!("{from} does not divide into {wanted:?}")));
            }
            dims[i] = have / given;
        } else if have != given {
            return Err(shape_error(format!("{from} has {have} elements, {wanted:?} has {given}")));
        }
        Ok(dims)
    }
}

impl Operator for Reshape {
    fn name(&self) -> &'static str {
        "Reshape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        let wanted = ints(required(inputs, 1, "shape")?, "shape")?;
        Ok(vec![output(x.dtype, self.resolve(&x.shape, &wanted)?)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        reshaped(self, inputs)
    }
}

impl Operator for Squeeze {
    fn name(&self) -> &'static str {
        "Squeeze"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        let drop: Vec<usize> = match optional_ints(inputs, 1, "axes")? {
            Some(list) => distinct_axes(&list, x.shape.len())?,
            None => (0..x.shape.len()).filter(|&i| x.shape[i] == 1).collect(),
        };
        if let Some(&i) = drop.iter().find(|&&i| x.shape[i] != 1) {
            return Err(shape_error(format!("dimension {i} of {} is not 1", x.shape)));
        }
        let kept = x.shape.iter().enumerate().filter(|(i, _)| !drop.contains(i));
        Ok(vec![output(x.dtype, kept.map(|(_, &d)| d).collect())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        reshaped(self, inputs)
    }
}

impl Operator for Unsqueeze {
    fn name(&self) -> &'static str {
        "Unsqueeze"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        let list = ints(required(inputs, 1, "axes")?, "axes")?;
        let rank = x.shape.len() + list.len();
        check_rank(rank)?;
        let added = distinct_axes(&list, rank)?;
        let mut old = x.shape.iter().copied();
        let dims = (0..rank).map(|i| if added.contains(&i) { 1 } else { old.next().unwrap_or(1) }).collect();
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        reshaped(self, inputs)
    }
}
