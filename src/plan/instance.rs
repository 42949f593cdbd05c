//! The problem as the packers see it: blocks that take room, sizes in the largest unit that divides them all, conflicts.

use super::{Block, Lifetime, PlanError, naive};

/// Above this many conflicting pairs the quadratic packers stay out and linear scan alone serves.
const MAX_PAIRS: usize = 1_000_000;

/// Blocks numbered `0..len`, without those that take no room.
pub(super) struct Instance {
    /// Size of each block in units.
    pub sizes: Vec<u64>,
    /// Lifetime of each block, not empty.
    pub lives: Vec<Lifetime>,
    /// Blocks alive at the same time as each block, ascending; empty lists throughout where there are too many.
    pub conflicts: Vec<Vec<u32>>,
    /// False where `conflicts` was left empty because it would be too large.
    pub conflicts_known: bool,
    /// Bytes of one unit: the largest multiple of the alignment that divides every aligned size.
    pub unit: u64,
    /// Index of each block among the caller's.
    origin: Vec<u32>,
    /// How many blocks the caller has.
    total: usize,
}

impl Instance {
    pub fn new(blocks: &[Block], alignment: u64) -> Result<Self, PlanError> {
        u32::try_from(blocks.len()).map_err(|_| PlanError::TooManyBlocks { blocks: blocks.len() })?;
        let (mut sizes, mut lives, mut origin) = (Vec::new(), Vec::new(), Vec::new());
        // Every sum of sizes, and so every offset a packer makes, stays below this one: no need to check further on.
        naive(blocks, alignment)?;
        for (index, block) in (0u32..).zip(blocks) {
            let bytes = block.bytes.checked_next_multiple_of(alignment).ok_or(PlanError::Overflow)?;
            if bytes > 0 && !block.life.is_empty() {
                sizes.push(bytes);
                lives.push(block.life);
                origin.push(index);
            }
        }
        let unit = sizes.iter().copied().reduce(gcd).unwrap_or(alignment);
        sizes.iter_mut().for_each(|size| *size /= unit);
        let (conflicts, conflicts_known) = conflicts(&lives);
        Ok(Self { sizes, lives, conflicts, conflicts_known, unit, origin, total: blocks.len() })
    }

    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// About how many blocks and conflicts a node of the exact search looks at; at least 1.
    pub fn work_of_a_node(&self) -> u64 {
        self.conflicts.iter().map(|list| list.len() as u64 + 1).sum::<u64>().max(1)
    }

    /// Offsets in bytes for the caller's blocks, from offsets in units for these.
    pub fn offsets_in_bytes(&self, offsets: &[u64]) -> Vec<u64> {
        let mut bytes = vec![0; self.total];
        for (&origin, &offset) in self.origin.iter().zip(offsets) {
            bytes[origin as usize] = offset * self.unit;
        }
        bytes
    }
}

/// The numbers below `count` in the order of their keys, smallest first; what has equal keys stays in order. All orders of the
/// planner are made here: each type that is sorted brings a sorting algorithm of its own into the binary.
pub(super) fn sorted(count: usize, key: &mut dyn FnMut(usize) -> [u128; 2]) -> Vec<u32> {
    let mut keyed: Vec<([u128; 2], u32)> = (0..count).map(|i| (key(i), i as u32)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, i)| i).collect()
}

/// The greatest common divisor.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// For each lifetime the others that overlap it, and whether they were few enough to list.
fn conflicts(lives: &[Lifetime]) -> (Vec<Vec<u32>>, bool) {
    let mut lists = vec![Vec::new(); lives.len()];
    let by_start = sorted(lives.len(), &mut |block| [lives[block].start.into(), 0]);
    let mut pairs = 0;
    let mut alive: Vec<u32> = Vec::new();
    for block in by_start {
        let start = lives[block as usize].start;
        alive.retain(|&other| lives[other as usize].end > start);
        pairs += alive.len();
        if pairs > MAX_PAIRS {
            return (vec![Vec::new(); lives.len()], false);
        }
        for &other in &alive {
            lists[block as usize].push(other);
            lists[other as usize].push(block);
        }
        alive.push(block);
    }
    lists.iter_mut().for_each(|list| list.sort_unstable());
    (lists, true)
}
