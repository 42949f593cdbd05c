//! Conversion between layouts: a node like any other, so that it is seen in every report.

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
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
