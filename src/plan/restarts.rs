//! Many short exact searches instead of a long one: run times are heavy-tailed, and the slots that failed are remembered.

use super::Limit;
use super::exact::{Budget, Verdict, search};
use super::greedy::Packing;
use super::instance::{Instance, sorted};
use super::random::Random;
use super::slots::Slots;

/// Nodes of the first round; each round of three gets a twentieth more.
const FIRST_NODES: u64 = 1000;
/// Blocks above which no exact search is made: a node looks at all of them.
const MAX_BLOCKS: usize = 4096;

/// What came of it.
pub(super) struct Improved {
    pub packing: Packing,
    /// No packing is lower than this, in units.
    pub bound: u64,
}

/// Looks for a packing lower than `packing` until one is no higher than `goal` units, or none lower than `bound` units
/// is left, or the limit is reached.
pub(super) fn improve(
    instance: &Instance,
    packing: Packing,
    mut bound: u64,
    goal: u64,
    limit: &Limit<'_>,
    started: f64,
) -> Improved {
    let mut best = packing;
    let expired = || match limit {
        Limit::Nodes(_) => false,
        Limit::Clock { now, milliseconds } => now() - started >= *milliseconds,
    };
    let mut nodes_left = match limit {
        Limit::Nodes(nodes) => *nodes,
        Limit::Clock { .. } => u64::MAX,
    };
    if !instance.conflicts_known || instance.len() > MAX_BLOCKS {
        return Improved { packing: best, bound };
    }
    let slots = Slots::new(instance);
    // Most rounds go for the goal; every eighth for half the way, so that a goal out of reach still gives progress.
    let mut series = [Series::new(1, slots.load.len()), Series::new(2, slots.load.len())];
    for round in 0u64.. {
        let goal = goal.max(bound);
        if best.height <= goal || nodes_left == 0 || expired() {
            break;
        }
        let half_way = round % 8 == 7;
        let height = if half_way { goal + (best.height - 1 - goal) / 2 } else { goal };
        let mut budget = Budget { nodes: nodes_left, expired: &expired };
        match series[usize::from(half_way)].next(instance, &slots, height, &mut budget) {
            Verdict::Fits(offsets) => {
                let tops = offsets.iter().zip(&instance.sizes).map(|(offset, size)| offset + size);
                best = Packing { height: tops.max().unwrap_or(0), offsets, packer: "exact search" };
            }
            Verdict::Impossible => bound = height + 1,
            Verdict::Unknown => {}
        }
        nodes_left = budget.nodes;
    }
    Improved { packing: best, bound }
}

/// Searches that learn from one another.
struct Series {
    round: u64,
    /// Nodes of the next search.
    nodes: u64,
    /// Which slots failed often.
    weights: Vec<u64>,
    random: Random,
}

impl Series {
    fn new(seed: u64, slots: usize) -> Self {
        Self { round: 0, nodes: FIRST_NODES, weights: vec![1; slots], random: Random::new(seed) }
    }

    fn next(&mut self, instance: &Instance, slots: &Slots, height: u64, left: &mut Budget<'_>) -> Verdict {
        let order = order(instance, self.round, &mut self.random);
        let granted = self.nodes.min(left.nodes);
        let mut budget = Budget { nodes: granted, expired: left.expired };
        let verdict = search(instance, slots, height, &order, &mut self.weights, &mut budget);
        left.nodes -= granted - budget.nodes;
        self.round += 1;
        if self.round.is_multiple_of(3) {
            self.nodes += self.nodes / 20;
        }
        // Recent failures count more.
        self.weights.iter_mut().for_each(|weight| *weight = 1 + *weight * 4 / 5);
        verdict
    }
}

/// Blocks by life, area or size in turns, largest first; with more and more chance in it as rounds go by.
fn order(instance: &Instance, round: u64, random: &mut Random) -> Vec<u32> {
    let chance = usize::try_from((round / 3).min(10) * 50).unwrap_or(0);
    sorted(instance.len(), &mut |block| {
        let (size, life) = (u128::from(instance.sizes[block]), instance.lives[block]);
        let steps = u128::from(life.end - life.start);
        let key = match round % 3 {
            0 => steps,
            1 => steps.saturating_mul(size),
            _ => size,
        };
        [!key.saturating_mul(256 + random.below(chance + 1) as u128), 0]
    })
}
