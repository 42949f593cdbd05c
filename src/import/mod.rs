//! Model files to [graphs](crate::graph).
//!
//! An imported graph is concrete: dynamic dimensions were fixed by [`ImportOptions::shapes`], every value has its type,
//! and whatever follows from constants alone has been computed.

pub mod onnx;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::Graph;
use crate::tensor::DType;
use std::collections::BTreeMap;
use std::fmt;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// <https://onnx.ai>, protobuf.
    Onnx,
    /// LiteRT, a flatbuffer.
    Tflite,
    /// Our own compiled engine.
    Plan,
}

/// First bytes of a plan file.
pub const PLAN_MAGIC: &[u8; 8] = b"FRAMEWAY";

impl Format {
    /// Guesses the format from the first bytes; protobuf has no signature, so what is nothing else is taken for ONNX.
    pub fn sniff(bytes: &[u8]) -> Self {
        if bytes.starts_with(PLAN_MAGIC) {
            Self::Plan
        } else if bytes.get(4..8) == Some(b"TFL3") {
            Self::Tflite
        } else {
            Self::Onnx
        }
    }
}

/// What the caller fixes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Shapes of inputs, by name; fixes dynamic dimensions.
    pub shapes: BTreeMap<String, Vec<usize>>,
}

/// A dimension as the model states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// Known.
    Fixed(usize),
    /// Known by a name only; inputs that share the name share the size.
    Symbolic(String),
    /// Not known at all.
    Unknown,
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(n) => write!(f, "{n}"),
            Self::Symbolic(name) => f.write_str(name),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// An input or output as the model states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortInfo {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions; `None` where not even their number is stated.
    pub dims: Option<Vec<Dim>>,
}

impl PortInfo {
    /// The shape, where every dimension is stated.
    pub fn fixed_shape(&self) -> Option<Vec<usize>> {
        let fixed = |d: &Dim| match d {
            Dim::Fixed(n) => Some(*n),
            _ => None,
        };
        self.dims.as_ref()?.iter().map(fixed).collect()
    }

    /// The dimensions in words: `[N, 3, 320, 320]`.
    pub fn dims_text(&self) -> String {
        match &self.dims {
            Some(dims) => format!("[{}]", dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ")),
            None => "[…]".into(),
        }
    }
}

/// What a file says of itself, read without importing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The model's name.
    pub name: String,
    /// Who wrote the file.
    pub producer: String,
    /// Version of the operator set.
    pub opset: i64,
    /// What a run is fed with.
    pub inputs: Vec<PortInfo>,
    /// What a run gives; an element type that is not served is reported at import, not here.
    pub outputs: Vec<PortInfo>,
    /// How many nodes of each operator, sorted by name.
    pub operators: BTreeMap<String, usize>,
}

impl Summary {
    /// The inputs whose shape the caller must fix.
    pub fn dynamic_inputs(&self) -> impl Iterator<Item = &PortInfo> {
        self.inputs.iter().filter(|i| i.fixed_shape().is_none())
    }
}

/// Reads a model. The format is sniffed where it is not said.
///
/// # Errors
/// `invalid-model` for a damaged or foreign file, `unsupported-op` with every node that is not served, `shape-mismatch`
/// for dimensions that are not fixed or do not fit.
pub fn import(bytes: &[u8], format: Option<Format>, options: &ImportOptions) -> Result<Graph> {
    match format.unwrap_or_else(|| Format::sniff(bytes)) {
        Format::Onnx => onnx::import(bytes, options),
        other => Err(not_importable(other, bytes)),
    }
}

/// Reads what a model says of itself.
///
/// # Errors
/// `invalid-model` for a damaged or foreign file.
pub fn summary(bytes: &[u8], format: Option<Format>) -> Result<Summary> {
    match format.unwrap_or_else(|| Format::sniff(bytes)) {
        Format::Onnx => onnx::summary(bytes),
        other => Err(not_importable(other, bytes)),
    }
}

fn not_importable(format: Format, bytes: &[u8]) -> Error {
    match format {
        Format::Plan => {
            let what = if bytes.starts_with(PLAN_MAGIC) {
                "this is a plan file, and this version reads none"
            } else {
                "this is no plan file"
            };
            Error::new(ErrorKind::PlanMismatch, what).hint("compile the model itself, an ONNX file, without `format`")
        }
        _ => Error::new(ErrorKind::InvalidModel, "TFLite files cannot be read yet").hint("convert the model to ONNX"),
    }
}
