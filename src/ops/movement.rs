//! Operators that move elements without computing: joins, permutations, repetitions.

use super::args::{at_most, axis, infer_one, ints, invalid, output, required, same_dtype, shape_error, size};
use super::elements::to_i64;
use super::remap::{AxisMap, broadcast, identity, remap, steps};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Shape, Tensor, TensorType};

/// Joins inputs along `axis`, which may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Concat {
    pub axis: i64,
}

/// Inputs: x, shape (int64). Broadcasts both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expand;

/// Inputs: data, indices (int64 or int32; negative counts from the end). Rows of `axis`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Gather {
    pub axis: i64,
}

/// Dimension i of the output is dimension `perm[i]` of the input; empty reverses them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Transpose {
    pub perm: Vec<usize>,
}

impl Operator for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        let first = required(inputs, 0, "input")?.ty;
        let at = axis(self.axis, first.shape.len())?;
        let mut dims = first.shape.to_vec();
        for i in 1..inputs.len() {
            let next = required(inputs, i, "input")?.ty;
            same_dtype(first, next)?;
            let fits = next.shape.len() == dims.len() && (0..dims.len()).all(|d| d == at || next.shape[d] == dims[d]);
            if !fits {
                return Err(shape_error(format!("{} and {} do not join along axis {at}", first.shape, next.shape)));
            }
            dims[at] = dims[at].checked_add(next.shape[at]).ok_or_else(|| shape_error("its output is too large"))?;
        }
        Ok(vec![output(first.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let at = axis(self.axis, ty.shape.len())?;
        let outer: usize = ty.shape[..at].iter().product();
        let mut data = Data::zeros(ty.dtype, 0);
        let parts: Vec<&Data> = inputs.iter().flatten().map(|t| t.data()).collect();
        append_blocks(&mut data, &parts, outer)?;
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

/// For each of `outer` blocks, appends that block of every part.
fn append_blocks(to: &mut Data, parts: &[&Data], outer: usize) -> Result<()> {
    macro_rules! each {
        ($($variant:ident),*) => {
            match to {
                $(Data::$variant(to) => {
                    for i in 0..outer {
                        for part in parts {
                            let Data::$variant(part) = part else {
                                return Err(invalid("its inputs have different element types"));
                            };
                            let block = part.len() / outer;
                            to.extend_from_slice(&part[i * block..][..block]);
                        }
                    }
                })*
            }
        };
    }
    each!(F32, F16, I32, U32, I64, U8, I8, Bool);
    Ok(())
}

impl Operator for Expand {
    fn name(&self) -> &'static str {
        "Expand"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let x = required(inputs, 0, "input")?.ty;
        let dims = ints(required(inputs, 1, "shape")?, "shape")?;
        let wanted = Shape(dims.iter().map(|&d| size(d, "a dimension")).collect::<Result<_>>()?);
        let shape = x.shape.broadcast(&wanted);
        let shape = shape.ok_or_else(|| shape_error(format!("{} does not broadcast with {wanted}", x.shape)))?;
        Ok(vec![output(x.dtype, shape.0)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let data = broadcast(required(inputs, 0, "input")?, &ty.shape)?.into_owned();
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

impl Operator for Gather {
    fn name(&self) -> &'static str {
        "Gather"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let (x, indices) = (required(inputs, 0, "data")?.ty, required(inputs, 1, "indices")?.ty);
        if !matches!(indices.dtype, DType::I64 | DType::I32) {
            return Err(super::args::dtype_error(format!("its indices are {}, expected int64", indices.dtype)));
        }
        let at = axis(self.axis, x.shape.len())?;
        let mut dims = x.shape[..at].to_vec();
        dims.extend_from_slice(&indices.shape);
        dims.extend_from_slice(&x.shape[at + 1..]);
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (x, indices) = (required(inputs, 0, "data")?, required(inputs, 1, "indices")?);
        let at = axis(self.axis, x.shape().len())?;
        let mut maps = identity(x.shape());
        maps[at] = to_i64(indices.data()).into_iter().map(|i| row(i, &maps[at])).collect::<Result<_>>()?;
        Ok(vec![Tensor::new(ty.shape, remap(x.data(), &maps, None)?)?])
    }
}

/// What index `i`, which may be negative, adds to the offset.
fn row(i: i64, map: &AxisMap) -> Result<Option<usize>> {
    let n = map.len();
    let at = axis(i, n).map_err(|_| shape_error(format!("index {i} is out of range for {n} rows")))?;
    Ok(map[at])
}

impl Transpose {
    /// The permutation, written out for this rank.
    pub fn permutation(&self, rank: usize) -> Result<Vec<usize>> {
        if self.perm.is_empty() {
            return Ok((0..rank).rev().collect());
        }
        if self.perm.len() != rank || !(0..rank).all(|axis| self.perm.contains(&axis)) {
            return Err(shape_error(format!("perm {:?} is no permutation of {rank} dimensions", self.perm)));
        }
        Ok(self.perm.clone())
    }
}

impl Operator for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        let dims = self.permutation(x.shape.len())?.into_iter().map(|i| x.shape[i]).collect();
        Ok(vec![output(x.dtype, dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let strides = x.shape().row_major_strides();
        let permutation = self.permutation(x.shape().len())?;
        let maps: Vec<_> = permutation.into_iter().map(|i| steps(x.shape()[i], strides[i])).collect();
        Ok(vec![Tensor::new(ty.shape, remap(x.data(), &maps, None)?)?])
    }
}
