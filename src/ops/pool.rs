//! Pooling over a window.

use super::conv::Window;
use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// What is taken of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum PoolKind {
    Max,
    Average { count_include_pad: bool },
}

/// MaxPool and AveragePool (the indices output is not supported). Global pools are [`super::Reduce`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub struct Pool {
    pub kind: PoolKind,
    pub window: Window,
    pub ceil_mode: bool,
}

impl Operator for Pool {
    fn name(&self) -> &'static str {
        match self.kind {
            PoolKind::Max => "MaxPool",
            PoolKind::Average { .. } => "AveragePool",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
