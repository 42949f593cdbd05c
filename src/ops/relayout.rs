//! Conversion between layouts: a node like any other, so that it is seen in every report.

use super::args::{at_most, infer_one, output, required, shape_error};
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::Layout;
use crate::tensor::{Tensor, TensorType};

/// The same elements in layout `to`. On the CPU, where tensors are row-major, the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relayout {
    /// Target layout.
    pub to: Layout,
}

impl Operator for Relayout {
    fn name(&self) -> &'static str {
        "Relayout"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        at_most(inputs, 1)?;
        let x = required(inputs, 0, "input")?.ty;
        if self.to == Layout::C4 && x.shape.len() != 4 {
            return Err(shape_error(format!("layout c4 is for 4 dimensions, its input has shape {}", x.shape)));
        }
        Ok(vec![output(x.dtype, x.shape.to_vec())?])
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        infer_one(self, inputs)?;
        Ok(vec![required(inputs, 0, "input")?.clone()])
    }
}
