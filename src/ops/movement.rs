//! Operators that move elements without computing: views, joins, cuts.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// Joins inputs along `axis`, which may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Concat {
    pub axis: i64,
}

/// Inputs: x, shape (int64). Broadcasts both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expand;

/// To a matrix: dimensions before `axis` become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Flatten {
    pub axis: i64,
}

/// Inputs: data, indices. Rows of `axis`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Gather {
    pub axis: i64,
}

/// What lies outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum PadMode {
    #[default]
    Constant,
    Reflect,
    Edge,
    Wrap,
}

/// Inputs: x, pads (int64, begins then ends, may be negative), optional value (scalar), optional axes (int64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Pad {
    pub mode: PadMode,
}

/// Inputs: x, shape (int64; 0 copies unless `allow_zero`, -1 is inferred).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Reshape {
    pub allow_zero: bool,
}

/// Inputs: x, starts, ends, optional axes, optional steps (int64 or int32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice;

/// Inputs: x, optional sizes (int64). `parts` outputs along `axis`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Split {
    pub axis: i64,
    pub parts: usize,
}

/// Inputs: x, optional axes (int64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Squeeze;

/// Dimension i of the output is dimension `perm[i]` of the input; empty reverses them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Transpose {
    pub perm: Vec<usize>,
}

/// Inputs: x, axes (int64).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unsqueeze;

impl Operator for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Expand {
    fn name(&self) -> &'static str {
        "Expand"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Flatten {
    fn name(&self) -> &'static str {
        "Flatten"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Gather {
    fn name(&self) -> &'static str {
        "Gather"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Pad {
    fn name(&self) -> &'static str {
        "Pad"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Reshape {
    fn name(&self) -> &'static str {
        "Reshape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Slice {
    fn name(&self) -> &'static str {
        "Slice"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Split {
    fn name(&self) -> &'static str {
        "Split"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Squeeze {
    fn name(&self) -> &'static str {
        "Squeeze"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Unsqueeze {
    fn name(&self) -> &'static str {
        "Unsqueeze"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
