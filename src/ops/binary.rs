//! Element-wise operators of two operands, with numpy broadcasting.

use super::args::{at_most, dtype_error, infer_one, invalid, number, output, required, same_dtype, shape_error};
use super::elements::{from_i64, to_i64};
use super::remap::broadcast;
use super::scalar::{self, max, min};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Tensor, TensorType};

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

/// What a binary operator takes and gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Numbers to their own type.
    Arithmetic,
    /// Numbers to bool.
    Comparison,
    /// Bool to bool.
    Logic,
}

impl Binary {
    fn class(self) -> Class {
        match self {
            Self::Add | Self::Div | Self::Max | Self::Min | Self::Mod { .. } => Class::Arithmetic,
            Self::Mul | Self::Pow | Self::PRelu | Self::Sub => Class::Arithmetic,
            Self::Equal | Self::Greater | Self::GreaterOrEqual | Self::Less | Self::LessOrEqual => Class::Comparison,
            Self::And | Self::Or | Self::Xor => Class::Logic,
        }
    }

    /// The function on real numbers; comparisons give 0 or 1.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| f64::from(u8::from(t));
        match self {
            Self::Add => a + b,
            Self::And => truth(a != 0.0 && b != 0.0),
            Self::Div => a / b,
            Self::Equal => truth(a == b),
            Self::Greater => truth(a > b),
            Self::GreaterOrEqual => truth(a >= b),
            Self::Less => truth(a < b),
            Self::LessOrEqual => truth(a <= b),
            Self::Max => max(a, b),
            Self::Min => min(a, b),
            Self::Mod { .. } => a % b,
            Self::Mul => a * b,
            Self::Or => truth(a != 0.0 || b != 0.0),
            Self::Pow => a.powf(b),
            Self::PRelu => {
                if a < 0.0 {
                    a * b
                } else {
                    a
                }
            }
            Self::Sub => a - b,
            Self::Xor => truth((a != 0.0) != (b != 0.0)),
        }
    }

    /// The function on integers: overflow wraps, division truncates, division by zero gives zero.
    fn apply_int(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::And => i64::from(a != 0 && b != 0),
            Self::Div => a.checked_div(b).unwrap_or(if b == 0 { 0 } else { a }),
            Self::Equal => i64::from(a == b),
            Self::Greater => i64::from(a > b),
            Self::GreaterOrEqual => i64::from(a >= b),
            Self::Less => i64::from(a < b),
            Self::LessOrEqual => i64::from(a <= b),
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Mod { fmod: true } => a.checked_rem(b).unwrap_or(0),
            Self::Mod { fmod: false } => match a.checked_rem(b) {
                Some(r) if r != 0 && (r < 0) != (b < 0) => r.wrapping_add(b),
                r => r.unwrap_or(0),
            },
            Self::Mul => a.wrapping_mul(b),
            Self::Or => i64::from(a != 0 || b != 0),
            Self::Pow => scalar::integer_power(a, b),
            Self::PRelu => {
                if a < 0 {
                    a.wrapping_mul(b)
                } else {
                    a
                }
            }
            Self::Sub => a.wrapping_sub(b),
            Self::Xor => i64::from((a != 0) != (b != 0)),
        }
    }
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::And => "And",
            Self::Div => "Div",
            Self::Equal => "Equal",
            Self::Greater => "Greater",
            Self::GreaterOrEqual => "GreaterOrEqual",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
            Self::Max => "Max",
            Self::Min => "Min",
            Self::Mod { .. } => "Mod",
            Self::Mul => "Mul",
            Self::Or => "Or",
            Self::Pow => "Pow",
            Self::PRelu => "PRelu",
            Self::Sub => "Sub",
            Self::Xor => "Xor",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 2)?;
        let (a, b) = (required(inputs, 0, "left operand")?.ty, required(inputs, 1, "right operand")?.ty);
        let class = self.class();
        match (self, class) {
            // The exponent has a type of its own.
            (Self::Pow, _) => {
                number(a, "its base")?;
                number(b, "its exponent")?;
            }
            (Self::Equal, _) => same_dtype(a, b)?,
            (Self::Mod { fmod: false }, _) if a.dtype.is_float() => return Err(invalid("fmod must be 1 for floats")),
            (_, Class::Logic) if a.dtype != DType::Bool || b.dtype != DType::Bool => {
                return Err(dtype_error(format!("its operands are {} and {}, expected bool", a.dtype, b.dtype)));
            }
            (_, Class::Logic) => {}
            _ => {
                same_dtype(a, b)?;
                number(a, "its operand")?;
            }
        }
        let shape = a.shape.broadcast(&b.shape).filter(|s| *self != Self::PRelu || *s == a.shape);
        let shape = shape.ok_or_else(|| shape_error(format!("shapes {} and {} do not broadcast", a.shape, b.shape)))?;
        let dtype = if class == Class::Comparison { DType::Bool } else { a.dtype };
        Ok(vec![output(dtype, shape.0)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let (a, b) = (required(inputs, 0, "left operand")?, required(inputs, 1, "right operand")?);
        let (a, b) = (broadcast(a, &ty.shape)?, broadcast(b, &ty.shape)?);
        let data = if a.dtype().is_float() || b.dtype().is_float() {
            let pairs = a.to_f64().into_iter().zip(b.to_f64());
            Data::from_f64(ty.dtype, pairs.map(|(a, b)| self.apply(a, b)).collect())
        } else {
            let pairs = to_i64(&a).into_iter().zip(to_i64(&b));
            from_i64(ty.dtype, pairs.map(|(a, b)| self.apply_int(a, b)).collect())
        };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}
