//! The ledger as it is shown: movements by edge, bytes by class, and bounds to hold them to.

use super::{MoveKind, Place};
use serde::{Deserialize, Serialize};

/// All movements of one kind between two places.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// `from>to:kind`, with the reason behind a slash where there is one.
    pub id: String,
    /// Where the bytes come from.
    pub from: Place,
    /// Where they go.
    pub to: Place,
    /// How.
    pub kind: MoveKind,
    /// Bytes of the last frame that used the edge; 0 for what belongs to no frame, such as loading weights.
    pub bytes_per_frame: u64,
    /// Number of movements.
    pub count: u64,
    /// Bytes of all movements.
    pub bytes: u64,
    /// True where the caller did not ask for it.
    pub implicit: bool,
    /// Why, where it is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Mean CPU time of a movement in milliseconds.
    pub cpu_ms: f64,
    /// Mean GPU time in milliseconds, where the adapter has timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_ms: Option<f64>,
    /// Number of the last frame that used the edge; 0 where none did.
    pub last_frame: u64,
}

/// The account as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Which adapter the account is of.
    pub adapter: String,
    /// Frames (runs) finished.
    pub frames: u64,
    /// Movements by edge, in the order in which they first occurred.
    pub edges: Vec<Edge>,
    /// Bytes that crossed from CPU to GPU memory.
    pub to_gpu_bytes: u64,
    /// Bytes that crossed from GPU to CPU memory.
    pub to_cpu_bytes: u64,
    /// GPU buffers made so far.
    pub buffers_created: u64,
    /// GPU textures made so far.
    pub textures_created: u64,
    /// Bind groups made so far.
    pub bind_groups_created: u64,
}

/// Bytes of GPU memory by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bytes {
    /// [`Class::Weights`].
    pub weights: u64,
    /// [`Class::Arena`].
    pub arena: u64,
    /// [`Class::Staging`].
    pub staging: u64,
    /// [`Class::Textures`].
    pub textures: u64,
    /// [`Class::Uniforms`].
    pub uniforms: u64,
    /// [`Class::Build`].
    pub build: u64,
    /// Their sum.
    pub total: u64,
    /// The highest `total` so far.
    pub peak: u64,
}

/// Runs under way and waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Runs handed to the GPU whose results are not there yet.
    pub in_flight: u64,
    /// Callers that wait for a request.
    pub waiting: u64,
}

/// What is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// GPU bytes now.
    pub gpu: Bytes,
    /// The highest value of each class so far; `total` and `peak` as in `gpu`.
    pub peaks: Bytes,
    /// Size of the wasm heap; 0 in a native build.
    pub wasm_bytes: u64,
    /// Requests (execution contexts) alive.
    pub requests: u64,
    /// Engines loaded.
    pub engines: u64,
    /// GPU buffers alive.
    pub buffers: u64,
    /// GPU textures alive.
    pub textures: u64,
    /// Runs under way and waiting.
    pub queue: Queue,
}

/// Upper bounds for [`Ledger::assert`]; a bound left out is not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Bounds {
    /// Bytes from GPU to CPU in a frame.
    pub to_cpu_bytes_per_frame: Option<u64>,
    /// Bytes from CPU to GPU in a frame.
    pub to_gpu_bytes_per_frame: Option<u64>,
    /// Bytes from GPU to CPU altogether.
    pub to_cpu_bytes: Option<u64>,
    /// Bytes from CPU to GPU altogether.
    pub to_gpu_bytes: Option<u64>,
    /// Number of movements that nobody asked for.
    pub implicit: Option<u64>,
    /// GPU buffers made so far.
    pub buffers_created: Option<u64>,
    /// Bind groups made so far.
    pub bind_groups_created: Option<u64>,
    /// GPU bytes alive.
    pub gpu_bytes: Option<u64>,
}
