//! Reductions along axes.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// How elements are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum ReduceKind {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

/// Inputs: x, optional axes (int64). GlobalAveragePool and GlobalMaxPool arrive here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduce {
    /// How.
    pub kind: ReduceKind,
    /// Reduced dimensions stay with size 1.
    pub keep_dims: bool,
    /// No axes given means nothing is reduced (else everything is).
    pub noop_with_empty_axes: bool,
}

impl Operator for Reduce {
    fn name(&self) -> &'static str {
        match self.kind {
            ReduceKind::Sum => "ReduceSum",
            ReduceKind::Mean => "ReduceMean",
            ReduceKind::Max => "ReduceMax",
            ReduceKind::Min => "ReduceMin",
            ReduceKind::Prod => "ReduceProd",
            ReduceKind::L1 => "ReduceL1",
            ReduceKind::L2 => "ReduceL2",
            ReduceKind::LogSum => "ReduceLogSum",
            ReduceKind::LogSumExp => "ReduceLogSumExp",
            ReduceKind::SumSquare => "ReduceSumSquare",
        }
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
