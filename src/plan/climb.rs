//! Hill climbing over placement orders: move a block that sticks out at the top, or one in its way, to an earlier turn.

use super::greedy::{Fit, Packing, place};
use super::instance::{Instance, sorted};
use super::random::Random;

/// Improves `packing` by at most `work` looks at a conflicting block, until it is no higher than `goal` units.
pub(super) fn climb(instance: &Instance, packing: Packing, goal: u64, work: u64) -> Packing {
    let blocks = instance.len();
    let look: u64 = instance.conflicts.iter().map(|list| list.len() as u64 + 1).sum();
    let mut random = Random::new(blocks as u64);
    // Placing from the bottom up never makes a packing higher.
    let mut order = sorted(blocks, &mut |block| [packing.offsets[block].into(), 0]);
    let mut best = packing;
    let mut current = best.offsets.clone();
    let mut current_height = best.height;
    for _ in 0..work / look.max(1) {
        if best.height <= goal {
            break;
        }
        let peaks: Vec<usize> =
            (0..blocks).filter(|&block| current[block] + instance.sizes[block] == current_height).collect();
        let peak = peaks[random.below(peaks.len())];
        let conflicts = &instance.conflicts[peak];
        let moved = match random.below(2) {
            0 if !conflicts.is_empty() => conflicts[random.below(conflicts.len())],
            _ => peak as u32,
        };
        let Some(from) = order.iter().position(|&block| block == moved) else { break };
        let to = random.below(from + 1);
        let mut changed = order.clone();
        changed[to..=from].rotate_right(1);
        let next = place(instance, &changed, Fit::Lowest, "hill climb");
        if next.height <= current_height {
            order = changed;
            current.clone_from(&next.offsets);
            current_height = next.height;
        }
        if next.height < best.height {
            best = next;
        }
    }
    best
}
