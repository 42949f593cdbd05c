//! WGSL for element-wise operators, on one value or four.

use crate::error::{Error, ErrorKind, Result};
use crate::ops::{Binary, Unary};
use crate::tensor::DType;
use std::collections::BTreeSet;

/// What a shader computes with: float16 is widened to f32, bool is 0 or 1 in u32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// f32
    Float,
    /// i32
    Int,
    /// u32
    Uint,
    /// u32 that is 0 or 1
    Bool,
}

impl Number {
    /// The number type an element type is computed in.
    pub const fn of(dtype: DType) -> Self {
        match dtype {
            DType::F32 | DType::F16 => Self::Float,
            DType::I32 | DType::I64 | DType::I8 => Self::Int,
            DType::U32 | DType::U8 => Self::Uint,
            DType::Bool => Self::Bool,
        }
    }

    /// The WGSL type of one value, or of four.
    pub const fn wgsl(self, wide: bool) -> &'static str {
        match (self, wide) {
            (Self::Float, false) => "f32",
            (Self::Int, false) => "i32",
            (Self::Uint | Self::Bool, false) => "u32",
            (Self::Float, true) => "vec4f",
            (Self::Int, true) => "vec4i",
            (Self::Uint | Self::Bool, true) => "vec4u",
        }
    }
}

/// Writes expressions and remembers which functions of `steps.wgsl` they call.
#[derive(Debug, Default)]
pub struct Steps {
    used: BTreeSet<&'static str>,
}

const FUNCTIONS: &str = include_str!("steps.wgsl");

impl Steps {
    /// The functions used so far, with their `alias V`.
    pub fn functions(&self, wide: bool) -> String {
        if self.used.is_empty() {
            return String::new();
        }
        let mut text = format!("alias V = {};\n", Number::Float.wgsl(wide));
        for paragraph in FUNCTIONS.split("\n\n") {
            if self.used.iter().any(|name| paragraph.contains(&format!("fn {name}("))) {
                text.push_str(paragraph.trim_end());
                text.push('\n');
            }
        }
        text
    }

    fn call(&mut self, name: &'static str, args: &[&str]) -> String {
        self.used.insert(name);
        format!("{name}({})", args.join(", "))
    }

    /// `op(v)`. `v` is a name.
    pub fn unary(&mut self, op: Unary, v: &str, number: Number, wide: bool) -> Result<String> {
        let t = number.wgsl(wide);
        let lit = |x: f32| format!("{t}({})", float(x));
        match number {
            Number::Float => {}
            Number::Bool if op == Unary::Not => return Ok(format!("{t}(1) - {v}")),
            Number::Int | Number::Uint => match op {
                Unary::Abs => return Ok(format!("abs({v})")),
                Unary::Neg if number == Number::Int => return Ok(format!("-{v}")),
                Unary::Sign if number == Number::Int => return Ok(format!("sign({v})")),
                Unary::Sign => return Ok(format!("min({v}, {t}(1))")),
                Unary::Relu => return Ok(format!("max({v}, {t}(0))")),
                Unary::Clip { lo, hi } => {
                    // A bound beyond the type saturates, as the cast does.
                    return Ok(match number {
                        Number::Int => format!("clamp({v}, {t}({}), {t}({}))", int(lo as i32), int(hi as i32)),
                        _ => format!("clamp({v}, {t}({}u), {t}({}u))", lo as u32, hi as u32),
                    });
                }
                Unary::Ceil | Unary::Floor | Unary::Round => return Ok(v.to_owned()),
                _ => return Err(not_on(&format!("{op:?}"), number)),
            },
            Number::Bool => return Err(not_on(&format!("{op:?}"), number)),
        }
        Ok(match op {
            Unary::Abs => format!("abs({v})"),
            Unary::Acos => format!("acos({v})"),
            Unary::Acosh => format!("acosh({v})"),
            Unary::Asin => format!("asin({v})"),
            Unary::Asinh => format!("asinh({v})"),
            Unary::Atan => format!("atan({v})"),
            Unary::Atanh => format!("atanh({v})"),
            Unary::Ceil => format!("ceil({v})"),
            Unary::Clip { lo, hi } => match (lo > f32::MIN, hi < f32::MAX) {
                (true, true) => format!("min(max({v}, {}), {})", lit(lo), lit(hi)),
                (true, false) => format!("max({v}, {})", lit(lo)),
                (false, true) => format!("min({v}, {})", lit(hi)),
                (false, false) => v.to_owned(),
            },
            Unary::Cos => self.call("sin_", &[&format!("{v} + 1.5707964")]),
            Unary::Cosh => format!("cosh({v})"),
            Unary::Elu { alpha } => {
                format!(
                    "select({} * (exp(min({v}, {})) - {}), {v}, {v} > {})",
                    float(alpha),
                    lit(0.0),
                    lit(1.0),
                    lit(0.0)
                )
            }
            Unary::Erf => self.call("erf_", &[v]),
            Unary::Exp => format!("exp({v})"),
            Unary::Floor => format!("floor({v})"),
            Unary::Gelu { tanh: false } => {
                let erf = self.call("erf_", &[&format!("{v} * 0.70710678")]);
                format!("0.5 * {v} * ({} + {erf})", lit(1.0))
            }
            Unary::Gelu { tanh: true } => {
                let tanh = self.call("tanh_", &[&format!("0.79788456 * ({v} + 0.044715 * {v} * {v} * {v})")]);
                format!("0.5 * {v} * ({} + {tanh})", lit(1.0))
            }
            Unary::HardSigmoid { alpha, beta } => {
                format!("clamp({} * {v} + {}, {}, {})", float(alpha), lit(beta), lit(0.0), lit(1.0))
            }
            Unary::HardSwish => {
                format!("{v} * clamp({v} * 0.16666667 + {}, {}, {})", lit(0.5), lit(0.0), lit(1.0))
            }
            Unary::LeakyRelu { alpha } => format!("select({} * {v}, {v}, {v} >= {})", float(alpha), lit(0.0)),
            Unary::Log => format!("log({v})"),
            Unary::Mish => {
                let softplus = self.call("softplus_", &[v]);
                let tanh = self.call("tanh_", &[&softplus]);
                format!("{v} * {tanh}")
            }
            Unary::Neg => format!("-{v}"),
            Unary::Not => return Err(not_on("Not", number)),
            Unary::Reciprocal => format!("{} / {v}", lit(1.0)),
            Unary::Relu => format!("max({v}, {})", lit(0.0)),
            Unary::Round => format!("round({v})"),
            Unary::Sigmoid => self.call("sigmoid_", &[v]),
            Unary::Sign => format!("sign({v})"),
            Unary::Silu => format!("{v} * {}", self.call("sigmoid_", &[v])),
            Unary::Sin => self.call("sin_", &[v]),
            Unary::Sinh => format!("sinh({v})"),
            Unary::Softplus => self.call("softplus_", &[v]),
            Unary::Softsign => format!("{v} / ({} + abs({v}))", lit(1.0)),
            Unary::Sqrt => format!("sqrt({v})"),
            Unary::Tan => {
                let (sin, cos) = (self.call("sin_", &[v]), self.call("sin_", &[&format!("{v} + 1.5707964")]));
                format!("{sin} / {cos}")
            }
            Unary::Tanh => self.call("tanh_", &[v]),
        })
    }

    /// `a op b`, and the number type of the result. `a` and `b` are names or calls.
    pub fn binary(&mut self, op: Binary, a: &str, b: &str, number: Number, wide: bool) -> Result<(String, Number)> {
        let t = number.wgsl(wide);
        let compare = |sign: &str| {
            let u = Number::Bool.wgsl(wide);
            Ok((format!("select({u}(0), {u}(1), {a} {sign} {b})"), Number::Bool))
        };
        let text = match op {
            Binary::Equal => return compare("=="),
            Binary::Greater => return compare(">"),
            Binary::GreaterOrEqual => return compare(">="),
            Binary::Less => return compare("<"),
            Binary::LessOrEqual => return compare("<="),
            Binary::And | Binary::Or | Binary::Xor if number != Number::Bool => {
                return Err(not_on(&format!("{op:?}"), number));
            }
            Binary::And => format!("{a} & {b}"),
            Binary::Or => format!("{a} | {b}"),
            Binary::Xor => format!("{a} ^ {b}"),
            _ if number == Number::Bool => return Err(not_on(&format!("{op:?}"), number)),
            Binary::Add => format!("{a} + {b}"),
            Binary::Sub => format!("{a} - {b}"),
            Binary::Mul => format!("{a} * {b}"),
            Binary::Div => format!("{a} / {b}"),
            Binary::Max => format!("max({a}, {b})"),
            Binary::Min => format!("min({a}, {b})"),
            Binary::Mod { fmod: true } | Binary::Mod { .. } if number == Number::Uint => format!("{a} % {b}"),
            Binary::Mod { fmod: true } => format!("{a} % {b}"),
            Binary::Mod { fmod: false } if number == Number::Int => format!("(({a} % {b}) + {b}) % {b}"),
            Binary::Mod { fmod: false } => return Err(not_on("Mod without fmod", number)),
            Binary::PRelu => format!("select({a} * {b}, {a}, {a} >= {t}(0))"),
            Binary::Pow if number == Number::Float => self.call("pow_", &[a, b]),
            Binary::Pow => {
                let p = self.call_converted(a, b, wide);
                format!("{t}(round({p}))")
            }
        };
        Ok((text, number))
    }

    fn call_converted(&mut self, a: &str, b: &str, wide: bool) -> String {
        let f = Number::Float.wgsl(wide);
        self.call("pow_", &[&format!("{f}({a})"), &format!("{f}({b})")])
    }
}

fn not_on(op: &str, number: Number) -> Error {
    Error::new(ErrorKind::UnsupportedOp, format!("{op} is not defined on {} here", number.wgsl(false)))
}

/// A float literal that WGSL reads back to the same value.
pub fn float(x: f32) -> String {
    if x.is_finite() {
        let text = format!("{x:?}");
        if x.is_sign_negative() { format!("({text})") } else { text }
    } else {
        // WGSL has no literal for these, and refuses a constant expression that makes one.
        format!("bitcast<f32>({}u)", x.to_bits())
    }
}

/// An i32 literal; the smallest has none of its own.
fn int(x: i32) -> String {
    if x == i32::MIN { "(-2147483647 - 1)".to_owned() } else { format!("({x})") }
}
