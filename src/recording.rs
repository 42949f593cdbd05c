//! What a frame does on the GPU, as plain data: the engine's compiled form, what its plan file holds, what the diagram
//! draws. Nothing here knows wgpu.

mod check;

pub use check::check;

use serde::{Deserialize, Serialize};

/// Which buffer a range lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Space {
    /// The request's arena: inputs, intermediates, outputs. Bound read_write, always.
    Arena,
    /// Weights, shared by all requests. Bound read-only.
    Weights,
    /// Kernel parameters, written once at load; uniform.
    Params,
    /// The request's frame blocks, uniform: [`FRAME_BYTES`] at offset `FRAME_BYTES * n` for model input `n`, which the
    /// runtime writes when the frame's size changes.
    Frame,
}

/// Size of a frame block in bytes.
pub const FRAME_BYTES: u64 = 256;
/// Alignment of every range in bytes.
pub const ALIGNMENT: u64 = 256;

/// A half-open range of bytes, `[offset, offset + bytes)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    /// The buffer.
    pub space: Space,
    /// First byte, a multiple of [`ALIGNMENT`].
    pub offset: u64,
    /// Length in bytes, a multiple of four.
    pub bytes: u64,
}

impl Range {
    /// True where the two share a byte.
    pub fn overlaps(&self, other: &Range) -> bool {
        self.space == other.space
            && self.offset < other.offset.saturating_add(other.bytes)
            && other.offset < self.offset.saturating_add(self.bytes)
    }
}

/// What is bound at a slot of group 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Resource {
    /// A range of a buffer; its binding type follows from its space.
    Buffer(Range),
    /// The frame of model input `n`: `texture_2d<f32>` in shader `shader`, `texture_external` in its twin.
    Frame {
        /// Index of the model input.
        input: usize,
    },
}

/// One slot of group 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    /// `@binding(slot)`.
    pub slot: u32,
    /// What is bound there.
    pub resource: Resource,
}

/// A WGSL module, complete, entry point `main`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shader {
    /// Kernel name and variant, for people.
    pub label: String,
    /// The text; its hash is the pipeline's key.
    pub wgsl: String,
    /// For a kernel that reads a frame: the same kernel over `texture_external`.
    pub external: Option<String>,
    /// True where the text needs `enable f16`.
    pub f16: bool,
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dispatch {
    /// Index into [`Recording::shaders`].
    pub shader: usize,
    /// Group 0.
    pub bindings: Vec<Binding>,
    /// Workgroups per dimension, each at most 65,535.
    pub groups: [u32; 3],
    /// Index of the layer it belongs to.
    pub layer: usize,
}

/// One step of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// A tensor handed in for model input `input` is written here. Skipped where a frame was handed in.
    Upload {
        /// Index of the model input.
        input: usize,
        /// Where it goes.
        to: Range,
    },
    /// Pre-processing of a frame handed in for model input `input`. Skipped where a tensor was handed in.
    Frame {
        /// Index of the model input.
        input: usize,
        /// The kernel that samples the frame.
        dispatch: Dispatch,
    },
    /// A kernel.
    Dispatch(Dispatch),
    /// Model output `output` is copied to a staging buffer, unless the caller keeps it on the GPU.
    Download {
        /// Index of the output.
        output: usize,
        /// Where it lies.
        from: Range,
    },
}

/// Everything a run does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recording {
    /// Bytes of the arena of each request.
    pub arena_bytes: u64,
    /// Bytes of the shared weights buffer.
    pub weights_bytes: u64,
    /// Contents of the parameter buffer.
    pub params: Vec<u8>,
    /// Distinct shaders.
    pub shaders: Vec<Shader>,
    /// Steps in order.
    pub commands: Vec<Command>,
}
