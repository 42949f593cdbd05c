//! Element-wise operators of three operands.

use super::args::{at_most, dtype_error, infer_one, number, optional, output, required, same_dtype, shape_error};
use super::elements::{from_i64, range, to_i64};
use super::remap::broadcast;
use super::scalar::clamp;
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Tensor, TensorType};

/// Inputs: x, optional lower bound, optional upper bound (scalars).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clip;

/// Inputs: condition (bool), x, y; all broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Where;

impl Operator for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 3)?;
        let x = required(inputs, 0, "input")?.ty;
        number(x, "its input")?;
        for bound in [optional(inputs, 1), optional(inputs, 2)].into_iter().flatten() {
            same_dtype(x, bound.ty)?;
            if bound.ty.shape.elements() != 1 {
                return Err(shape_error(format!("its bound has shape {}, expected a scalar", bound.ty.shape)));
            }
        }
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let data = if ty.dtype.is_float() {
            let bound = |i| optional(inputs, i).and_then(|t| t.data().to_f64().first().copied());
            let (lowest, highest) = range(ty.dtype);
            let (lo, hi) = (bound(1).unwrap_or(lowest), bound(2).unwrap_or(highest));
            Data::from_f64(ty.dtype, x.data().to_f64().into_iter().map(|v| clamp(v, lo, hi)).collect())
        } else {
            let bound = |i| optional(inputs, i).and_then(|t| to_i64(t.data()).first().copied());
            let (lo, hi) = (bound(1).unwrap_or(i64::MIN), bound(2).unwrap_or(i64::MAX));
            from_i64(ty.dtype, to_i64(x.data()).into_iter().map(|v| v.max(lo).min(hi)).collect())
        };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

impl Operator for Where {
    fn name(&self) -> &'static str {
        "Where"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 3)?;
        let condition = required(inputs, 0, "condition")?.ty;
        let (x, y) = (required(inputs, 1, "x")?.ty, required(inputs, 2, "y")?.ty);
        if condition.dtype != DType::Bool {
            return Err(dtype_error(format!("its condition is {}, expected bool", condition.dtype)));
        }
        same_dtype(x, y)?;
        let shape = condition.shape.broadcast(&x.shape).and_then(|s| s.broadcast(&y.shape)).ok_or_else(|| {
            shape_error(format!("shapes {}, {} and {} do not broadcast", condition.shape, x.shape, y.shape))
        })?;
        Ok(vec![output(x.dtype, shape.0)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let condition = to_i64(&*broadcast(required(inputs, 0, "condition")?, &ty.shape)?);
        let x = broadcast(required(inputs, 1, "x")?, &ty.shape)?;
        let y = broadcast(required(inputs, 2, "y")?, &ty.shape)?;
        Ok(vec![Tensor::new(ty.shape, select(&condition, &x, &y)?)?])
    }
}

/// Elements of `x` where the condition is not zero, else of `y`.
fn select(condition: &[i64], x: &Data, y: &Data) -> Result<Data> {
    macro_rules! each {
        ($($variant:ident),*) => {
            match (x, y) {
                $((Data::$variant(x), Data::$variant(y)) => {
                    let pairs = x.iter().zip(y).zip(condition);
                    Ok(Data::$variant(pairs.map(|((x, y), c)| if *c != 0 { *x } else { *y }).collect()))
                })*
                _ => Err(dtype_error("its operands have different element types")),
            }
        };
    }
    each!(F32, F16, I32, U32, I64, U8, I8, Bool)
}
