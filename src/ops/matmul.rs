//! Matrix products.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

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

impl Operator for Gemm {
    fn name(&self) -> &'static str {
        "Gemm"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
