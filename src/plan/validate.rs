//! The referee. It shares no code with the packers: two loops and plain comparisons, so that it can be read in a minute.

use super::{Block, Plan};
use std::fmt;

/// What is wrong with a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The plan has an offset too many or too few.
    WrongCount {
        /// Blocks given.
        blocks: usize,
        /// Offsets in the plan.
        offsets: usize,
    },
    /// An offset is not a multiple of the alignment (or the alignment is zero).
    Misaligned {
        /// The block.
        block: usize,
        /// Its offset in bytes.
        offset: u64,
    },
    /// A block ends past the arena's end.
    OutOfBounds {
        /// The block.
        block: usize,
        /// Where the block ends, in bytes; `None` where that exceeds 64 bits.
        end: Option<u64>,
        /// Size of the arena in bytes.
        arena: u64,
    },
    /// Two blocks that are alive at the same step share a byte.
    Overlap {
        /// One block.
        first: usize,
        /// The other.
        second: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongCount { blocks, offsets } => write!(f, "{offsets} offsets for {blocks} blocks"),
            Self::Misaligned { block, offset } => write!(f, "block {block} lies at {offset}, not aligned"),
            Self::OutOfBounds { block, end: Some(end), arena } => {
                write!(f, "block {block} ends at {end}, past the arena's {arena} bytes")
            }
            Self::OutOfBounds { block, end: None, arena } => {
                write!(f, "block {block} ends past 64 bits, the arena has {arena} bytes")
            }
            Self::Overlap { first, second } => {
                write!(f, "blocks {first} and {second} share memory while both are alive")
            }
        }
    }
}

impl std::error::Error for Violation {}

/// Checks that `plan` is a plan for `blocks`: as many offsets, each aligned, each block inside the arena, and no two
/// blocks that are alive at the same step sharing a byte. O(n²).
///
/// # Errors
/// The first [`Violation`] found.
pub fn validate(blocks: &[Block], plan: &Plan, alignment: u64) -> Result<(), Violation> {
    if blocks.len() != plan.offsets.len() {
        return Err(Violation::WrongCount { blocks: blocks.len(), offsets: plan.offsets.len() });
    }
    for (index, (a, &offset)) in blocks.iter().zip(&plan.offsets).enumerate() {
        if alignment == 0 || offset % alignment != 0 {
            return Err(Violation::Misaligned { block: index, offset });
        }
        let takes_room = a.bytes > 0 && a.life.start < a.life.end;
        let end = offset.checked_add(if takes_room { a.bytes } else { 0 });
        let Some(end) = end.filter(|&end| end <= plan.bytes) else {
            return Err(Violation::OutOfBounds { block: index, end, arena: plan.bytes });
        };
        if !takes_room {
            continue;
        }
        for (other, (b, &other_offset)) in blocks.iter().zip(&plan.offsets).enumerate() {
            if b.bytes == 0 || b.life.start >= b.life.end {
                continue;
            }
            let same_time = a.life.start < b.life.end && b.life.start < a.life.end;
            let same_place = offset < other_offset.saturating_add(b.bytes) && other_offset < end;
            if other != index && same_time && same_place {
                return Err(Violation::Overlap { first: index.min(other), second: index.max(other) });
            }
        }
    }
    Ok(())
}
