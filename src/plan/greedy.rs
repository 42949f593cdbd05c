//! Greedy packers: an order in which to place the blocks, each at the lowest offset that is free for its whole life.

use super::instance::Instance;

/// Offsets in units, their height, and who made them.
pub(super) struct Packing {
    pub offsets: Vec<u64>,
    pub height: u64,
    pub packer: &'static str,
}

/// Runs every packer and returns the lowest packing; the first of equals wins.
pub(super) fn portfolio(instance: &Instance) -> Packing {
    let mut best = linear_scan(instance);
    if instance.conflicts_known {
        let sizes = &instance.sizes;
        let mut order: Vec<u32> = (0..instance.len() as u32).collect();
        order.sort_by_key(|&block| std::cmp::Reverse(sizes[block as usize]));
        let packing = place(instance, &order, "greedy by size");
        if packing.height < best.height {
            best = packing;
        }
    }
    best
}

/// Places the blocks in `order`, each at the lowest offset free among the conflicting blocks placed before it.
pub(super) fn place(instance: &Instance, order: &[u32], packer: &'static str) -> Packing {
    const UNPLACED: u64 = u64::MAX;
    let mut offsets = vec![UNPLACED; instance.len()];
    let mut height = 0;
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for &block in order {
        let block = block as usize;
        taken.clear();
        taken.extend(instance.conflicts[block].iter().filter_map(|&other| {
            let offset = offsets[other as usize];
            (offset != UNPLACED).then(|| (offset, offset + instance.sizes[other as usize]))
        }));
        taken.sort_unstable();
        let mut offset = 0;
        for &(from, to) in &taken {
            if from >= offset + instance.sizes[block] {
                break;
            }
            offset = offset.max(to);
        }
        offsets[block] = offset;
        height = height.max(offset + instance.sizes[block]);
    }
    Packing { offsets, height, packer }
}

/// In order of time, each block at the lowest offset free at its first step. Needs no conflict lists.
fn linear_scan(instance: &Instance) -> Packing {
    let mut order: Vec<u32> = (0..instance.len() as u32).collect();
    order.sort_by_key(|&block| {
        let block = block as usize;
        (instance.lives[block].start, std::cmp::Reverse(instance.sizes[block]))
    });
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
