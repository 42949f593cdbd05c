//! Normalisations.

use super::args::{at_most, axis, float, infer_one, output, required, shape_error};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Data, Tensor, TensorType};

/// Inputs: x [N, C, …], scale, bias, mean, variance, each [C]. Inference form.
/// <https://onnx.ai/onnx/operators/onnx__BatchNormalization.html>
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

/// What the parameters of a batch normalisation are, in the order of its inputs.
const PARAMETERS: [&str; 4] = ["scale", "bias", "mean", "variance"];

impl Operator for BatchNorm {
    fn name(&self) -> &'static str {
        "BatchNormalization"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 5)?;
        let x = required(inputs, 0, "input")?.ty;
        float(x, "its input")?;
        // A tensor of rank 1 has one channel.
        let channels = match x.shape.len() {
            0 => return Err(shape_error("its input is a scalar")),
            1 => 1,
            _ => x.shape[1],
        };
        for (i, what) in PARAMETERS.into_iter().enumerate() {
            let p = required(inputs, i + 1, what)?.ty;
            float(p, what)?;
            if p.shape[..] != [channels] {
                return Err(shape_error(format!("{what} has shape {}, expected [{channels}]", p.shape)));
            }
        }
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let mut x = required(inputs, 0, "input")?.data().to_f64();
        let mut parameters = Vec::with_capacity(PARAMETERS.len());
        for (i, what) in PARAMETERS.into_iter().enumerate() {
            parameters.push(required(inputs, i + 1, what)?.data().to_f64());
        }
        let [scale, bias, mean, variance] = &parameters[..] else {
            return Err(shape_error("it has four parameters"));
        };
        let plane: usize = ty.shape.iter().skip(2).product();
        let channels = scale.len();
        if plane > 0 && channels > 0 {
            for (i, channel) in x.chunks_mut(plane).enumerate() {
                let c = i % channels;
                let factor = scale[c] / (variance[c] + f64::from(self.epsilon)).sqrt();
                channel.iter_mut().for_each(|v| *v = (*v - mean[c]) * factor + bias[c]);
            }
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, x))?])
    }
}

impl Softmax {
    /// The input as [outer, n, inner]: sums run over n.
    pub fn split(&self, shape: &[usize]) -> Result<[usize; 3]> {
        // A scalar is a list of one, as in numpy.
        let dims = if shape.is_empty() { &[1][..] } else { shape };
        let at = axis(self.axis, dims.len())?;
        let product = |dims: &[usize]| dims.iter().fold(1usize, |n, &d| n.saturating_mul(d));
        Ok(if self.flattened {
            [product(&dims[..at]), product(&dims[at..]), 1]
        } else {
            [product(&dims[..at]), dims[at], product(&dims[at + 1..])]
        })
    }
}

impl Operator for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "LogSoftmax" } else { "Softmax" }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        float(x, "its input")?;
        self.split(&x.shape)?;
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let mut x = required(inputs, 0, "input")?.data().to_f64();
        let [_, n, inner] = self.split(&ty.shape)?;
        if n * inner > 0 {
            for block in x.chunks_mut(n * inner) {
                for i in 0..inner {
                    let column = || (i..n * inner).step_by(inner);
                    let top = column().map(|j| block[j]).fold(f64::NEG_INFINITY, super::scalar::max);
                    let sum: f64 = column().map(|j| (block[j] - top).exp()).sum();
                    for j in column() {
                        let shifted = block[j] - top;
                        block[j] = if self.log { shifted - sum.ln() } else { shifted.exp() / sum };
                    }
                }
            }
        }
        Ok(vec![Tensor::new(ty.shape, Data::from_f64(ty.dtype, x))?])
    }
}
