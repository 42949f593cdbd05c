//! How long the parts of a run took.

use super::clock::Clock;
use serde::Serialize;

/// Times of one run in milliseconds. Those of the CPU follow one another; those of the GPU lie within `wait_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunTimes {
    /// Number of the frame in the ledger, from 1.
    pub frame: u64,
    /// Writing tensors.
    pub upload_ms: f64,
    /// Handing frames over and encoding their pre-processing.
    pub pre_ms: f64,
    /// Encoding and submitting the network.
    pub encode_ms: f64,
    /// From submission until the results could be read.
    pub wait_ms: f64,
    /// What the GPU's own clock says, where the adapter has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuTimes>,
}

/// GPU times of one run in milliseconds; browsers round them to about a tenth. A part that did not occur, or whose time
/// is not known (a frame read in place), is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuTimes {
    /// Pre-processing of a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_ms: Option<f64>,
    /// The network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_ms: Option<f64>,
    /// Post-processing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_ms: Option<f64>,
}

/// Measures stretches that follow one another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch {
    clock: Clock,
    last: f64,
}

impl Stopwatch {
    pub(super) fn start(clock: Clock) -> Self {
        Self { clock, last: clock() }
    }

    /// Milliseconds since the start or the last lap.
    pub(super) fn lap(&mut self) -> f64 {
        let now = (self.clock)();
        now - std::mem::replace(&mut self.last, now)
    }
}
