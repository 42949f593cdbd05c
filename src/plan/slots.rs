//! Time as the exact search sees it: only the moments at which a largest set of blocks is alive.

use super::instance::Instance;
use std::ops::Range;

/// Slots in time order. A slot stands for a step whose set of alive blocks is contained in no other step's.
pub(super) struct Slots {
    /// The slots each block covers; never empty.
    pub cover: Vec<Range<usize>>,
    /// Sum of the sizes alive in each slot.
    pub load: Vec<u64>,
}

impl Slots {
    pub fn new(instance: &Instance) -> Self {
        let lives = &instance.lives;
        let mut starts: Vec<u32> = lives.iter().map(|life| life.start).collect();
        let mut ends: Vec<u32> = lives.iter().map(|life| life.end).collect();
        starts.sort_unstable();
        starts.dedup();
        ends.sort_unstable();
        // What is alive at a start is all alive at the next one too unless a block ends in between.
        let mut steps = Vec::new();
        for (at, &step) in starts.iter().enumerate() {
            let next_end = ends.get(ends.partition_point(|&end| end <= step));
            let next_start = starts.get(at + 1).copied().unwrap_or(u32::MAX);
            if next_end.is_some_and(|&end| end <= next_start) {
                steps.push(step);
            }
        }
        let before = |bound: u32| steps.partition_point(|&step| step < bound);
        let cover: Vec<Range<usize>> = lives.iter().map(|life| before(life.start)..before(life.end)).collect();
        let mut load = vec![0; steps.len()];
        for (range, &size) in cover.iter().zip(&instance.sizes) {
            load[range.clone()].iter_mut().for_each(|sum| *sum += size);
        }
        Self { cover, load }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Block, Lifetime};
    use super::*;

    #[test]
    fn keeps_only_the_largest_sets() {
        let block = |start, end| Block { bytes: 1, life: Lifetime::new(start, end) };
        // {0} ⊂ {0, 1}, then {1, 2}, {2, 3}.
        let blocks = [block(0, 4), block(2, 6), block(5, 9), block(7, u32::MAX)];
        let slots = Slots::new(&Instance::new(&blocks, 1).expect("small sizes"));
        assert_eq!(slots.cover, [0..1, 0..2, 1..3, 2..3]);
        assert_eq!(slots.load, [2, 2, 2]);
    }
}
