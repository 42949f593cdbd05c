//! Where each buffer lies in the arena: sizes and lifetimes in, offsets out. Knows nothing of tensors or GPUs.
//!
//! ```text
//! Block { bytes, life }…  ─▶ greedy portfolio ─▶ hill climb ─▶ exact search ─▶ Plan { offsets, bytes, lower_bound, … }
//!                                                  (each later stage only while a better plan is still possible)
//! ```
//!
//! [`validate`] shares no code with the packers and is meant to be run on every plan, in tests and at load.

mod alias;
mod bound;
mod climb;
mod exact;
mod greedy;
mod instance;
mod random;
mod report;
mod restarts;
mod slots;
mod validate;

pub use alias::{Aliased, Place, Refusal, Relation, unify};
pub use bound::{lower_bound, naive};
pub use validate::{Violation, validate};

use instance::Instance;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A step number: position of a layer in execution order.
pub type Step = u32;

/// The alignment of buffer ranges in WebGPU (`minStorageBufferOffsetAlignment`), in bytes.
pub const DEFAULT_ALIGNMENT: u64 = 256;

/// A half-open range of steps, `[start, end)`, in which a buffer's content must survive.
///
/// A step reads all its operands while it writes its results, so a buffer read by step `r` still occupies step `r`:
/// written first by step `w` and read last by step `r` it lives in `[w, r + 1)`; see [`Lifetime::through`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lifetime {
    /// First step at which the buffer is occupied.
    pub start: Step,
    /// First step at which it is free again. At or before `start`: the buffer is never occupied.
    pub end: Step,
}

impl Lifetime {
    /// The half-open range `[start, end)`.
    pub const fn new(start: Step, end: Step) -> Self {
        Self { start, end }
    }

    /// From the step that writes it first through the step that touches it last, inclusive.
    /// A step number of `u32::MAX` cannot be represented and saturates.
    pub const fn through(first_write: Step, last_touch: Step) -> Self {
        Self { start: first_write, end: last_touch.saturating_add(1) }
    }

    /// True where no step lies in the range.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// True where some step lies in both ranges.
    pub const fn overlaps(self, other: Self) -> bool {
        !self.is_empty() && !other.is_empty() && self.start < other.end && other.start < self.end
    }

    /// True where `step` lies in the range.
    pub const fn contains(self, step: Step) -> bool {
        self.start <= step && step < self.end
    }
}

/// A buffer to place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    /// Size in bytes, before alignment. Zero is allowed and takes no room.
    pub bytes: u64,
    /// When it is occupied. An empty lifetime is allowed and takes no room.
    pub life: Lifetime,
}

/// How hard to look for a smaller plan once the greedy packers have run. Every effort but a clock is deterministic.
#[derive(Clone, Copy, Default)]
pub enum Effort<'a> {
    /// The greedy portfolio; where that leaves a gap, a hill climb and a short exact search, both of bounded work.
    #[default]
    Fast,
    /// Then an exact search until the optimum is proven, the capacity is met, or the limit is reached.
    Thorough(Limit<'a>),
}

/// When the exact search gives up.
#[derive(Clone, Copy)]
pub enum Limit<'a> {
    /// After so many search nodes: the same plan on every machine.
    Nodes(u64),
    /// When the clock says so.
    Clock {
        /// A monotonic clock in milliseconds (`performance.now()` in a browser).
        now: &'a dyn Fn() -> f64,
        /// Time allowed, counted from the start of [`plan`], in milliseconds.
        milliseconds: f64,
    },
}

/// What the plan must respect and how long to look for it.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Every offset is a multiple of this many bytes, and every size is rounded up to one. Not zero.
    pub alignment: u64,
    /// The most bytes the arena may have. A plan that fits ends the search; without one the search ends at the lower bound.
    pub capacity: Option<u64>,
    /// How hard to look.
    pub effort: Effort<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { alignment: DEFAULT_ALIGNMENT, capacity: None, effort: Effort::Fast }
    }
}

/// Offsets for all blocks, and how good they are. `Display` prints the report line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Byte offset of each block, in the order given. A block that takes no room has offset 0.
    pub offsets: Vec<u64>,
    /// Size of the arena in bytes, a multiple of the alignment.
    pub bytes: u64,
    /// No plan can be smaller: the largest aligned sum alive at one step, in bytes.
    pub lower_bound: u64,
    /// The step at which the lower bound is reached first.
    pub peak_step: Step,
    /// What it would take if no two blocks shared memory, in bytes; see [`naive`].
    pub naive: u64,
    /// The packer whose plan this is.
    pub packer: &'static str,
    /// True where no smaller plan exists: it meets the lower bound, or the exact search found nothing below it.
    pub optimal: bool,
    /// The alignment it was made for, in bytes.
    pub alignment: u64,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The alignment is zero.
    ZeroAlignment,
    /// The sizes do not add up within 64 bits.
    Overflow,
    /// More blocks than a plan can number.
    TooManyBlocks {
        /// How many were given.
        blocks: usize,
    },
    /// The best plan found does not fit.
    OverCapacity {
        /// Size of the best plan found, in bytes: the smallest capacity that is known to do.
        needed: u64,
        /// The capacity asked for, in bytes.
        capacity: u64,
        /// No plan can be smaller than this, in bytes.
        lower_bound: u64,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroAlignment => f.write_str("alignment of zero bytes"),
            Self::Overflow => f.write_str("the buffers' sizes add up to more than 64 bits can hold"),
            Self::TooManyBlocks { blocks } => write!(f, "{blocks} buffers are more than a plan can number"),
            Self::OverCapacity { needed, capacity, lower_bound } => {
                write!(
                    f,
                    "the arena needs {needed} bytes (no plan can need fewer than {lower_bound}), allowed are {capacity}"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// Looks at a conflicting block that the hill climb may take: a few milliseconds.
const CLIMB_WORK: u64 = 400_000;
/// Looks at a block or slot that the exact search may take when it was not asked for: a few milliseconds.
const PROBE_WORK: u64 = 4_000_000;

/// Places `blocks` so that no two that are alive at the same step share a byte.
///
/// # Errors
/// [`PlanError`]: sizes that overflow, an alignment of zero, a capacity that was not met.
pub fn plan(blocks: &[Block], options: &Options<'_>) -> Result<Plan, PlanError> {
    let started = match options.effort {
        Effort::Thorough(Limit::Clock { now, .. }) => now(),
        _ => 0.0,
    };
    let instance = Instance::new(blocks, options.alignment)?;
    let (lower_bound, peak_step) = lower_bound(blocks, options.alignment)?;
    // From here on in units of the instance, in which all sizes and the bound are whole numbers.
    let floor = lower_bound / instance.unit;
    let goal = options.capacity.map_or(floor, |capacity| (capacity / instance.unit).max(floor));
    let mut best = greedy::portfolio(&instance);
    let mut proven = floor;
    if best.height > goal && instance.conflicts_known {
        best = climb::climb(&instance, best, goal, CLIMB_WORK);
    }
    if best.height > goal {
        let limit = match options.effort {
            Effort::Fast => Limit::Nodes(PROBE_WORK / instance.work_of_a_node()),
            Effort::Thorough(limit) => limit,
        };
        let improved = restarts::improve(&instance, best, floor, goal, &limit, started);
        (best, proven) = (improved.packing, improved.bound);
    }
    let plan = Plan {
        offsets: instance.offsets_in_bytes(&best.offsets),
        bytes: best.height * instance.unit,
        lower_bound,
        peak_step,
        naive: naive(blocks, options.alignment)?,
        packer: best.packer,
        optimal: best.height <= proven,
        alignment: options.alignment,
    };
    match options.capacity {
        Some(capacity) if plan.bytes > capacity => {
            Err(PlanError::OverCapacity { needed: plan.bytes, capacity, lower_bound: proven * instance.unit })
        }
        _ => Ok(plan),
    }
}
