//! Greedy packers: an order in which to place the blocks, each at the lowest offset that is free for its whole life.

use super::instance::{Instance, sorted};
use super::slots::Slots;

/// Offsets in units, their height, and who made them.
pub(super) struct Packing {
    pub offsets: Vec<u64>,
    pub height: u64,
    pub packer: &'static str,
}

/// Runs every packer and returns the lowest packing; the first of equals wins.
pub(super) fn portfolio(instance: &Instance) -> Packing {
    let mut best = linear_scan(instance);
    if !instance.conflicts_known {
        return best;
    }
    for (packer, order) in orders(instance) {
        for fit in [Fit::Lowest, Fit::Tightest] {
            let packing = place(instance, &order, fit, packer);
            if packing.height < best.height {
                best = packing;
            }
        }
    }
    best
}

/// The orders worth trying, with the names under which they are known.
fn orders(instance: &Instance) -> [(&'static str, Vec<u32>); 6] {
    let size = |block: usize| u128::from(instance.sizes[block]);
    let steps = |block: usize| u128::from(instance.lives[block].end - instance.lives[block].start);
    let conflict = |block: usize| instance.conflicts[block].iter().map(|&other| size(other as usize)).sum::<u128>();
    let largest_first = |key: &dyn Fn(usize) -> [u128; 2]| sorted(instance.len(), &mut |block| key(block).map(|k| !k));
    [
        ("greedy by size", largest_first(&|block| [size(block), steps(block)])),
        ("greedy by conflict", largest_first(&|block| [conflict(block) + size(block), size(block)])),
        ("greedy by area", largest_first(&|block| [size(block).saturating_mul(steps(block)), size(block)])),
        ("greedy by life", largest_first(&|block| [steps(block), size(block)])),
        ("greedy by time", largest_first(&|block| [(u32::MAX - instance.lives[block].start).into(), size(block)])),
        ("greedy by breadth", by_breadth(instance)),
    ]
}

/// The slots in which most is alive first, and the largest blocks of each first (Pisarchyk and Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", 2020).
fn by_breadth(instance: &Instance) -> Vec<u32> {
    let slots = Slots::new(instance);
    // Load and, of equal loads, the earliest slot, as one number.
    let width = |slot: usize| u128::from(slots.load[slot]) << 64 | u128::from(!(slot as u64));
    let widest = |block: usize| slots.cover[block].clone().map(width).max().unwrap_or(0);
    sorted(instance.len(), &mut |block| [!widest(block), !u128::from(instance.sizes[block])])
}

/// Which free gap a block takes.
#[derive(Clone, Copy)]
pub(super) enum Fit {
    /// The lowest that is large enough.
    Lowest,
    /// The smallest that is large enough; above everything only where there is none.
    Tightest,
}

/// Places the blocks in `order`, each where `fit` says among the conflicting blocks placed before it.
pub(super) fn place(instance: &Instance, order: &[u32], fit: Fit, packer: &'static str) -> Packing {
    const UNPLACED: u64 = u64::MAX;
    let mut offsets = vec![UNPLACED; instance.len()];
    let mut height = 0;
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for &block in order {
        let block = block as usize;
        let size = instance.sizes[block];
        taken.clear();
        taken.extend(instance.conflicts[block].iter().filter_map(|&other| {
            let offset = offsets[other as usize];
            (offset != UNPLACED).then(|| (offset, offset + instance.sizes[other as usize]))
        }));
        taken.sort_unstable();
        let offset = gap(&taken, size, fit);
        offsets[block] = offset;
        height = height.max(offset + size);
    }
    Packing { offsets, height, packer }
}

/// The offset of the gap that `size` takes between `taken` ranges, which are sorted and may overlap.
fn gap(taken: &[(u64, u64)], size: u64, fit: Fit) -> u64 {
    let mut top = 0;
    let mut best: Option<(u64, u64)> = None;
    for &(from, to) in taken {
        if from >= top + size {
            let room = from - top;
            if best.is_none_or(|(least, _)| room < least) {
                best = Some((room, top));
            }
            if matches!(fit, Fit::Lowest) {
                break;
            }
        }
        top = top.max(to);
    }
    best.map_or(top, |(_, offset)| offset)
}

/// In order of time, each block at the lowest offset free at its first step. Needs no conflict lists.
fn linear_scan(instance: &Instance) -> Packing {
    let order =
        sorted(instance.len(), &mut |block| [instance.lives[block].start.into(), !u128::from(instance.sizes[block])]);
    let mut offsets = vec![0; instance.len()];
    let mut height = 0;
    // Alive blocks as (offset, end, last step), by offset.
    let mut alive: Vec<(u64, u64, u32)> = Vec::new();
    for block in order {
        let block = block as usize;
        let (size, life) = (instance.sizes[block], instance.lives[block]);
        alive.retain(|&(_, _, end)| end > life.start);
        let (mut offset, mut at) = (0, 0);
        while let Some(&(from, to, _)) = alive.get(at) {
            if from >= offset + size {
                break;
            }
            offset = to;
            at += 1;
        }
        alive.insert(at, (offset, offset + size, life.end));
        offsets[block] = offset;
        height = height.max(offset + size);
    }
    Packing { offsets, height, packer: "linear scan" }
}
