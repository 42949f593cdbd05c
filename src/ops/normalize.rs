//! Normalisations.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// Inputs: x [N, C, …], scale, bias, mean, variance, each [C]. Inference form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchNorm {
    /// Added to the variance.
    pub epsilon: f32,
}

/// <https://onnx.ai/onnx/operators/onnx__Softmax.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    /// May be negative.
    pub axis: i64,
    /// LogSoftmax.
    pub log: bool,
    /// Opset below 13: dimensions from `axis` on are taken together.
    pub flattened: bool,
}

impl Operator for BatchNorm {
    fn name(&self) -> &'static str {
        "BatchNormalization"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "LogSoftmax" } else { "Softmax" }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
