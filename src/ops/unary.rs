//! Element-wise operators of one operand.

use super::args::{at_most, dtype_error, float, infer_one, number, output, required};
use super::elements::{from_i64, to_i64};
use super::scalar::{self, clamp};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Tensor, TensorType};

/// One operand. Parameters are the attributes of the ONNX operator of the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum Unary {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    /// min(max(x, lo), hi).
    Clip {
        lo: f32,
        hi: f32,
    },
    Cos,
    Cosh,
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
    Sinh,
    Softplus,
    Softsign,
    Sqrt,
    Tan,
    Tanh,
}

impl Unary {
    /// The function on real numbers: the source of truth for the reference.
    pub fn apply(&self, x: f64) -> f64 {
        match *self {
            Self::Abs => x.abs(),
            Self::Acos => x.acos(),
            Self::Acosh => x.acosh(),
            Self::Asin => x.asin(),
            Self::Asinh => x.asinh(),
            Self::Atan => x.atan(),
            Self::Atanh => x.atanh(),
            Self::Ceil => x.ceil(),
            Self::Clip { lo, hi } => clamp(x, f64::from(lo), f64::from(hi)),
            Self::Cos => x.cos(),
            Self::Cosh => x.cosh(),
            Self::Elu { alpha } => {
                if x < 0.0 {
                    f64::from(alpha) * x.exp_m1()
                } else {
                    x
                }
            }
            Self::Erf => scalar::erf(x),
            Self::Exp => x.exp(),
            Self::Floor => x.floor(),
            Self::Gelu { tanh: false } => 0.5 * x * (1.0 + scalar::erf(x * std::f64::consts::FRAC_1_SQRT_2)),
            Self::Gelu { tanh: true } => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
                0.5 * x * (1.0 + inner.tanh())
            }
            Self::HardSigmoid { alpha, beta } => clamp(f64::from(alpha) * x + f64::from(beta), 0.0, 1.0),
            Self::HardSwish => x * clamp(x / 6.0 + 0.5, 0.0, 1.0),
            Self::LeakyRelu { alpha } => {
                if x < 0.0 {
                    f64::from(alpha) * x
                } else {
                    x
                }
            }
            Self::Log => x.ln(),
            Self::Mish => x * scalar::softplus(x).tanh(),
            Self::Neg => -x,
            Self::Not => f64::from(u8::from(x == 0.0)),
            Self::Reciprocal => 1.0 / x,
            Self::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Self::Round => x.round_ties_even(),
            Self::Sigmoid => scalar::sigmoid(x),
            Self::Sign => {
                if x == 0.0 || x.is_nan() {
                    x
                } else {
                    x.signum()
                }
            }
            Self::Silu => x * scalar::sigmoid(x),
            Self::Sin => x.sin(),
            Self::Sinh => x.sinh(),
            Self::Softplus => scalar::softplus(x),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::Sqrt => x.sqrt(),
            Self::Tan => x.tan(),
            Self::Tanh => x.tanh(),
        }
    }

    /// The function on integers, where there is one. Rounding leaves them alone.
    fn apply_int(&self, x: i64) -> Option<i64> {
        match *self {
            Self::Abs => Some(x.wrapping_abs()),
            Self::Ceil | Self::Floor | Self::Round => Some(x),
            Self::Clip { lo, hi } => Some(x.max(lo as i64).min(hi as i64)),
            Self::Neg => Some(x.wrapping_neg()),
            Self::Relu => Some(x.max(0)),
            Self::Sign => Some(x.signum()),
            _ => None,
        }
    }
}

impl Operator for Unary {
    fn name(&self) -> &'static str {
        match self {
            Self::Abs => "Abs",
            Self::Acos => "Acos",
            Self::Acosh => "Acosh",
            Self::Asin => "Asin",
            Self::Asinh => "Asinh",
            Self::Atan => "Atan",
            Self::Atanh => "Atanh",
            Self::Ceil => "Ceil",
            Self::Clip { .. } => "Clip",
            Self::Cos => "Cos",
            Self::Cosh => "Cosh",
            Self::Elu { .. } => "Elu",
            Self::Erf => "Erf",
            Self::Exp => "Exp",
            Self::Floor => "Floor",
            Self::Gelu { .. } => "Gelu",
            Self::HardSigmoid { .. } => "HardSigmoid",
            Self::HardSwish => "HardSwish",
            Self::LeakyRelu { .. } => "LeakyRelu",
            Self::Log => "Log",
            Self::Mish => "Mish",
            Self::Neg => "Neg",
            Self::Not => "Not",
            Self::Reciprocal => "Reciprocal",
            Self::Relu => "Relu",
            Self::Round => "Round",
            Self::Sigmoid => "Sigmoid",
            Self::Sign => "Sign",
            Self::Silu => "Silu",
            Self::Sin => "Sin",
            Self::Sinh => "Sinh",
            Self::Softplus => "Softplus",
            Self::Softsign => "Softsign",
            Self::Sqrt => "Sqrt",
            Self::Tan => "Tan",
            Self::Tanh => "Tanh",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        match self {
            Self::Not if x.dtype == DType::Bool => {}
            Self::Not => return Err(dtype_error(format!("its input is {}, expected bool", x.dtype))),
            _ if self.apply_int(0).is_some() => number(x, "its input")?,
            _ => float(x, "its input")?,
        }
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?;
        let data = if ty.dtype.is_float() || ty.dtype == DType::Bool {
            Data::from_f64(ty.dtype, x.data().to_f64().into_iter().map(|v| self.apply(v)).collect())
        } else {
            // Inference has let through only what is defined on integers.
            from_i64(ty.dtype, to_i64(x.data()).into_iter().map(|v| self.apply_int(v).unwrap_or(v)).collect())
        };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}
