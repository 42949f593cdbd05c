//! What loading a model holds in memory, phase by phase. Measured, where the heap is counted.

use crate::heap;
use serde::Serialize;

/// A phase of loading, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Phase {
    Import,
    Optimize,
    Plan,
    Lower,
    Kernels,
    Weights,
    /// Loaded: what stays.
    Ready,
}

impl Phase {
    /// The number of phases of compiling, the first ones.
    pub const OF_COMPILING: usize = 4;

    /// The word used in JavaScript.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Optimize => "optimize",
            Self::Plan => "plan",
            Self::Lower => "lower",
            Self::Kernels => "kernels",
            Self::Weights => "weights",
            Self::Ready => "ready",
        }
    }
}

/// Phase by phase, the most bytes that were held for one model. The heap is one for all: what else is allocated on it during a
/// phase counts, too.
#[derive(Debug, Clone, Default)]
pub struct Residency {
    /// Bytes of the heap held for this model between phases.
    held: u64,
    phases: Vec<(Phase, u64)>,
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    phase: Phase,
    /// Bytes on the heap that have nothing to do with this model.
    others: u64,
}

impl Residency {
    /// Begins to measure; `own` bytes of the heap hold the model's file.
    pub(super) fn begin(own: usize) -> Self {
        Self { held: own as u64, ..Self::default() }
    }

    /// Begins a phase, and ends the one before.
    pub fn enter(&mut self, phase: Phase) {
        self.leave(0);
        self.open = Some(Open { phase, others: heap::live().saturating_sub(self.held) });
        heap::restart_peak();
    }

    /// Ends the phase; `gpu` bytes of GPU memory are held besides the heap.
    pub fn leave(&mut self, gpu: u64) {
        // Where nothing counts the heap, half the truth is not told.
        let Some(Open { phase, others }) = self.open.take().filter(|_| heap::live() > 0) else { return };
        self.held = heap::live().saturating_sub(others);
        self.phases.push((phase, heap::peak().saturating_sub(others).saturating_add(gpu)));
    }

    /// The phases so far and the most bytes of each.
    pub fn phases(&self) -> &[(Phase, u64)] {
        &self.phases
    }
}
