//! Does everything fit below a given height? A depth-first search that proves it either way.
//!
//! If a packing exists, one exists in which every block rests on the floor or on another block. The search builds such
//! packings slot by slot from below. At a node it looks at one slot and asks which block comes next there:
//!
//! * one of the *candidates*, the unplaced blocks that could lie exactly at the slot's floor, or
//! * none of them, so that the slot stays empty for a while and each candidate must come to rest on a block that is not
//!   placed yet (it is *lifted*).
//!
//! A slot may be asked only when no unplaced block still fits below a candidate, or a packing would be missed; the slot
//! with the lowest floor always qualifies. Three things make the search fast: a branch is cut where a slot's floor and
//! what remains to be placed there exceed the height; slots with the fewest answers are asked first, weighted by how
//! often they were the ones that failed; and parts of the time line that share no unplaced block are solved apart.
//!
//! The ideas of canonical packings, of bounding each section of time and of splitting the time line are those of
//! "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (Moffitt, ASPLOS 2023);
//! weighting by failure is from "Boosting Systematic Search by Weighting Constraints" (Boussemart et al., ECAI 2004).

use super::instance::{Instance, sorted};
use super::slots::Slots;
use std::ops::Range;

/// Offset of a block that is not placed, and "never" for the height at which a block was ruled out.
const NONE: u64 = u64::MAX;
/// Nested decisions allowed; bounds the stack. Forced placements do not nest.
const MAX_DEPTH: usize = 512;

/// What a search found out.
pub(super) enum Verdict {
    /// Offsets below the height.
    Fits(Vec<u64>),
    /// There are none.
    Impossible,
    /// The budget ran out first.
    Unknown,
}

/// The answer so far of a subtree; `Err` where the budget ran out.
type Found = Result<bool, OutOfBudget>;
struct OutOfBudget;

/// How long a search may take.
pub(super) struct Budget<'a> {
    /// Nodes left.
    pub nodes: u64,
    /// Asked now and then: is time up?
    pub expired: &'a dyn Fn() -> bool,
}

impl Budget<'_> {
    fn spend(&mut self) -> Result<(), OutOfBudget> {
        self.nodes = self.nodes.checked_sub(1).ok_or(OutOfBudget)?;
        if self.nodes.is_multiple_of(128) && (self.expired)() { Err(OutOfBudget) } else { Ok(()) }
    }
}

/// Searches for offsets that keep all blocks below `height` units.
///
/// Candidates are tried in the order of `order`, a permutation of the blocks. `weights` (one a slot, at least 1) says
/// which slots failed often in earlier searches, and is updated.
pub(super) fn search(
    instance: &Instance,
    slots: &Slots,
    height: u64,
    order: &[u32],
    weights: &mut [u64],
    budget: &mut Budget<'_>,
) -> Verdict {
    let blocks = instance.len();
    let mut search = Search {
        instance,
        cover: &slots.cover,
        height,
        rest: slots.load.clone(),
        weights,
        offset: vec![NONE; blocks],
        resting: vec![0; blocks],
        ruled_out: vec![NONE; blocks],
        lowest: vec![0; blocks],
        floor: vec![0; slots.load.len()],
        answers: vec![0; slots.load.len()],
        trail: Vec::new(),
        depth: 0,
    };
    match search.split(order.to_vec(), budget) {
        Ok(true) => Verdict::Fits(search.offset),
        Ok(false) => Verdict::Impossible,
        Err(OutOfBudget) => Verdict::Unknown,
    }
}

/// A change to take back.
enum Change {
    Placed { block: u32 },
    Resting { block: u32, before: u64 },
    RuledOut { block: u32, before: u64 },
}

/// Marks a slot that may not be asked yet.
const NOT_YET: u64 = u64::MAX / 2;

struct Search<'a> {
    instance: &'a Instance,
    cover: &'a [Range<usize>],
    height: u64,
    weights: &'a mut [u64],
    /// Per slot: sum of the sizes not placed yet.
    rest: Vec<u64>,
    /// Per block: where it lies, or `NONE`.
    offset: Vec<u64>,
    /// Per unplaced block: the top of the placed blocks it would rest on.
    resting: Vec<u64>,
    /// Per unplaced block: a height at which it was ruled out. It counts as lifted until `resting` exceeds that.
    ruled_out: Vec<u64>,
    /// Scratch, per unplaced block: no completion has it lower. Equals `resting` unless it is lifted.
    lowest: Vec<u64>,
    /// Scratch, per slot: the lowest an unplaced block can lie there.
    floor: Vec<u64>,
    /// Scratch, per slot: number of candidates, from `NOT_YET` up where it may not be asked.
    answers: Vec<u64>,
    trail: Vec<Change>,
    depth: usize,
}

impl Search<'_> {
    /// Solves the parts of `unplaced` that share no slot one after the other, small ones first.
    fn split(&mut self, unplaced: Vec<u32>, budget: &mut Budget<'_>) -> Found {
        let spans = self.spans(&unplaced);
        if let [span] = &spans[..] {
            return self.solve(unplaced, span.clone(), budget);
        }
        let part = |span: &Range<usize>| {
            let inside = |&&block: &&u32| span.contains(&self.cover[block as usize].start);
            (unplaced.iter().filter(inside).copied().collect::<Vec<u32>>(), span.clone())
        };
        let mut parts: Vec<_> = spans.iter().map(part).collect();
        for i in sorted(parts.len(), &mut |i| [parts[i].0.len() as u128, 0]) {
            let (blocks, span) = std::mem::take(&mut parts[i as usize]);
            if !self.solve(blocks, span, budget)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The maximal ranges of slots that unplaced blocks connect.
    fn spans(&self, unplaced: &[u32]) -> Vec<Range<usize>> {
        let cover = |i: usize| self.cover[unplaced[i] as usize].clone();
        let mut spans: Vec<Range<usize>> = Vec::new();
        for i in sorted(unplaced.len(), &mut |i| [cover(i).start as u128, 0]) {
            let cover = cover(i as usize);
            match spans.last_mut() {
                Some(span) if cover.start < span.end => span.end = span.end.max(cover.end),
                _ => spans.push(cover),
            }
        }
        spans
    }

    /// Places all of `unplaced`, which covers `span` without a break. Leaves its changes on the trail.
    fn solve(&mut self, mut unplaced: Vec<u32>, span: Range<usize>, budget: &mut Budget<'_>) -> Found {
        loop {
            budget.spend()?;
            if unplaced.is_empty() {
                return Ok(true);
            }
            if !self.bound(&unplaced, span.clone()) {
                return Ok(false);
            }
            let Some(slot) = self.slot_to_ask(&unplaced, span.clone()) else { return Ok(false) };
            let floor = self.floor[slot];
            let is_candidate =
                |&block: &u32| self.lies_at(block as usize, floor) && self.cover[block as usize].contains(&slot);
            let mut candidates: Vec<u32> = unplaced.iter().copied().filter(is_candidate).collect();
            let may_stay_empty = floor + self.rest[slot] < self.height;
            // The last answer needs no way back, so it continues this loop.
            let last = if may_stay_empty { None } else { candidates.pop() };
            for &block in &candidates {
                if self.depth == MAX_DEPTH {
                    return Err(OutOfBudget);
                }
                let mark = self.trail.len();
                self.place(block);
                self.depth += 1;
                let found = self.split(unplaced.iter().copied().filter(|&other| other != block).collect(), budget)?;
                self.depth -= 1;
                if found {
                    return Ok(true);
                }
                self.undo(mark);
            }
            let Some(block) = last else {
                candidates.into_iter().for_each(|block| self.rule_out(block, floor));
                continue;
            };
            self.place(block);
            unplaced.retain(|&other| other != block);
            if self.spans(&unplaced).len() > 1 {
                return self.split(unplaced, budget);
            }
        }
    }

    /// Works out `lowest` and `floor`; false where the height cannot be met.
    fn bound(&mut self, unplaced: &[u32], span: Range<usize>) -> bool {
        let (instance, height) = (self.instance, self.height);
        let mut lifted = Vec::new();
        for &block in unplaced {
            let index = block as usize;
            let resting = self.resting[index];
            if self.is_lifted(index) {
                lifted.push(index);
                self.lowest[index] = self.ruled_out[index] + 1;
            } else {
                self.lowest[index] = resting;
            }
        }
        // A lifted block rests on a conflicting block that is not placed yet.
        let mut settled = lifted.is_empty();
        while !settled {
            settled = true;
            for &block in &lifted {
                let below = instance.conflicts[block].iter().map(|&other| other as usize);
                let tops = below.filter(|&other| self.offset[other] == NONE);
                let Some(top) = tops.map(|other| self.lowest[other] + instance.sizes[other]).min() else {
                    return false;
                };
                if top > self.lowest[block] {
                    if top + instance.sizes[block] > height {
                        return false;
                    }
                    self.lowest[block] = top;
                    settled = false;
                }
            }
        }
        self.floor[span.clone()].fill(NONE);
        for &block in unplaced {
            let lowest = self.lowest[block as usize];
            if lowest + instance.sizes[block as usize] > height {
                return false;
            }
            for floor in &mut self.floor[self.cover[block as usize].clone()] {
                *floor = (*floor).min(lowest);
            }
        }
        for slot in span {
            if self.rest[slot] > 0 && self.floor[slot] + self.rest[slot] > height {
                self.weights[slot] += 1;
                return false;
            }
        }
        true
    }

    /// The slot with the fewest answers for its weight among those that may be asked; forced ones first.
    fn slot_to_ask(&mut self, unplaced: &[u32], span: Range<usize>) -> Option<usize> {
        self.answers[span.clone()].fill(0);
        for &block in unplaced {
            let index = block as usize;
            let (lowest, cover) = (self.lowest[index], self.cover[index].clone());
            if self.is_lifted(index) || self.floor[cover.clone()].iter().all(|&floor| floor != lowest) {
                continue;
            }
            let fits_below = |&other: &u32| {
                let other = other as usize;
                self.offset[other] == NONE && self.lowest[other] + self.instance.sizes[other] <= lowest
            };
            let answer = if self.instance.conflicts[index].iter().any(fits_below) { NOT_YET } else { 1 };
            for slot in cover {
                if self.floor[slot] == lowest {
                    self.answers[slot] = self.answers[slot].saturating_add(answer);
                }
            }
        }
        let mut best: Option<(usize, u64, u64, u64)> = None;
        for slot in span {
            let candidates = self.answers[slot];
            if self.rest[slot] == 0 || candidates == 0 || candidates >= NOT_YET {
                continue;
            }
            let slack = self.height - self.floor[slot] - self.rest[slot];
            let answers = candidates + u64::from(slack > 0);
            // Answers over weight, compared crosswise; a single answer counts as none.
            let (answers, weight) = (if answers == 1 { 0 } else { answers }, self.weights[slot]);
            let better = best.is_none_or(|(_, best_answers, best_weight, best_slack)| {
                let (mine, its) = (answers.saturating_mul(best_weight), best_answers.saturating_mul(weight));
                mine < its || mine == its && slack < best_slack
            });
            if better {
                best = Some((slot, answers, weight, slack));
            }
        }
        best.map(|(slot, ..)| slot)
    }

    fn is_lifted(&self, block: usize) -> bool {
        self.ruled_out[block] != NONE && self.resting[block] <= self.ruled_out[block]
    }

    fn lies_at(&self, block: usize, floor: u64) -> bool {
        self.lowest[block] == floor && !self.is_lifted(block)
    }

    fn place(&mut self, block: u32) {
        let index = block as usize;
        let (offset, size) = (self.resting[index], self.instance.sizes[index]);
        self.offset[index] = offset;
        self.rest[self.cover[index].clone()].iter_mut().for_each(|rest| *rest -= size);
        self.trail.push(Change::Placed { block });
        for &other in &self.instance.conflicts[index] {
            let above = other as usize;
            if self.offset[above] == NONE && self.resting[above] < offset + size {
                self.trail.push(Change::Resting { block: other, before: self.resting[above] });
                self.resting[above] = offset + size;
            }
        }
    }

    fn rule_out(&mut self, block: u32, height: u64) {
        self.trail.push(Change::RuledOut { block, before: self.ruled_out[block as usize] });
        self.ruled_out[block as usize] = height;
    }

    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Change::Placed { block }) => {
                    let index = block as usize;
                    let size = self.instance.sizes[index];
                    self.offset[index] = NONE;
                    self.rest[self.cover[index].clone()].iter_mut().for_each(|rest| *rest += size);
                }
                Some(Change::Resting { block, before }) => self.resting[block as usize] = before,
                Some(Change::RuledOut { block, before }) => self.ruled_out[block as usize] = before,
                None => {}
            }
        }
    }
}
