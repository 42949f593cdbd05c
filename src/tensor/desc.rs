use super::{DType, Shape};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the elements lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The last dimension is contiguous.
    #[default]
    RowMajor,
    /// Rank 4 only: [N, ceil(C/4), H, W, 4]. Lanes beyond C are zero, and whoever writes the tensor keeps them so.
    C4,
}

impl Layout {
    /// Elements the tensor occupies, padding lanes included.
    pub fn elements(self, shape: &Shape) -> usize {
        match (self, &shape[..]) {
            (Self::C4, &[n, c, h, w]) => Shape::from([n, c.div_ceil(4), h, w, 4]).elements(),
            _ => shape.elements(),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RowMajor => "row-major",
            Self::C4 => "c4",
        })
    }
}

/// Which memory holds the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// JavaScript or native heap.
    Host,
    /// The wasm heap.
    Wasm,
    /// A range of a GPU buffer.
    #[default]
    Gpu,
    /// A GPU texture.
    Texture,
    /// A video frame that the browser owns.
    Frame,
}

/// Shape and element type: what operators compute with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Shape,
}

impl TensorType {
    /// Puts the two together.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Self {
        Self { dtype, shape: shape.into() }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// The whole card of a named tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorDesc {
    /// Its name in the model.
    pub name: String,
    /// Dimensions, outermost first.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
    /// Distance between neighbours of each dimension, in elements.
    pub strides: Vec<usize>,
    /// Named layout.
    pub layout: Layout,
    /// Where the elements are.
    pub device: Device,
}

impl TensorDesc {
    /// A contiguous row-major tensor.
    pub fn contiguous(name: impl Into<String>, ty: &TensorType, device: Device) -> Self {
        Self {
            name: name.into(),
            shape: ty.shape.clone(),
            dtype: ty.dtype,
            strides: ty.shape.row_major_strides(),
            layout: Layout::RowMajor,
            device,
        }
    }
}
