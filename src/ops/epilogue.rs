//! Element-wise steps that a kernel applies to each result before it is stored.

use super::{Binary, Unary};

/// One step, applied to the running value `v`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// `v = f(v)`.
    Unary(Unary),
    /// `v = v op c`, or `c op v` where `swapped`.
    Scalar {
        /// The operator.
        op: Binary,
        /// The constant.
        value: f32,
        /// The constant stands on the left.
        swapped: bool,
    },
    /// `v = v op t`, or `t op v` where `swapped`; `t` broadcasts to the node's output shape and never widens it.
    Tensor {
        /// The operator.
        op: Binary,
        /// Index into the node's inputs, counted over all of them.
        input: usize,
        /// The tensor stands on the left.
        swapped: bool,
    },
}

/// Steps in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Epilogue {
    /// The steps.
    pub steps: Vec<Step>,
}

impl Epilogue {
    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
