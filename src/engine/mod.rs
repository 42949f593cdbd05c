//! The compiled engine: a recording, packed weights and the ports of the model. Made without a GPU.

mod compile;
mod eaters;
mod options;
mod report;
mod residency;
mod verify;

pub use compile::{Target, compile, compile_graph, compile_keeping_graph, compile_owned, compile_with_graph};
pub use eaters::Eater;
pub use options::{Bytes, CompileOptions, Copies, Keep, MemoryLimits, PostprocessList};
pub use report::{Build, Cost, Detail, EngineReport};
pub use residency::{Phase, Residency};
pub use verify::{LayerError, Verification, Verifier};

use crate::error::Result;
use crate::ops::{FrameTransform, Preprocess};
use crate::recording::{Range, Recording};
use crate::tensor::TensorDesc;

/// A model input or output, and where it lies in the arena.
#[derive(Debug, Clone)]
pub struct Port {
    /// Identity card as the model states it: row-major, the model's own element type.
    pub desc: TensorDesc,
    /// Range in the arena. Elements are row-major; 8-bit types and bool are widened to 32 bits, int64 is int32
    /// ([`crate::tensor::DType::gpu_bytes`]).
    pub range: Range,
    /// For an input that may be fed with a frame: how it becomes a tensor.
    pub preprocess: Option<Preprocess>,
}

impl Port {
    /// Contents of the input's frame block, which lies at offset `FRAME_BYTES * input` of [`crate::recording::Space::Frame`]:
    /// for a frame of `size` (width, height) pixels, or for a tensor, whose coordinates are the model's own.
    pub fn frame_block(&self, size: Option<(u32, u32)>) -> Result<[u8; 64]> {
        let transform = match (&self.preprocess, size) {
            (Some(preprocess), Some((width, height))) => preprocess.transform(width, height)?,
            (Some(preprocess), None) => FrameTransform::identity(preprocess.width, preprocess.height),
            (None, _) => FrameTransform::identity(0, 0),
        };
        Ok(transform.to_block())
    }
}

/// A model compiled for one set of input shapes.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The model's name.
    pub name: String,
    /// What a run does.
    pub recording: Recording,
    /// Contents of the weights buffer, `recording.weights_bytes` long.
    pub weights: Vec<u8>,
    /// Inputs in the model's order.
    pub inputs: Vec<Port>,
    /// Outputs in the model's order.
    pub outputs: Vec<Port>,
    /// What compiling leaves for the inspector.
    pub build: Build,
}
