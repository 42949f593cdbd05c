//! Operators that are done with at compile time: shapes, constants, casts.

use super::args::{at_most, infer_one, ints, invalid, output, required, size};
use super::elements::{from_i64, to_i64};
use super::remap::broadcast;
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{DType, Data, Shape, Tensor, TensorType};

/// To another element type: floats to integers truncate and saturate, integers wrap, bool is 0 or 1.
/// <https://onnx.ai/onnx/operators/onnx__Cast.html>
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

/// The dimensions `start..end` of the input's shape, as int64. Bounds may be negative; they are clamped.
/// <https://onnx.ai/onnx/operators/onnx__Shape.html>
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
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        Ok(vec![output(self.to, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let x = required(inputs, 0, "input")?.data();
        let data =
            if x.dtype().is_float() { Data::from_f64(self.to, x.to_f64()) } else { from_i64(self.to, to_i64(x)) };
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

impl Operator for ConstantOfShape {
    fn name(&self) -> &'static str {
        "ConstantOfShape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let dims = ints(required(inputs, 0, "shape")?, "shape")?;
        if self.value.data().len() != 1 {
            return Err(invalid(format!("its value has {} elements, expected 1", self.value.data().len())));
        }
        let dims = dims.iter().map(|&d| size(d, "a dimension")).collect::<Result<Vec<_>>>()?;
        Ok(vec![output(self.value.dtype(), dims)?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        let ty = infer_one(self, inputs)?;
        let one = self.value.clone().reshaped(Shape::default())?;
        let data = broadcast(&one, &ty.shape)?.into_owned();
        Ok(vec![Tensor::new(ty.shape, data)?])
    }
}

impl Operator for Identity {
    fn name(&self) -> &'static str {
        "Identity"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        infer_one(self, inputs)?;
        Ok(vec![required(inputs, 0, "input")?.clone()])
    }
}

impl ShapeOf {
    /// The output for an input of this shape: it depends on nothing else.
    pub fn of(&self, shape: &Shape) -> Result<Tensor> {
        let rank = shape.len() as i64;
        let place = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
        let start = place(self.start);
        let end = place(self.end.unwrap_or(rank)).max(start);
        let dims: Vec<i64> = shape[start..end].iter().map(|&d| d as i64).collect();
        Tensor::i64([dims.len()], dims)
    }
}

impl Operator for ShapeOf {
    fn name(&self) -> &'static str {
        "Shape"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        Ok(vec![self.of(&required(inputs, 0, "input")?.ty.shape)?.ty()])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        infer_one(self, inputs)?;
        Ok(vec![self.of(required(inputs, 0, "input")?.shape())?])
    }
}
