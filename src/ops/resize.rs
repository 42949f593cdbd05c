//! Resampling: <https://onnx.ai/onnx/operators/onnx__Resize.html>.

use super::{Operand, Operator};
use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// Interpolation.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum ResizeMode {
    Nearest(NearestMode),
    Linear,
    Cubic { coefficient: f32, exclude_outside: bool },
}

/// Rounding of the nearest mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum NearestMode {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// Where an output pixel lies in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ONNX")]
pub enum Coordinates {
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    HalfPixelSymmetric,
}

/// Inputs: x, optional roi, optional scales (float32), optional sizes (int64). Opset-9 Upsample arrives here too.
#[derive(Debug, Clone, PartialEq)]
pub struct Resize {
    /// Interpolation.
    pub mode: ResizeMode,
    /// Coordinate transformation.
    pub coordinates: Coordinates,
    /// The axes that `scales` or `sizes` speak of; empty means all.
    pub axes: Vec<i64>,
}

impl Operator for Resize {
    fn name(&self) -> &'static str {
        "Resize"
    }

    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>> {
        crate::ops::pending(self.name(), inputs.len())
    }

    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>> {
        crate::ops::pending(self.name(), inputs.len())
    }
}
