//! Element-wise operators and matrix products.

use crate::error::Result;
use crate::import::onnx::scope::{Scope, unsupported};
use crate::ops::{Binary, Cast, Clip, Gemm, MatMul, Op, Unary, Where};

impl Scope<'_, '_> {
    pub(super) fn unary(&mut self, op: Unary) -> Result<()> {
        self.at_most(1)?;
        let x = self.input(0)?;
        self.finish(Op::Unary(op), vec![Some(x)])
    }

    pub(super) fn binary(&mut self, op: Binary) -> Result<()> {
        self.at_most(2)?;
        let inputs = vec![Some(self.input(0)?), Some(self.input(1)?)];
        self.finish(Op::Binary(op), inputs)
    }
}

/// <https://onnx.ai/onnx/operators/onnx__Clip.html>; below opset 11 the bounds are attributes.
pub fn clip(s: &mut Scope<'_, '_>) -> Result<()> {
    let x = s.input(0)?;
    let (lo, hi) = if s.opset < 11 {
        let dtype = s.ty(x)?.dtype;
        let (lo, hi) = (s.float("min", f32::MIN)?, s.float("max", f32::MAX)?);
        (Some(s.scalar_input("min", dtype, lo)?), Some(s.scalar_input("max", dtype, hi)?))
    } else {
        s.at_most(3)?;
        (s.optional(1), s.optional(2))
    };
    s.finish(Op::Clip(Clip), vec![Some(x), lo, hi])
}

/// <https://onnx.ai/onnx/operators/onnx__Elu.html>
pub fn elu(s: &mut Scope<'_, '_>) -> Result<()> {
    let alpha = s.float("alpha", 1.0)?;
    s.unary(Unary::Elu { alpha })
}

/// <https://onnx.ai/onnx/operators/onnx__Gelu.html>
pub fn gelu(s: &mut Scope<'_, '_>) -> Result<()> {
    let tanh = match s.text("approximate", "none")? {
        "none" => false,
        "tanh" => true,
        other => return Err(unsupported(format!("approximate={other:?} is not supported"))),
    };
    s.unary(Unary::Gelu { tanh })
}

/// <https://onnx.ai/onnx/operators/onnx__HardSigmoid.html>
pub fn hard_sigmoid(s: &mut Scope<'_, '_>) -> Result<()> {
    let (alpha, beta) = (s.float("alpha", 0.2)?, s.float("beta", 0.5)?);
    s.unary(Unary::HardSigmoid { alpha, beta })
}

/// <https://onnx.ai/onnx/operators/onnx__LeakyRelu.html>
pub fn leaky_relu(s: &mut Scope<'_, '_>) -> Result<()> {
    let alpha = s.float("alpha", 0.01)?;
    s.unary(Unary::LeakyRelu { alpha })
}

/// gamma * elu(x): <https://onnx.ai/onnx/operators/onnx__Selu.html>
pub fn selu(s: &mut Scope<'_, '_>) -> Result<()> {
    let alpha = s.float("alpha", 1.673_263_2)?;
    let gamma = s.float("gamma", 1.050_701)?;
    let x = s.input(0)?;
    let dtype = s.ty(x)?.dtype;
    let elu = s.step(Op::Unary(Unary::Elu { alpha }), vec![Some(x)])?;
    let gamma = s.scalar_input("gamma", dtype, gamma)?;
    s.finish(Op::Binary(Binary::Mul), vec![Some(elu), Some(gamma)])
}

/// x * sigmoid(alpha * x): <https://onnx.ai/onnx/operators/onnx__Swish.html>
pub fn swish(s: &mut Scope<'_, '_>) -> Result<()> {
    let alpha = s.float("alpha", 1.0)?;
    if alpha == 1.0 {
        return s.unary(Unary::Silu);
    }
    let x = s.input(0)?;
    let dtype = s.ty(x)?.dtype;
    let alpha = s.scalar_input("alpha", dtype, alpha)?;
    let scaled = s.step(Op::Binary(Binary::Mul), vec![Some(x), Some(alpha)])?;
    let gate = s.step(Op::Unary(Unary::Sigmoid), vec![Some(scaled)])?;
    s.finish(Op::Binary(Binary::Mul), vec![Some(x), Some(gate)])
}

/// <https://onnx.ai/onnx/operators/onnx__Mod.html>
pub fn modulo(s: &mut Scope<'_, '_>) -> Result<()> {
    let fmod = s.flag("fmod", false)?;
    s.binary(Binary::Mod { fmod })
}

/// <https://onnx.ai/onnx/operators/onnx__Pow.html>, whose operands may differ in type: the result has the base's, a float
/// exponent makes the whole a float until then.
pub fn power(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(2)?;
    let (base, exponent) = (s.input(0)?, s.input(1)?);
    let (to, with) = (s.dtype(base)?, s.dtype(exponent)?);
    let common = if with.is_float() && !to.is_float() { with } else { to };
    let (base, exponent) = (s.convert(base, common)?, s.convert(exponent, common)?);
    if common == to {
        return s.finish(Op::Binary(Binary::Pow), vec![Some(base), Some(exponent)]);
    }
    let y = s.join(Binary::Pow, base, exponent)?;
    s.finish(Op::Cast(Cast { to }), vec![Some(y)])
}

/// Max, Min and Sum of any number of inputs, from the left.
pub fn variadic(s: &mut Scope<'_, '_>, op: Binary) -> Result<()> {
    let all = s.all()?;
    match all.as_slice() {
        [one] => s.finish(Op::Identity(crate::ops::Identity), vec![Some(*one)]),
        [first, middle @ .., last] => {
            let mut sum = *first;
            for &next in middle {
                sum = s.step(Op::Binary(op), vec![Some(sum), Some(next)])?;
            }
            s.finish(Op::Binary(op), vec![Some(sum), Some(*last)])
        }
        [] => Err(unsupported("it has no inputs")),
    }
}

/// <https://onnx.ai/onnx/operators/onnx__Mean.html>
pub fn mean(s: &mut Scope<'_, '_>) -> Result<()> {
    let all = s.all()?;
    let mut sum = s.input(0)?;
    for &next in all.iter().skip(1) {
        sum = s.step(Op::Binary(Binary::Add), vec![Some(sum), Some(next)])?;
    }
    let dtype = s.ty(sum)?.dtype;
    let count = s.scalar_input("count", dtype, all.len() as f32)?;
    s.finish(Op::Binary(Binary::Div), vec![Some(sum), Some(count)])
}

/// <https://onnx.ai/onnx/operators/onnx__Where.html>
pub fn select(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(3)?;
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?), Some(s.input(2)?)];
    s.finish(Op::Where(Where), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__Gemm.html>
pub fn gemm(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(3)?;
    let op = Gemm {
        alpha: s.float("alpha", 1.0)?,
        beta: s.float("beta", 1.0)?,
        trans_a: s.flag("transA", false)?,
        trans_b: s.flag("transB", false)?,
    };
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?), s.optional(2)];
    s.finish(Op::Gemm(op), inputs)
}

/// <https://onnx.ai/onnx/operators/onnx__MatMul.html>
pub fn matmul(s: &mut Scope<'_, '_>) -> Result<()> {
    s.at_most(2)?;
    let inputs = vec![Some(s.input(0)?), Some(s.input(1)?)];
    s.finish(Op::MatMul(MatMul), inputs)
}
