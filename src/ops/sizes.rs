//! Operators that are done with at compile time: shapes, constants, casts.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Tensor, TensorType};

/// To another element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Cast {
    pub to: DType,
}

/// Input: shape (int64). A tensor filled with one value (one element; its type is the output's).
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct ConstantOfShape {
    pub value: Tensor,
}

/// Passes its input on; with an [epilogue](super::Epilogue), a chain of element-wise steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity;

/// The dimensions `start..end` of the input's shape, as int64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct ShapeOf {
    pub start: i64,
    pub end: Option<i64>,
}

impl Operator for Cast {
    fn name(&self) -> &'static str {
        "Cast"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for ConstantOfShape {
    fn name(&self) -> &'static str {
        "ConstantOfShape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Identity {
    fn name(&self) -> &'static str {
        "Identity"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for ShapeOf {
    fn name(&self) -> &'static str {
        "Shape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
