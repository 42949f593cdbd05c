//! Convolution and its transpose: <https://onnx.ai/onnx/operators/onnx__Conv.html>.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// How padding is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoPad {
    /// `pads` says it.
    #[default]
    Explicit,
    /// Output is ceil(input / stride); an odd pixel goes to the end.
    SameUpper,
    /// As above, an odd pixel to the begin.
    SameLower,
    /// None.
    Valid,
}

/// A sliding window over the spatial dimensions. Empty lists stand for the defaults: stride 1, dilation 1, pad 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Window size per spatial dimension; empty means the weight's.
    pub kernel: Vec<usize>,
    /// Step per spatial dimension.
    pub strides: Vec<usize>,
    /// Spacing of taps per spatial dimension.
    pub dilations: Vec<usize>,
    /// All begins, then all ends, in elements. May be negative in ONNX files only by mistake; refused at import.
    pub pads: Vec<usize>,
    /// Rule that replaces `pads`.
    pub auto_pad: AutoPad,
}

/// Inputs: x [N, C, spatial…], w [M, C/groups, kernel…], optional bias [M].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conv {
    /// The window.
    pub window: Window,
    /// Channel groups; C for a depthwise convolution.
    pub groups: usize,
}

/// Inputs: x [N, C, spatial…], w [C, M/groups, kernel…], optional bias [M].
/// <https://onnx.ai/onnx/operators/onnx__ConvTranspose.html>
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConvTranspose {
    /// The window.
    pub window: Window,
    /// Channel groups.
    pub groups: usize,
    /// Rows added at the end of each spatial dimension of the output.
    pub output_padding: Vec<usize>,
    /// Wanted spatial size of the output; then the pads follow from it.
    pub output_shape: Vec<usize>,
}

impl Operator for Conv {
    fn name(&self) -> &'static str {
        "Conv"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}

impl Operator for ConvTranspose {
    fn name(&self) -> &'static str {
        "ConvTranspose"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
