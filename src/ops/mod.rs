//! Operators: attributes, shape inference and reference evaluation on the CPU, one family a file.
//!
//! An operator is a variant of the closed [`Op`]. Its one definition is [`Op::definition`]; the other exhaustive match,
//! operator to kernel, is in [`crate::kernels`]. Attributes hold the newest opset's form: what an older opset wrote as an
//! attribute and a newer one as an input is an input here.

mod args;
mod binary;
mod conv;
mod cut;
mod detect;
mod elements;
mod epilogue;
mod frame;
mod layouts;
mod matmul;
mod movement;
mod normalize;
mod pool;
mod reduce;
mod relayout;
mod remap;
mod resize;
mod scalar;
mod select;
mod sizes;
mod unary;
mod views;
mod window;

pub use binary::Binary;
pub use conv::{Conv, ConvTranspose};
pub use cut::{Pad, PadMode, Slice, SliceAxis, Split};
pub use detect::{BoxFormat, DecodeBoxes, ROW_HEAD, ScoreFormat, SelectBoxes, Suppression};
pub use epilogue::{Epilogue, Step};
pub use frame::{Color, Filter, Fit, FrameTransform, Preprocess, Rect, unknown_frame};
pub use layouts::{LayoutRule, OperandForm, layout_rule, operand_form, shares_layout};
pub use matmul::{Gemm, MatMul};
pub use movement::{Concat, Expand, Gather, Transpose};
pub use normalize::{BatchNorm, Softmax};
pub use pool::{Pool, PoolKind};
pub use reduce::{Reduce, ReduceKind};
pub use relayout::Relayout;
pub use resize::{Coordinates, NearestMode, Resize, ResizeAxis, ResizeMode, Tap};
pub use select::{Clip, Where};
pub use sizes::{Cast, ConstantOfShape, Identity, ShapeOf};
pub use unary::Unary;
pub use views::{Flatten, Reshape, Squeeze, Unsqueeze};
pub use window::{AutoPad, Window, WindowAxis};

use crate::error::Result;
use crate::tensor::{Tensor, TensorType};

/// What shape inference knows of an input.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// Shape and element type.
    pub ty: &'a TensorType,
    /// Its value, where it is known at compile time.
    pub constant: Option<&'a Tensor>,
}

/// An operator's definition.
pub trait Operator {
    /// The ONNX name, for reports and errors.
    fn name(&self) -> &'static str;

    /// Types of the outputs. An optional input that was left out is `None`.
    fn infer(&self, inputs: &[Option<Operand<'_>>]) -> Result<Vec<TensorType>>;

    /// The outputs, computed slowly and plainly. Serves constant folding and as the oracle of the kernel tests.
    fn eval(&self, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>>;
}

/// Every operator there is.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant is documented at its attributes")]
pub enum Op {
    BatchNorm(BatchNorm),
    Binary(Binary),
    Cast(Cast),
    Clip(Clip),
    Concat(Concat),
    ConstantOfShape(ConstantOfShape),
    Conv(Conv),
    ConvTranspose(ConvTranspose),
    DecodeBoxes(DecodeBoxes),
    Expand(Expand),
    Flatten(Flatten),
    Gather(Gather),
    Gemm(Gemm),
    Identity(Identity),
    MatMul(MatMul),
    Pad(Pad),
    Pool(Pool),
    Reduce(Reduce),
    Relayout(Relayout),
    Reshape(Reshape),
    Resize(Resize),
    SelectBoxes(SelectBoxes),
    ShapeOf(ShapeOf),
    Slice(Slice),
    Softmax(Softmax),
    Split(Split),
    Squeeze(Squeeze),
    Transpose(Transpose),
    Unary(Unary),
    Unsqueeze(Unsqueeze),
    Where(Where),
}

impl Op {
    /// The definition: name, inference, reference.
    pub fn definition(&self) -> &dyn Operator {
        match self {
            Self::BatchNorm(op) => op,
            Self::Binary(op) => op,
            Self::Cast(op) => op,
            Self::Clip(op) => op,
            Self::Concat(op) => op,
            Self::ConstantOfShape(op) => op,
            Self::Conv(op) => op,
            Self::ConvTranspose(op) => op,
            Self::DecodeBoxes(op) => op,
            Self::Expand(op) => op,
            Self::Flatten(op) => op,
            Self::Gather(op) => op,
            Self::Gemm(op) => op,
            Self::Identity(op) => op,
            Self::MatMul(op) => op,
            Self::Pad(op) => op,
            Self::Pool(op) => op,
            Self::Reduce(op) => op,
            Self::Relayout(op) => op,
            Self::Reshape(op) => op,
            Self::Resize(op) => op,
            Self::SelectBoxes(op) => op,
            Self::ShapeOf(op) => op,
            Self::Slice(op) => op,
            Self::Softmax(op) => op,
            Self::Split(op) => op,
            Self::Squeeze(op) => op,
            Self::Transpose(op) => op,
            Self::Unary(op) => op,
            Self::Unsqueeze(op) => op,
            Self::Where(op) => op,
        }
    }
}
