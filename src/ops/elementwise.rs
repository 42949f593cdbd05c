//! Element-wise operators: each output element from the elements at its place.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// One operand. Parameters are the attributes of the ONNX operator of the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum Unary {
    Abs,
    Ceil,
    /// min(max(x, lo), hi).
    Clip {
        lo: f32,
        hi: f32,
    },
    Cos,
    Elu {
        alpha: f32,
    },
    Erf,
    Exp,
    Floor,
    Gelu {
        tanh: bool,
    },
    /// max(0, min(1, alpha * x + beta)).
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    /// x * max(0, min(1, x / 6 + 1/2)).
    HardSwish,
    LeakyRelu {
        alpha: f32,
    },
    Log,
    Mish,
    Neg,
    Not,
    Reciprocal,
    Relu,
    Round,
    Sigmoid,
    Sign,
    /// x * sigmoid(x).
    Silu,
    Sin,
    Softplus,
    Softsign,
    Sqrt,
    Tanh,
}

/// Two operands, numpy broadcasting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum Binary {
    Add,
    And,
    Div,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Max,
    Min,
    /// `fmod`: the sign of the dividend; else, integers only, the sign of the divisor.
    Mod {
        fmod: bool,
    },
    Mul,
    Or,
    Pow,
    /// x where x >= 0, else slope * x; the second operand is the slope, broadcast to x alone.
    PRelu,
    Sub,
    Xor,
}

/// Inputs: x, optional lower bound, optional upper bound (scalars).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clip;

/// Inputs: condition (bool), x, y; all broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Where;

impl Operator for Unary {
    fn name(&self) -> &'static str {
        "Unary"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        "Binary"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for Where {
    fn name(&self) -> &'static str {
        "Where"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
