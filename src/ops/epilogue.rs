//! Element-wise steps that a kernel applies to each result before it is stored.

use super::args::{infer_one, shape_error};
use super::{Binary, Operator, Unary};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Data, Shape, Tensor};

/// One step, applied to the running value `v`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// `v = f(v)`.
    Unary(Unary),
    /// `v = v op c`, or `c op v` where `swapped`.
    Scalar {
        /// The operator.
        op: Binary,
        /// The constant.
        value: f32,
        /// The constant stands on the left.
        swapped: bool,
    },
    /// `v = v op t`, or `t op v` where `swapped`; `t` broadcasts to the node's output shape and never widens it.
    Tensor {
        /// The operator.
        op: Binary,
        /// Index into the node's inputs, counted over all of them.
        input: usize,
        /// The tensor stands on the left.
        swapped: bool,
    },
}

/// Steps in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Epilogue {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Epilogue {
    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Applies the steps to the result of a node whose inputs, the epilogue's included, are `inputs`.
    pub fn apply(&self, v: Tensor, inputs: &[Option<&Tensor>]) -> Result<Tensor> {
        self.steps.iter().try_fold(v, |v, step| step.apply(v, inputs))
    }
}

impl Step {
    fn apply(&self, v: Tensor, inputs: &[Option<&Tensor>]) -> Result<Tensor> {
        let binary = |op: Binary, other: &Tensor, swapped: bool| {
            let operands = if swapped { [Some(other), Some(&v)] } else { [Some(&v), Some(other)] };
            let ty = infer_one(&op, &operands)?;
            if ty.shape != *v.shape() {
                return Err(shape_error(format!(
                    "{} in an epilogue would widen {} to {}",
                    op.name(),
                    v.shape(),
                    ty.shape
                )));
            }
            one(op.eval(&operands)?)
        };
        match *self {
            Self::Unary(f) => one(f.eval(&[Some(&v)])?),
            Self::Scalar { op, value, swapped } => {
                let scalar = Tensor::new(Shape::default(), Data::from_f64(v.dtype(), vec![f64::from(value)]))?;
                binary(op, &scalar, swapped)
            }
            Self::Tensor { op, input, swapped } => {
                let other = inputs.get(input).copied().flatten().ok_or_else(|| {
                    Error::new(ErrorKind::InvalidModel, format!("its epilogue reads input {input}, which is missing"))
                })?;
                binary(op, other, swapped)
            }
        }
    }
}

/// The only output.
fn one(outputs: Vec<Tensor>) -> Result<Tensor> {
    outputs.into_iter().next().ok_or_else(|| Error::new(ErrorKind::InvalidModel, "an element-wise step has no result"))
}
